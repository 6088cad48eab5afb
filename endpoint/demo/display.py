"""Answers of the demonstration's queries as they come: tables for a person, a line each otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from endpoint.client.terminal import cell, is_number
from endpoint.demo.queries import DemoQuery
from endpoint.demo.vocabulary import MACHINE


class Display:
    """Prints to ``console``; whether that is a terminal decides how."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, query: DemoQuery, document: Mapping[str, Any]) -> None:
        """Print one evaluation (a SPARQL JSON document with ``evaluation``)."""
        bindings: list[dict[str, Any]] = document["results"]["bindings"]
        if not bindings and not query.show_empty:
            return
        time = document["evaluation"]["time"]
        if self._console.is_terminal:
            self._console.print(self._table(query, time, document["head"]["vars"], bindings))
        else:
            self._console.print(Text(line(query, time, bindings)), soft_wrap=True)

    def say(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def _table(
        self, query: DemoQuery, time: str, variables: list[str], bindings: list[dict[str, Any]]
    ) -> RenderableType:
        title = f"{query.title}  ({time})"
        if not bindings:
            return Text(f"{title}: none", style="italic")
        table = Table()
        for variable in variables:
            numeric = any(is_number(binding.get(variable)) for binding in bindings)
            table.add_column(variable, justify="right" if numeric else "left")
        for binding in bindings:
            table.add_row(*(Text(label(query, variable, binding.get(variable))) for variable in variables))
        # Not the table's own title, which is folded to the table's width.
        return Group(Text(title, style="bold red" if query.alert else "italic"), table)


def line(query: DemoQuery, time: str, bindings: list[dict[str, Any]]) -> str:
    """One evaluation as one line of text."""
    solutions = "; ".join(
        ", ".join(f"{variable} {label(query, variable, term)}" for variable, term in binding.items())
        for binding in bindings
    )
    return f"{time}  {query.title}: {solutions or 'none'}"


def label(query: DemoQuery, variable: str, term: Mapping[str, Any] | None) -> str:
    """A term for people: bytes in MB, other numbers with one decimal, parts of the machine by their local names."""
    if term is None:
        return ""
    if is_number(term):
        value = float(term["value"])
        return f"{value / 1e6:.1f} MB" if variable in query.bytes_columns else f"{value:.1f}"
    if term["type"] == "uri" and term["value"].startswith(MACHINE):
        return str(term["value"]).removeprefix(MACHINE)
    return cell(term)
