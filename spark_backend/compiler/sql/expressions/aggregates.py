"""Aggregates (SPARQL 1.1 Query section 18.5.1) in SQL.

An aggregate is compiled in two layers: sums, counts and lists of the group in the GROUP BY (*raw*
columns), and over them the aggregate's term and facets. An error in any argument is an error of the
aggregate, except for SAMPLE (11.2). COUNT leaves out what is unbound, but fails where a term cannot
be computed, as the one-shot engine has it and 18.5.1.2 has not. Answers do not depend on the order of
arrival: sums of doubles are taken in ascending order, strings concatenated in the order of their terms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from protocol.language import algebra as a
from protocol.terms import XSD, TermKind
from spark_backend.compiler.sql.expressions.order import sort_keys
from spark_backend.compiler.sql.relation import quote
from spark_backend.compiler.sql.values import Value, integer_term

_DOUBLE, _DECIMAL, _INTEGER, _LANGUAGE = (
    f"{kind:d}" for kind in (TermKind.DOUBLE, TermKind.DECIMAL, TermKind.INTEGER, TermKind.LANGUAGE_STRING)
)

_LITERAL = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True)
class Argument:
    """An aggregate's argument.

    ``failure`` is the condition under which it is an error of the aggregate, "FALSE" where it never is;
    ``once`` a column that is true for one of each set of equal ones (DISTINCT).
    """

    value: Value
    failure: str
    once: str | None


@dataclass(frozen=True)
class CompiledAggregate:
    """``raw``: aggregates for the GROUP BY, by the names they are read as in the rest.

    ``term``, ``kind`` and ``number`` are the result's columns, ``sum_parts`` what SUM and AVG can be
    finished from outside of SQL (``spark_backend.answers.sums``).
    """

    raw: Mapping[str, str]
    term: str
    kind: str
    number: str
    sum_parts: str | None = None


def count_solutions(name: str, distinct: str | None) -> CompiledAggregate:
    """COUNT(*), given what tells solutions apart where it is COUNT(DISTINCT *)."""
    return _count({f"{name}_c": f"count(DISTINCT {distinct})" if distinct else "count(*)"}, name, [])


def compile_aggregate(aggregate: a.Aggregate, argument: Argument, name: str) -> CompiledAggregate:
    """One aggregate of a group; ``name`` is the prefix of its raw columns."""
    value = argument.value
    errors = {} if argument.failure == "FALSE" else {f"{name}_e": f"count(*) FILTER (WHERE {argument.failure})"}
    match aggregate.function:
        case "COUNT":
            counted = f"count({'DISTINCT ' if aggregate.distinct else ''}{value.term})"
            return _count({f"{name}_c": counted, **errors}, name, list(errors))
        case "SUM" | "AVG":
            return _sum(aggregate, argument, name, errors)
        case "MIN" | "MAX":
            return _extreme(aggregate, value, name, errors)
        case "LATEST":  # of timestamps: those that are unbound are left out
            latest, kind = f"{name}_t", f"(CASE WHEN {name}_t IS NOT NULL THEN {_INTEGER} END)"
            term = integer_term(f"{latest}::BIGINT")
            return CompiledAggregate({latest: f"max({value.number})"}, term, kind, latest)
        case "SAMPLE":
            raw = {f"{name}_s": f"min({value.term})"}
            return CompiledAggregate(raw, f"{name}_s", f"facet_k({name}_s)", f"facet_n({name}_s)")
        case _:  # GROUP_CONCAT
            return _concatenation(aggregate, argument, name, errors)


def _fine(raw: Mapping[str, str], *names: str) -> str:
    """That there were no errors (no row at all is no error)."""
    return " AND ".join(f"COALESCE({name}, 0) = 0" for name in names if name in raw) or "TRUE"


def _count(raw: dict[str, str], name: str, errors: list[str]) -> CompiledAggregate:
    count, fine = f"COALESCE({name}_c, 0)", _fine(raw, *errors)
    term, kind, number = f"('\"' || {count} || '\"^^<{XSD}integer>')", _INTEGER, f"{count}::DOUBLE"
    if fine != "TRUE":
        term, kind, number = (f"(CASE WHEN {fine} THEN {part} END)" for part in (term, kind, number))
    return CompiledAggregate(raw, term, kind, number)


def _sum(aggregate: a.Aggregate, argument: Argument, name: str, errors: dict[str, str]) -> CompiledAggregate:
    kind, number, term = argument.value.kind, argument.value.number, argument.value.term
    also = "" if argument.once is None else f" AND {argument.once}"
    every = "" if argument.once is None else f" FILTER (WHERE {argument.once})"
    whole = f"{kind} = {_INTEGER} AND {number} IS NOT NULL"
    # A short decimal is exact in DECIMAL(38, 18), which is also the one-shot engine's decimal.
    short = f"{kind} = {_DECIMAL} AND {number} IS NOT NULL"
    double = f"{kind} = {_DOUBLE} AND {number} IS NOT NULL"
    exact = f"CASE WHEN {short}{also} THEN TRY_CAST(split_part({term}, '\"', 2) AS DECIMAL(38, 18)) END"
    others = f"{kind} NOT IN ({_INTEGER}, {_DECIMAL}, {_DOUBLE}) OR {number} IS NULL"
    raw = {
        **errors,
        f"{name}_c": f"count(*){every}",
        f"{name}_f": f"sum({number} ORDER BY {number}) FILTER (WHERE {double}{also})",
        f"{name}_i": f"sum(CASE WHEN {whole}{also} THEN TRY_CAST({number} AS BIGINT) END)",
        f"{name}_d": f"sum({exact})",
        f"{name}_r": f"list({term}) FILTER (WHERE ({others}) AND {term} IS NOT NULL{also})",
    }
    average = "TRUE" if aggregate.function == "AVG" else "FALSE"
    error_count = f"{name}_e" if errors else "0"
    parts = {
        "count": f"{name}_c",
        "floating": f"{name}_f",
        "whole": f"{name}_i",
        "exact": f"{name}_d",
        "rest": f"{name}_r",
    }
    parts["errors"] = error_count
    struct = ", ".join(f"'{key}': {part}" for key, part in parts.items())
    call = f"sum_term({average}, {name}_c, {name}_f, {name}_i::VARCHAR, {name}_d::VARCHAR, {name}_r, {error_count})"
    # What is doubles and nothing else is finished here; only the rest goes through the prelude.
    doubles = (
        f"{_fine(raw, *errors)} AND {name}_f IS NOT NULL AND COALESCE({name}_i, {name}_d) IS NULL AND {name}_r IS NULL"
    )
    result = f"({name}_f / {name}_c)" if aggregate.function == "AVG" else f"{name}_f"
    return CompiledAggregate(
        raw,
        f"(CASE WHEN {doubles} THEN number_term({_DOUBLE}, {result}) ELSE {call} END)",
        f"(CASE WHEN {doubles} THEN {_DOUBLE} ELSE facet_k({call}) END)",
        f"(CASE WHEN {doubles} THEN nullif({result}, 'NaN'::DOUBLE) ELSE facet_n({call}) END)",
        f"{{{struct}}}",
    )


def _extreme(aggregate: a.Aggregate, value: Value, name: str, errors: dict[str, str]) -> CompiledAggregate:
    # min and max of structs compare their fields in order.
    keys = ", ".join(f"'{field}': {key}" for field, key in zip("cnrs", sort_keys(value), strict=True))
    order = f"{{{keys}, 't': {value.term}, 'k': {value.kind}, 'v': {value.number}}}"
    raw = {**errors, f"{name}_m": f"{aggregate.function.lower()}({order}) FILTER (WHERE {value.term} IS NOT NULL)"}
    fine = _fine(raw, *errors)
    term, kind, number = (f"{name}_m.{field}" for field in "tkv")
    if fine != "TRUE":
        term, kind, number = (f"(CASE WHEN {fine} THEN {part} END)" for part in (term, kind, number))
    return CompiledAggregate(raw, term, kind, number)


def _concatenation(aggregate: a.Aggregate, argument: Argument, name: str, errors: dict[str, str]) -> CompiledAggregate:
    value = argument.value
    strings = f"{value.kind} IN ({TermKind.STRING:d}, {_LANGUAGE})"
    every = "" if argument.once is None else f" FILTER (WHERE {argument.once})"
    order = "" if _LITERAL.fullmatch(value.term) else f" ORDER BY {value.term}"  # DuckDB refuses that of a literal
    raw = {
        **errors,
        f"{name}_b": f"count(*) FILTER (WHERE NOT ({strings}))",
        f"{name}_g": f"string_agg(lexical({value.term}), {quote(aggregate.separator)}{order}){every}",
    }
    fine = _fine(raw, *errors, f"{name}_b")
    # A simple literal (18.5.1.7), also of strings that have a language in common.
    term = f"(CASE WHEN {fine} THEN string_term(COALESCE({name}_g, '')) END)"
    kind = f"(CASE WHEN {fine} THEN {TermKind.STRING:d} END)"
    return CompiledAggregate(raw, term, kind, "NULL::DOUBLE")
