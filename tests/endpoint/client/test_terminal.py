from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from endpoint.client.terminal import XSD, cell, evaluation_title, number, solution_lines, solutions_table


def printed(document: dict[str, Any], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(solutions_table(document))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (None, ""),
        ({"type": "uri", "value": "http://a/b"}, "<http://a/b>"),
        ({"type": "bnode", "value": "b0"}, "_:b0"),
        ({"type": "literal", "value": "[bold]x"}, "[bold]x"),
        ({"type": "literal", "value": "größe", "xml:lang": "de"}, "größe@de"),
        ({"type": "literal", "value": "2.500000000000000000", "datatype": XSD + "decimal"}, "2.5"),
        ({"type": "literal", "value": "x", "datatype": "http://a/t"}, "x^^<http://a/t>"),
        ({"type": "literal", "value": "2026-01-01T00:00:00Z", "datatype": XSD + "dateTime"}, "2026-01-01T00:00:00Z"),
        (
            {
                "type": "triple",
                "value": {part: {"type": "uri", "value": "a:b"} for part in ("subject", "predicate", "object")},
            },
            "<<( <a:b> <a:b> <a:b> )>>",
        ),
    ],
)
def test_a_term_is_shown_short_and_clear(term: dict[str, Any] | None, expected: str) -> None:
    assert cell(term) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "1"), ("100", "100"), ("0", "0"), ("-0.50", "-0.5"), ("33.33333333333333", "33.333333"), ("1.5E1", "15"),
        ("1e300", "1e300"), ("INF", "INF"), ("NaN", "NaN"), ("1E-20", "1E-20"), ("not a number", "not a number"),
        ("12345678901234567890123456789", "12345678901234567890123456789"),
    ],
)  # fmt: skip
def test_a_number_is_shown_as_people_write_it(text: str, expected: str) -> None:
    assert number(text) == expected


def test_a_table_has_every_variable_and_markup_in_literals_is_text() -> None:
    binding = {"a": {"type": "literal", "value": "[red]no[/red]"}}
    text = printed({"head": {"vars": ["a", "b"]}, "results": {"bindings": [binding]}})
    assert "[red]no[/red]" in text
    assert "b" in text.splitlines()[1]


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    bindings = [{"a": {"type": "literal", "value": value}} for value in ("\x1b[2J\x1b[31mred", "\x9b2J", "a\tb\nc")]
    text = printed({"head": {"vars": ["a"]}, "results": {"bindings": bindings}})
    assert r"\u001B[2J\u001B[31mred" in text
    assert r"\u009B2J" in text
    assert not {"\x1b", "\x9b"} & set(text)


def test_answers_without_solutions_and_yes_or_no_are_lines() -> None:
    assert printed({"head": {"vars": ["a"]}, "results": {"bindings": []}}) == "no solutions\n"
    assert printed({"head": {}, "boolean": True}) == "yes\n"


def test_json_lines_keep_the_terms() -> None:
    binding = {"a": {"type": "literal", "value": "é\n"}}
    assert solution_lines({"head": {"vars": ["a"]}, "results": {"bindings": [binding, {}]}}) == [
        '{"a":{"type":"literal","value":"é\\n"}}',
        "{}",
    ]
    assert solution_lines({"head": {}, "boolean": False}) == ['{"boolean":false}']


def test_the_title_of_an_evaluation_names_its_instant_operator_and_windows() -> None:
    evaluation = {"time": "T", "operator": "ISTREAM", "windows": {"http://w": ["A", "B"]}}
    assert evaluation_title({"evaluation": evaluation}) == "T ISTREAM (A, B]"
    assert evaluation_title({}) == ""


def test_where_the_columns_are_too_many_for_the_terminal_each_row_is_a_table_and_nothing_vanishes() -> None:
    variables = [f"v{number}" for number in range(30)]
    binding = {variable: {"type": "literal", "value": f"value of {variable}"} for variable in variables}
    document = {"head": {"vars": variables}, "results": {"bindings": [binding, binding]}}
    for width in (30, 80):
        seen = printed(document, width)
        assert all(seen.count(f"value of {variable} ") == 2 for variable in variables)
        assert all(len(line) <= width for line in seen.splitlines())
    assert "v29" in printed(document, 300).splitlines()[1]


def test_columns_that_have_little_in_them_stay_beside_each_other() -> None:
    variables = [f"v{number}" for number in range(10, 22)]
    binding = {variable: {"type": "literal", "value": "x"} for variable in variables}
    document = {"head": {"vars": variables}, "results": {"bindings": [binding]}}
    assert all(variable in printed(document, 80).splitlines()[1] for variable in variables)
