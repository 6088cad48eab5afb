"""JSON that is no JSON-LD becomes elements by the context of its stream (docs/how-to/send-json.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import InvalidMessage
from protocol.streams import JsonContext, StreamSettings, TimeKind
from spark_backend.ingest.columns import read_elements

EX, XSD = "http://ex/", "http://www.w3.org/2001/XMLSchema#"
CONTEXT = json.dumps({"@vocab": EX, "time": {"@id": "http://www.w3.org/ns/sosa/resultTime"}, "skipped": None})
SETTINGS = StreamSettings("http://ex/s", TimeKind.EVENT, context=JsonContext(CONTEXT, CONTEXT))
JSON, NDJSON = "application/json", "application/x-ndjson"


def read(body: str, content_type: str = JSON) -> list[tuple[int, set[tuple[str, str]]]]:
    """(time, properties and values) of each element."""
    found: dict[int, tuple[int, set[tuple[str, str]]]] = {}
    rows: list[dict[str, Any]] = read_elements(
        body.encode(), content_type, settings=SETTINGS, at=None
    ).to_pylist()  # fmt: skip
    for row in rows:
        _, values = found.setdefault(row["element"], (row["time"], set()))
        if row["p"].startswith(f"<{EX}"):
            values.add((row["p"][1 + len(EX) : -1], row["o"].replace(XSD, "xsd:")))
    return list(found.values())


def refused(body: str, content_type: str = JSON) -> InvalidMessage:
    with pytest.raises(InvalidMessage) as raised:
        read(body, content_type)
    return raised.value


def test_a_document_is_an_element_in_the_words_of_the_context() -> None:
    assert read('{"time": 1700000000000, "on": true, "name": "é", "n": 21.50, "skipped": 1}') == [
        (1_700_000_000_000, {("on", '"true"^^<xsd:boolean>'), ("name", '"é"'), ("n", '"2.15E1"^^<xsd:double>')})
    ]


def test_an_array_is_one_element_and_lines_are_one_each() -> None:
    one, other = '{"time": 1, "a": 1}', '{"time": 2, "a": 2}'
    values = [{("a", '"1"^^<xsd:integer>')}, {("a", '"2"^^<xsd:integer>')}]
    assert read(f"[{one},\n{other}]") == [(1, values[0] | values[1])]
    assert read(f"{one}\n{other}", NDJSON) == [(1, values[0]), (2, values[1])]


def test_a_context_of_its_own_comes_after_that_of_the_stream() -> None:
    assert read('{"@context": {"a": "http://ex/other"}, "time": 1, "a": 1, "b": 2}') == [
        (1, {("other", '"1"^^<xsd:integer>'), ("b", '"2"^^<xsd:integer>')})
    ]


def test_a_line_that_sets_a_context_takes_the_place_of_the_streams() -> None:
    set_by_line = '{"@context": {"time": "http://www.w3.org/ns/sosa/resultTime", "a": "http://ex/other"}}'
    assert read(f'{{"time": 1, "a": 1, "b": 2}}\n{set_by_line}\n{{"time": 2, "a": 1, "b": 2}}', NDJSON) == [
        (1, {("a", '"1"^^<xsd:integer>'), ("b", '"2"^^<xsd:integer>')}),
        (2, {("other", '"1"^^<xsd:integer>')}),
    ]


@pytest.mark.parametrize("content_type", ["application/ld+json", "application/x-ld+ndjson"])
def test_json_ld_speaks_for_itself(content_type: str) -> None:
    assert "no timestamp" in refused('{"time": 1, "a": 1}', content_type).detail


@pytest.mark.parametrize(
    ("body", "place", "said"),
    [
        ('{"time": 1, "a": 2 1.5}', (1, 20), "the body is not JSON: Expecting ',' delimiter"),
        ('{"time": 1},\n"@id": "http://ex/b"', (1, 12), "the body is not JSON: Extra data"),
        ('{"time": 1, "a": NaN}', (1, 18), "Unexpected char: 'N'"),
        ('{"time":\n1, "a": NaN}', (2, 9), "Unexpected char: 'N'"),
        ('{"time": 1, "@id": 5}', (None, None), "@id value must be a string"),
        ("21.5", (1, 1), "the body is a bare value"),
        ("", (1, 1), "the body is not JSON"),
        ("[" * 300, (1, 201), "nested deeper"),
        ("1" * 5000, (1, 1), "the body is JSON that is not read here"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(body: str, place: tuple[int | None, int | None], said: str) -> None:
    error = refused(body)
    assert said in error.detail
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    ("line", "column", "said"),
    [
        ("21.5", 2, "the line is a bare value"),
        ('"on"', 2, "the line is a bare value"),
        ('{"time": 1}, "@id": {"a": 1}', 13, "the line is not JSON: Extra data"),
    ],
)
@pytest.mark.parametrize("content_type", [NDJSON, "application/x-ld+ndjson"])
def test_a_line_is_one_object(line: str, column: int, said: str, content_type: str) -> None:
    timed = '{"http://www.w3.org/ns/sosa/resultTime": 1}'
    error = refused(f"{timed}\n {line}\n{timed}", content_type)
    assert (error.extra["message"], error.line) == (2, 2)
    if content_type == NDJSON or "bare" in said:
        assert said in error.detail
        assert error.column == column
    # What comes before it is told first.
    assert refused(f'{{"@id": 5}}\n {line}', content_type).line == 1


def test_a_line_that_is_wrong_is_told_at_its_place() -> None:
    error = refused('{"time": 1}\n {"time": 2, "a": NaN}', NDJSON)
    assert (error.extra["message"], error.line, error.column) == (2, 2, 19)
