from __future__ import annotations

import pytest

from protocol.errors import UnsupportedFeature
from protocol.preconditions import Precondition, PreconditionFailed


@pytest.mark.parametrize(
    ("headers", "there"),
    [
        ({}, None),
        ({"if-match": "*"}, True),
        ({"if-match": " * ", "if-unmodified-since": "Sat, 29 Oct 1994 19:43:31 GMT"}, True),
        ({"if-none-match": "*"}, False),
        ({"if-none-match": '"a", W/"b"'}, None),
        ({"if-match": "*", "if-none-match": '"a"'}, True),
        ({"if-modified-since": "Sat, 29 Oct 1994 19:43:31 GMT"}, None),
    ],
)
def test_a_star_asks_whether_it_is_there_and_what_has_no_tag_has_none_of_these(
    headers: dict[str, str], there: bool | None
) -> None:
    assert Precondition.of(headers) == Precondition(there)


@pytest.mark.parametrize(
    "headers", [{"if-match": '"a"'}, {"if-match": '"a", "b"'}, {"if-match": "*", "if-none-match": "*"}]
)
def test_what_no_resource_can_be_is_not_met(headers: dict[str, str]) -> None:
    with pytest.raises(PreconditionFailed, match="no entity tags"):
        Precondition.of(headers)


def test_a_time_cannot_be_decided() -> None:
    with pytest.raises(UnsupportedFeature, match=r"If-Match: \*"):
        Precondition.of({"if-unmodified-since": "Sat, 29 Oct 1994 19:43:31 GMT"})


@pytest.mark.parametrize(("wanted", "there"), [(True, False), (False, True)])
def test_what_is_not_so_is_said(wanted: bool, there: bool) -> None:
    with pytest.raises(PreconditionFailed, match=r"the graph <a:b> is .*nothing was changed"):
        Precondition(wanted).require(there, "the graph <a:b>")
    Precondition(wanted).require(not there, "")
    Precondition().require(there, "")
