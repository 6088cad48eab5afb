"""Monotone patterns in SQL: their solutions once for all instants, each with the interval in which it holds.

The tables that a part reads are made where it is evaluated (``evaluation.contents.solution_intervals``), and so is the
table of its solutions, which the rest of the query reads as it reads a window's contents: the rows of each instant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import conjuncts
from spark_backend.compiler.sql.dataset import ActiveGraph, QueryDataset, TripleSource
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.triples import match_triples
from spark_backend.compiler.sql.relation import Names, Relation


def compile_monotone(context: Context, pattern: a.Monotone, scope: PatternScope) -> Relation:
    """The solutions at each instant, from the table of all."""
    names = Names(context.names.faceted)
    variables, conditions, triples = _taken_apart(pattern.pattern)
    part = _part(context, scope.graph, variables, conditions, triples, names)
    alias = context.names.fresh("i")
    columns = {
        ours: f"{alias}.{theirs}"
        for variable in variables
        for ours, theirs in zip(context.names.columns(variable), names.columns(variable), strict=True)
    }
    relation = Relation(
        {"instant": f"{alias}.instant", **columns},
        (f"{context.dataset.interval_part(part)} {alias}",),
        variables,
        frozenset(variables),
    )
    return context.inside(relation, scope)


def _taken_apart(
    pattern: a.Pattern,
) -> tuple[tuple[a.Variable, ...], list[a.Expression], Sequence[a.TriplePattern]]:
    """Its variables, conditions and triple patterns: no more is in a monotone pattern (``passes.split_monotone``)."""
    match pattern:
        case a.Project(inner, kept):
            _, conditions, triples = _taken_apart(inner)
            return kept, conditions, triples
        case a.Filter(inner, condition):
            variables, conditions, triples = _taken_apart(inner)
            return variables, [*conjuncts(condition), *conditions], triples
        case a.BGP(triples):
            return tuple(dict.fromkeys(variable for triple in triples for variable in triple.variables)), [], triples
    raise AssertionError(f"not monotone: {pattern!r}")


def _part(
    context: Context,
    graph: ActiveGraph,
    variables: Sequence[a.Variable],
    conditions: Sequence[a.Expression],
    triples: Sequence[a.TriplePattern],
    names: Names,
) -> IntervalPart:
    mark = hashlib.sha256(repr((variables, conditions, triples)).encode()).hexdigest()[:16]
    matches = _Matches(context.dataset.query, lambda _: False, mark, at_all_instants=True, triples=tuple(triples))
    inside = Context(matches, names, context.prelude, context.operators)
    relation = match_triples(inside, triples, PatternScope())
    previous, first, entry = (
        call if len(triples) == 1 else f"{function}({call})"
        for function, call in (
            (function, ", ".join(f"{alias}.{column}" for alias in matches.aliases))
            for function, column in (("greatest", "prev"), ("least", "time"), ("greatest", "entry"))
        )
    )
    interval = {"prev": previous, "first": first, "entry": entry}
    # Solutions that never hold: one triple had left when another began to count.
    lasting = replace(relation, columns={**relation.columns, **interval}).where(f"{previous} < {first}")
    for condition in conditions:
        lasting = inside.filter(lasting, condition)
    listed = names.all_columns(variables)
    sql = replace(lasting, columns={name: lasting.columns[name] for name in (*listed, *interval)}).sql
    patterns = tuple(
        tuple(part.text if isinstance(part, a.Constant) else None for part in _terms(triple)) for triple in triples
    )
    window = context.dataset.only_window(graph)
    return IntervalPart(window, patterns, tuple(_links(triples)), sql, mark, tuple(listed))  # type: ignore[arg-type]


def _links(triples: Sequence[a.TriplePattern]) -> Iterator[tuple[int, str, int, str]]:
    """Where two triple patterns have the same variable."""
    for place, triple in enumerate(triples):
        for other in range(place):
            for column, part in zip("spo", _terms(triple), strict=True):
                for theirs, one in zip("spo", _terms(triples[other]), strict=True):
                    if isinstance(part, a.Variable) and part == one:
                        yield other, theirs, place, column


def _terms(triple: a.TriplePattern) -> tuple[a.Expression, a.Expression, a.Expression]:
    return triple.subject, triple.predicate, triple.object


@dataclass
class _Matches(QueryDataset):
    """Where triple patterns are matched already: a table of its matches for each."""

    triples: tuple[a.TriplePattern, ...] = ()
    aliases: list[str] = field(default_factory=list)

    def source(self, triple: a.TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        self.aliases.append(alias)
        return TripleSource(f"part_{self.triples.index(triple)}_{self.mark} {alias}", (), {"instant": "0::BIGINT"})
