from __future__ import annotations

from typing import Any

import pytest

from protocol.formats.json.context import context_problem, inlined, refers

DOCUMENTS: dict[str, Any] = {
    "http://ex/a": {"@base": "http://elsewhere/", "a": "http://ex/a#"},
    "http://ex/list": [{"b": "http://ex/b#"}, "a"],
    "http://ex/deep": {"c": {"@id": "http://ex/c#", "@context": "a"}},
}


def fetch(iri: str, base: str | None) -> tuple[str, Any]:
    address = iri if base is None else f"http://ex/{iri}"
    return address, DOCUMENTS[address]


@pytest.mark.parametrize(
    ("context", "found"),
    [
        ("http://ex/a", True),
        ({"a": "http://ex/a"}, False),
        ([{}, "http://ex/a"], True),
        ({"@import": "http://ex/a"}, True),
        ({"a": {"@id": "x:a", "@context": "http://ex/a"}}, True),
        ({"a": {"@id": "x:a", "@context": {"b": {"@id": "x:b", "@context": ["http://ex/a"]}}}}, True),
        ({"a": {"@id": "x:a", "@context": None}}, False),
        ([], False),
    ],
)
def test_it_refers_to_what_it_names_as_a_context(context: object, found: bool) -> None:
    assert refers(context) is found


@pytest.mark.parametrize(
    ("context", "found"),
    [
        ("http://ex/a", {"a": "http://ex/a#"}),
        (["http://ex/list", {"@base": "http://b/"}], [{"b": "http://ex/b#"}, {"a": "http://ex/a#"}, {"@base": "http://b/"}]),
        ("http://ex/deep", {"c": {"@id": "http://ex/c#", "@context": {"a": "http://ex/a#"}}}),
        ({"@import": "http://ex/a", "a": "x:own", "b": "x:b"}, {"a": "x:own", "b": "x:b"}),
        ({"@base": "http://b/", "a": None}, {"@base": "http://b/", "a": None}),
    ],
)  # fmt: skip
def test_what_it_refers_to_is_put_in_its_place(context: object, found: object) -> None:
    assert inlined(context, fetch) == found
    assert not refers(found)


def test_what_cannot_be_imported_is_not_passed_over() -> None:
    assert refers(inlined({"@import": "http://ex/list", "a": "x:a"}, fetch))
    assert refers(inlined({"@import": 5, "a": "x:a"}, fetch))


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ('{"a": 5}', "Term definition value"),
        ('{"a": {"@id": "x:a", "@context": {"b": 5}}}', "Invalid scoped context"),
        ("[5]", "@context value must be"),
        ("[" * 300 + "]" * 300, "nested deeper"),
        ("{", "Object keys must be strings"),
    ],
)
def test_what_is_no_context_is_told(context: str, said: str) -> None:
    assert said in (context_problem(context) or "")


def test_a_context_has_no_problem() -> None:
    assert (
        context_problem('[null, {"@vocab": "http://ex/", "n": "@nest", "j": {"@id": "x:j", "@type": "@json"}}]') is None
    )
