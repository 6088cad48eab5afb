"""Aggregates (SPARQL 1.1 Query section 18.5.1) in SQL.

An aggregate is compiled in two layers: sums, counts and lists of the group in the GROUP BY (*raw*
columns), and over them the aggregate's term and facets. An error in any argument is an error of the
aggregate, except for COUNT, which leaves it out (18.5.1.2), and SAMPLE (11.2). Answers do not depend on the order of
arrival: sums of doubles are taken in ascending order, strings concatenated in the order that a sub-select gives its
solutions, and otherwise in that of their terms; SAMPLE is the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.sql.expressions.order import sort_keys
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import (
    Call,
    Cast,
    Column,
    In,
    IsBound,
    IsNull,
    SortKey,
    Struct,
    Text,
    call,
    choice,
    count_where,
    equal,
    every,
)
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import NO_NUMBER, Value, integer_term, kind_of, of_term

_DOUBLE, _DECIMAL, _INTEGER, _STRING = map(
    kind_of, (TermKind.DOUBLE, TermKind.DECIMAL, TermKind.INTEGER, TermKind.STRING)
)
_VAST = 10**12
"""Decimals below it are summed in SQL: a hundred million of them are below what DECIMAL(38, 18) holds."""


@dataclass(frozen=True)
class Argument:
    """An aggregate's argument.

    ``failure`` is the condition under which it is an error of the aggregate, FALSE where it never is;
    ``once`` a column that is true for one of each set of equal ones (DISTINCT), and ``rank`` the one that says which
    place its solution has in a sequence.
    """

    value: Value
    failure: Expression
    once: Expression | None
    rank: Expression | None

    @property
    def order(self) -> tuple[SortKey, ...]:
        """Which of several is first: by their places, or by their terms."""
        key = self.value.term if self.rank is None else self.rank
        return () if isinstance(key, Text) else (SortKey(key),)  # DuckDB refuses that of a literal


@dataclass(frozen=True)
class CompiledAggregate:
    """``raw``: aggregates for the GROUP BY, by the names they are read as in the rest.

    ``term``, ``kind`` and ``number`` are the result's columns, ``sum_parts`` what SUM and AVG can be
    finished from outside of SQL (``spark_backend.answers.sums``).
    """

    raw: Mapping[str, Expression]
    term: Expression
    kind: Expression
    number: Expression
    sum_parts: Expression | None = None


def count_solutions(name: str, distinct: Expression | None) -> CompiledAggregate:
    """COUNT(*), given what tells solutions apart where it is COUNT(DISTINCT *)."""
    counted = call("count", sql.STAR) if distinct is None else Call("count", (distinct,), distinct=True)
    return _count({f"{name}_c": counted}, name)


def compile_aggregate(aggregate: a.Aggregate, argument: Argument, name: str) -> CompiledAggregate:
    """One aggregate of a group; ``name`` is the prefix of its raw columns."""
    value = argument.value
    errors = {} if argument.failure == sql.FALSE else {f"{name}_e": count_where(argument.failure)}
    match aggregate.function:
        case "COUNT":
            counted = Call("count", (value.term,), distinct=aggregate.distinct)
            return _count({f"{name}_c": counted}, name)
        case "SUM" | "AVG":
            return _sum(aggregate, argument, name, errors)
        case "MIN" | "MAX":
            return _extreme(aggregate, value, name, errors)
        case "LATEST":  # of timestamps: those that are unbound are left out
            latest = Column(f"{name}_t")
            term = integer_term(Cast(latest, "BIGINT"))
            return CompiledAggregate(
                {latest.name: call("max", value.number)}, term, choice((IsBound(latest), _INTEGER)), latest
            )
        case "SAMPLE":
            return _sample(argument, name)
        case "GROUP_CONCAT":
            return _concatenation(aggregate, argument, name, errors)
        case called:
            return _of_terms(called[1:-1], argument, name, errors)


def _fine(raw: Mapping[str, Expression], *names: str) -> Expression:
    """That there were no errors (no row at all is no error)."""
    return every([equal(_counted(name), sql.number(0)) for name in names if name in raw])


def _counted(name: str) -> Expression:
    return call("COALESCE", Column(name), sql.number(0))


def _where_fine(fine: Expression, *results: Expression) -> tuple[Expression, ...]:
    """Results, or NULL where there were errors."""
    return results if fine == sql.TRUE else tuple(choice((fine, result)) for result in results)


def _count(raw: Mapping[str, Expression], name: str) -> CompiledAggregate:
    count = _counted(f"{name}_c")
    return CompiledAggregate(raw, integer_term(count), _INTEGER, Cast(count, "DOUBLE"))


def _sum(aggregate: a.Aggregate, argument: Argument, name: str, errors: Mapping[str, Expression]) -> CompiledAggregate:
    kind, number, term = argument.value.kind, argument.value.number, argument.value.term
    also = [] if argument.once is None else [argument.once]
    is_known = IsBound(number)
    whole = [equal(kind, _INTEGER), is_known]
    # A short decimal is exact in DECIMAL(38, 18), which is also the one-shot engine's decimal.
    short = [equal(kind, _DECIMAL), sql.infix(call("abs", number), "<", sql.number(_VAST))]
    double = [equal(kind, _DOUBLE), is_known]
    lexical = call("split_part", term, Text('"'), sql.number(2))
    exact = sql.Case(((every([*short, *also]), sql.TryCast(lexical, "DECIMAL(38, 18)")),))
    vast = every([equal(kind, _DECIMAL), sql.infix(call("abs", number), ">=", sql.number(_VAST))])
    others = sql.some([In(kind, (_INTEGER, _DECIMAL, _DOUBLE), negated=True), IsNull(number), vast])
    rest = every([sql.Parentheses(others), IsBound(term), *also])
    raw = {
        **errors,
        f"{name}_c": Call("count", (sql.STAR,), where=argument.once),
        f"{name}_f": Call("sum", (number,), order=(SortKey(number),), where=every([*double, *also])),
        f"{name}_i": call("sum", sql.Case(((every([*whole, *also]), sql.TryCast(number, "BIGINT")),))),
        f"{name}_d": call("sum", exact),
        f"{name}_r": Call("list", (term,), where=rest),
    }
    count, doubles, integers, decimals, terms = (Column(f"{name}_{part}") for part in "cfidr")
    error_count = Column(f"{name}_e") if errors else sql.number(0)
    parts = Struct(
        {
            "count": count,
            "floating": doubles,
            "whole": integers,
            "exact": decimals,
            "rest": terms,
            "errors": error_count,
        }
    )
    average = aggregate.function == "AVG"
    by_prelude = of_term(
        call(
            "sum_term",
            sql.TRUE if average else sql.FALSE,
            count,
            doubles,
            Cast(integers, "VARCHAR"),
            Cast(decimals, "VARCHAR"),
            terms,
            error_count,
        )
    )
    # What is doubles and nothing else is finished here; only the rest goes through the prelude.
    only_doubles = every(
        [
            _fine(raw, *errors),
            IsBound(doubles),
            IsNull(call("COALESCE", integers, decimals)),
            IsNull(terms),
        ]
    )
    result = sql.Parentheses(sql.infix(doubles, "/", count)) if average else doubles
    return CompiledAggregate(
        raw,
        choice((only_doubles, call("number_term", _DOUBLE, result)), otherwise=by_prelude.term),
        choice((only_doubles, _DOUBLE), otherwise=by_prelude.kind),
        choice((only_doubles, call("nullif", result, sql.NAN)), otherwise=by_prelude.number),
        parts,
    )


def _extreme(aggregate: a.Aggregate, value: Value, name: str, errors: Mapping[str, Expression]) -> CompiledAggregate:
    # min and max of structs compare their fields in order.
    keys = dict(zip("cnrs", sort_keys(value), strict=True))
    order = Struct({**keys, "t": value.term, "k": value.kind, "v": value.number})
    extreme = Column(f"{name}_m")
    raw = {**errors, extreme.name: Call(aggregate.function.lower(), (order,), where=IsBound(value.term))}
    results = (sql.StructField(extreme, field) for field in "tkv")
    return CompiledAggregate(raw, *_where_fine(_fine(raw, *errors), *results))


def _sample(argument: Argument, name: str) -> CompiledAggregate:
    term, sample = argument.value.term, Column(f"{name}_s")
    if argument.rank is None:
        found = of_term(sample)
        return CompiledAggregate({sample.name: call("min", term)}, found.term, found.kind, found.number)
    first = Call("min", (Struct({"r": argument.rank, "t": term}),), where=IsBound(term))
    found = of_term(sql.StructField(sample, "t"))
    return CompiledAggregate({sample.name: first}, found.term, found.kind, found.number)


def _concatenation(
    aggregate: a.Aggregate, argument: Argument, name: str, errors: Mapping[str, Expression]
) -> CompiledAggregate:
    joined = (call("lexical", argument.value.term), Text(aggregate.separator))
    raw = {**errors, f"{name}_g": Call("string_agg", joined, order=argument.order, where=argument.once)}
    fine = _fine(raw, *errors)
    # A simple literal (18.5.1.7), also of strings that have a language in common.
    text = call("string_term", call("COALESCE", Column(f"{name}_g"), Text("")))
    return CompiledAggregate(raw, choice((fine, text)), choice((fine, _STRING)), NO_NUMBER)


def _of_terms(called: str, argument: Argument, name: str, errors: Mapping[str, Expression]) -> CompiledAggregate:
    """An aggregate with an IRI, which the prelude makes of the list of the group's terms."""
    terms, term = Column(f"{name}_l"), argument.value.term
    raw = {**errors, terms.name: Call("list", (term,), where=IsBound(term))}
    error_count = Column(f"{name}_e") if errors else sql.number(0)
    found = of_term(call("aggregate_term", Text(called), terms, error_count))
    return CompiledAggregate(raw, found.term, found.kind, found.number)
