"""A plan's statement for some of the queries of its shape: placeholders replaced by tables, columns and constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from protocol.terms import facets
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.relation import quote
from spark_backend.compiler.sql.values import number_sql

ParameterTerms = tuple[str, ...]
"""The terms of one query's parameters."""


def statement(
    plan: Plan,
    members: Sequence[ParameterTerms],
    *,
    instants: str,
    windows: Sequence[str],
    members_table: Callable[[str], str],
    new: Sequence[str] = (),
    static_joins: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    order: Callable[[Sequence[int]], Sequence[int]] | None = None,
    alone: bool = False,
    intervals: Sequence[str] | None = None,
) -> str:
    """The SQL for these queries, over tables of the instants and of the windows' contents; ``new``: of what is new in
    those of occurrences.

    ``members_table`` makes (or knows) a table of a SELECT. What is the same for all of the queries is written as
    the constant it is, so that DuckDB plans with it; the rest are columns of the members' table. ``static_joins`` are
    tables of what the plan's ``static_joins`` give; without, they are sub-selects. ``sources`` are tables of what there
    is to look at of the plan's; without, it is all there is. ``alone``: there is one query and
    one instant. ``intervals``: of the solutions of what the plan's ``intervals`` match; without, windows are read.
    """
    differing = _differing(members)
    table = "(SELECT 0 AS member)" if len(members) == 1 else members_table(members_select(members))
    varying = {f"c{number}" for number in differing} | {f"c{number}_n" for number in differing}

    def filled(found: re.Match[str]) -> str:
        alias, column, name = found["alias"], found["column"], found["table"]
        if name == "instants":
            return instants
        if name == "members":
            return table
        if name is not None and name.startswith("joined_"):
            number = int(name.removeprefix("joined_"))
            return f"({plan.static_joins[number]})" if static_joins is None else static_joins[number]
        if name is not None and name.startswith("source_"):
            number = int(name.removeprefix("source_"))
            return sources[number] if sources is not None else re.sub(places, filled, plan.sources[number].table)
        if name is not None and name.startswith("new_"):
            return new[int(name.removeprefix("new_"))]
        if name is not None and name.startswith("intervals_"):
            return (intervals or ())[int(name.removeprefix("intervals_"))]
        if name is not None:
            return windows[int(name.removeprefix("window_"))]
        if column in varying:
            return f"{alias}.{column}"
        term = members[0][int(column[1:].removesuffix("_n"))]
        return number_sql(facets(term)[1]) if column.endswith("_n") else quote(term)

    # In one pass: what is filled in is not searched again, but for the tables of a source.
    tables = r"instants|members|window_\d+|new_\d+|joined_\d+|source_\d+|intervals_\d+"
    places = rf"\b(?:(?P<alias>\w+)\.(?P<column>c\d+(?:_n)?)|(?P<table>{tables}))_{plan.mark}\b"
    sql = plan.sql if intervals is None or plan.intervals is None else plan.intervals.sql
    text = _for_some(sql, plan.mark, alone=alone)
    return re.sub(places, filled, text if order is None else _in_order(text, plan.mark, order))


@lru_cache(maxsize=512)
def joins_sources_alone(sql: str, mark: str) -> bool:
    """Whether each FROM of a plan's SQL is one table, or sources, which ``statement`` writes in a given order."""
    rest = re.sub(rf"{_lists_of_sources(mark)}(?:, (?:members|instants)_{mark} \w+)*", "", sql)
    return f"_{mark}" in sql and re.search(rf"source_\d+_{mark}|\) \w+, |\w+_{mark} \w+, ", rest) is None


def _in_order(sql: str, mark: str, order: Callable[[Sequence[int]], Sequence[int]]) -> str:
    """The SQL, the sources of each FROM in their order."""

    def ordered(found: re.Match[str]) -> str:
        tables = found[0].removeprefix("FROM ").split(", ")
        numbers = [int(table.split("_")[1]) for table in tables]
        places = {number: place for place, number in enumerate(order(list(dict.fromkeys(numbers))))}
        return "FROM " + ", ".join(
            table for _, table in sorted(zip(map(places.__getitem__, numbers), tables, strict=True))
        )

    return re.sub(_lists_of_sources(mark), ordered, sql)


def _lists_of_sources(mark: str) -> str:
    source = rf"source_\d+_{mark} \w+"
    return rf"FROM {source}(?:, {source})*(?=(?:, (?:members|instants)_{mark} \w+)*(?![,\w]))"


def reads_instants(plan: Plan) -> bool:
    """Whether the statement over ``intervals`` reads the table of the instants."""
    return plan.intervals is not None and f"instants_{plan.mark}" in plan.intervals.sql


def _for_some(sql: str, mark: str, *, alone: bool) -> str:
    """The plan's SQL with the clauses that hold for one query at one instant, or without them."""
    return re.sub(rf"/\*alone_{mark}(.*?)alone_{mark}\*/", r"\1" if alone else "", sql, flags=re.DOTALL)


def _differing(members: Sequence[ParameterTerms]) -> list[int]:
    """The parameters that are not the same for all of the queries."""
    return [number for number, terms in enumerate(zip(*members, strict=True)) if len(set(terms)) > 1]


def members_select(members: Sequence[ParameterTerms]) -> str:
    """The SELECT of the members' table."""
    differing = _differing(members)
    names = ["member", *(name for number in differing for name in (f"c{number}", f"c{number}_n"))]
    rows = []
    for member, terms in enumerate(members):
        cells = [f"{member}::INTEGER"]
        for number in differing:
            cells += [quote(terms[number]), number_sql(facets(terms[number])[1])]
        rows.append(f"({', '.join(cells)})")
    return f"SELECT * FROM (VALUES {', '.join(rows)}) v({', '.join(names)})"
