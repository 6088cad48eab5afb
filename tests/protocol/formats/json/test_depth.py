from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.formats.json.depth import check_json_depth


def test_ordinary_documents_pass_however_long_they_are() -> None:
    check_json_depth(json.dumps([{"a": [1, {"b": ["[[[{{{", '\\"[[']}]}] * 10_000).encode())
    check_json_depth(b"[" * 200 + b"]" * 200)


@pytest.mark.parametrize("document", [b"[" * 201, b'{"a":' * 201 + b"1" + b"}" * 201, b"[{},[]," * 100_000])
def test_what_is_nested_deeper_is_refused(document: bytes) -> None:
    with pytest.raises(SyntaxError, match="deeper than 200"):
        check_json_depth(document)


def test_the_place_is_that_of_the_bracket_too_many() -> None:
    with pytest.raises(SyntaxError) as caught:
        check_json_depth(b'{"[": [\n' + b"[" * 300)
    assert (caught.value.lineno, caught.value.offset) == (2, 199)


def test_a_string_that_is_never_closed_is_looked_at_in_linear_time() -> None:
    with pytest.raises(SyntaxError, match="deeper than 200"):
        check_json_depth(b'"' + b'\\"' * 200_000 + b"[" * 300)


@given(st.text(max_size=30), st.integers(190, 210))
def test_brackets_in_strings_do_not_count(text: str, depth: int) -> None:
    document = ("[" * depth + json.dumps([text + "[{" * 150], ensure_ascii=False) + "]" * depth).encode()
    if depth < 200:
        check_json_depth(document)
    else:
        with pytest.raises(SyntaxError):
            check_json_depth(document)
