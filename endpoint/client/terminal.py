"""Answers on the terminal: a table for a person, JSON lines for a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from protocol.formats.terminal_text import visible

XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(
    XSD + name
    for name in (
        "integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger",
        "positiveInteger", "nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong",
        "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_NARROWEST = 4
"""So many characters of a line a column of a table has at least, if there are as many in it."""
_FRAME = 3
"""What a column takes besides: a space on both sides, and the line between columns."""
_PLAIN = _NUMBERS | {XSD + "string", XSD + "boolean", XSD + "dateTime", XSD + "date", XSD + "time"}


def for_a_person() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def console() -> Console:
    """Standard output, as it is now."""
    return Console(file=sys.stdout, highlight=False)


def plain(text: str, style: str = "") -> Text:
    """What others wrote, as it is: no markup, and nothing that a terminal would do instead of showing it."""
    return Text(visible(text), style)


def json_line(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def triple_lines(document: str) -> list[str]:
    """The triples of a document of N-Triples, a line each: literals may have other ends of lines in them (U+2028)."""
    return [line for line in document.split("\n") if line]


def cell(term: Mapping[str, Any] | None) -> str:
    """An RDF term of SPARQL JSON, as short as it stays clear; the empty string for unbound."""
    if term is None:
        return ""
    value = term.get("value", "")
    match term.get("type"):
        case "uri":
            return f"<{value}>"
        case "bnode":
            return f"_:{value}"
        case "triple":
            parts = (cell(value.get(part)) for part in ("subject", "predicate", "object"))
            return f"<<( {' '.join(parts)} )>>"
    if language := term.get("xml:lang"):
        direction = f"--{term['its:dir']}" if "its:dir" in term else ""
        return f"{value}@{language}{direction}"
    datatype = term.get("datatype", XSD + "string")
    if datatype in _NUMBERS:
        return number(str(value))
    return str(value) if datatype in _PLAIN else f"{value}^^<{datatype}>"


def number(text: str) -> str:
    """A number as people write it: at most six decimals of a long fraction, no trailing zeros; else as it is."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or not -10 <= value.adjusted() <= 20:
        return text
    if exponent < -6:
        value = round(value, 6)
    shown = f"{value:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def is_number(term: Mapping[str, Any] | None) -> bool:
    return term is not None and term.get("datatype") in _NUMBERS


def solutions_table(document: Mapping[str, Any], title: str | None = None) -> RenderableType:
    """The table of a SPARQL JSON document; an ASK's answer, and an empty one, as a line."""
    if "boolean" in document:
        answer = "yes" if document["boolean"] else "no"
        return plain(f"{title}: {answer}" if title else answer)
    variables: list[str] = document["head"].get("vars", [])
    bindings: list[dict[str, Any]] = document["results"]["bindings"]
    if not bindings:
        return plain(f"{title}: no solutions" if title else "no solutions")
    numeric = [any(is_number(binding.get(variable)) for binding in bindings) for variable in variables]
    rows = [[plain(cell(binding.get(variable))) for variable in variables] for binding in bindings]
    table = _Rows(variables, ["right" if one else "left" for one in numeric], rows)
    # Not the table's own title, which is folded to the table's width.
    return Group(plain(title, style="italic"), table) if title else table


def solution_lines(document: Mapping[str, Any]) -> list[str]:
    """JSON lines of an answer: a solution a line, as in ``results.bindings``; an ASK's is one boolean."""
    if "boolean" in document:
        return [json_line({"boolean": document["boolean"]})]
    return [json_line(binding) for binding in document["results"]["bindings"]]


def evaluation_title(document: Mapping[str, Any]) -> str:
    """The instant, operator and windows of an evaluation, for the head of its table."""
    evaluation = document.get("evaluation", {})
    windows = ", ".join(f"({opens}, {closes}]" for opens, closes in evaluation.get("windows", {}).values())
    return " ".join(part for part in (evaluation.get("time", ""), evaluation.get("operator", ""), windows) if part)


def records_table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> RenderableType:
    """A table of JSON objects; a value that is no text or number is shown as JSON."""
    rows = [[plain(_shown(record.get(column))) for column in columns] for record in records]
    return _Rows(columns, ["left"] * len(columns), rows)


class _Rows:
    """A table of rows; where the terminal is too narrow for the columns, each row is a table, with a column a line.

    Squeezed into it, columns would be so narrow that nothing is seen of them.
    """

    def __init__(
        self, columns: Sequence[str], justify: Sequence[JustifyMethod], rows: Sequence[Sequence[Text]]
    ) -> None:
        self._columns = columns
        self._justify = justify
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol: what is printed at this width."""
        if self._least() <= options.max_width:
            table = Table()
            for column, justify in zip(self._columns, self._justify, strict=True):
                table.add_column(column, justify=justify, overflow="fold")
            for row in self._rows:
                table.add_row(*row)
            yield table
            return
        for row in self._rows:
            table = Table(show_header=False)
            table.add_column(style="bold", overflow="fold")
            table.add_column(overflow="fold")
            for column, value in zip(self._columns, row, strict=True):
                table.add_row(column, value)
            yield table

    def _least(self) -> int:
        """The width at which no column is narrower than what is in it, or than ``_NARROWEST``; with the frame."""
        widths = [
            max([cell_len(column), *(row[number].cell_len for row in self._rows)])
            for number, column in enumerate(self._columns)
        ]
        return sum(min(width, _NARROWEST) + _FRAME for width in widths) + 1


def record_table(record: Mapping[str, Any]) -> Table:
    """One JSON object, a member a row."""
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in record.items():
        table.add_row(name, plain(_shown(value)))
    return table


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else json_line(value)
