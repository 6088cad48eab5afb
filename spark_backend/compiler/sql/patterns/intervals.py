"""Monotone patterns in SQL: their solutions once for all instants, each with the interval in which it holds.

A part is the same for all queries that match the same, whatever they call their variables, in whatever order they
write their triple patterns, and whichever of the variables they go on to read: so it has all of them, by number.
The tables that a part reads are made where it is evaluated (``evaluation.contents.solution_intervals``), and so is the
table of its solutions, which the rest of the query reads as it reads a window's contents: the rows of each instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from protocol.language.parts import with_names
from spark_backend.compiler.algebra.operands import conjuncts
from spark_backend.compiler.sql.dataset import ActiveGraph, QueryDataset, TripleSource
from spark_backend.compiler.sql.interval_part import EntailedRows, IntervalPart, Narrowing
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.triples import match_triples
from spark_backend.compiler.sql.relation import ANY_INSTANT, Names, Relation, columns_of_table
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column
from spark_backend.compiler.sql.tree.placeholders import MatchRows, SolutionRows
from spark_backend.compiler.sql.tree.statements import Table


def compile_monotone(context: Context, pattern: a.Monotone, scope: PatternScope) -> Relation:
    """The solutions at each instant, from the table of all."""
    variables, conditions, triples = _taken_apart(pattern.pattern)
    triples = sorted(triples, key=lambda triple: [_constant(part) for part in _terms(triple)])
    bound = dict.fromkeys(variable for triple in triples for variable in triple.variables)
    numbered = {variable: a.Variable(str(number)) for number, variable in enumerate(bound)}
    names = Names(frozenset(numbered[variable] for variable in context.names.faceted if variable in numbered))
    part = _part(
        context,
        scope.graph,
        list(numbered.values()),
        sorted((with_names(condition, numbered) for condition in conditions), key=repr),
        [with_names(triple, numbered) for triple in triples],
        # Nothing follows that has the constants in place of which it has variables.
        [
            None if {*pattern.lifted} & {*triple.variables} else context.dataset.entailed_rows(triple, scope.graph)
            for triple in triples
        ],
        names,
        [with_names(condition, numbered) for condition in pattern.narrowing],
    )
    alias = context.names.fresh("i")
    columns = {
        ours: Column(theirs, alias)
        for variable in variables
        for ours, theirs in zip(context.names.columns(variable), names.columns(numbered[variable]), strict=True)
    }
    relation = Relation(
        {"instant": Column("instant", alias), **columns},
        (Table(context.dataset.interval_part(part), alias),),
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
    entailed: Sequence[EntailedRows | None],
    names: Names,
    narrowing: Sequence[a.Expression],
) -> IntervalPart:
    matches = _Matches(context.dataset.query, lambda _: False, at_all_instants=True, triples=tuple(triples))
    inside = Context(matches, names, context.prelude, context.operators)
    relation = match_triples(inside, triples, PatternScope())
    interval = {
        name: sql.extreme(function, [Column(column, alias) for alias in matches.aliases])
        for name, function, column in (
            ("prev", "greatest", "prev"),
            ("first", "least", "time"),
            ("entry", "greatest", "entry"),
        )
    }
    # Solutions that never hold: one triple had left when another began to count.
    lasting = replace(relation, columns={**relation.columns, **interval})
    lasting = lasting.where(sql.infix(interval["prev"], "<", interval["first"]))
    for condition in conditions:
        lasting = inside.filter(lasting, condition)
    listed = names.all_columns(variables)
    columns = (*listed, *interval)
    sql_of_part = replace(lasting, columns={name: lasting.columns[name] for name in columns}).select.written
    places = (map(_constant, _terms(triple)) for triple in triples)
    patterns = tuple((subject or None, predicate or None, object_ or None) for subject, predicate, object_ in places)
    window = context.dataset.only_window(graph)
    narrowings = tuple(_narrowing(inside, variables, columns, condition) for condition in narrowing)
    return IntervalPart(
        window, patterns, tuple(_links(triples)), sql_of_part, tuple(listed), tuple(entailed), narrowings
    )


def _narrowing(
    context: Context, variables: Sequence[a.Variable], columns: Sequence[str], condition: a.Expression
) -> Narrowing:
    """The rows of a part, which has these columns, of which a condition is true."""
    solutions = Relation(
        {"instant": ANY_INSTANT, **columns_of_table("x", columns)},
        (Table(SolutionRows(), "x"),),
        tuple(variables),
        frozenset(variables),
    )
    found = context.filter(solutions, condition)
    numbers = tuple(sorted(parameter.number for parameter in a.expression_parameters(condition)))
    kept = {name: found.columns[name] for name in columns}
    return Narrowing(replace(found, columns=kept).select.written, numbers)


def _links(triples: Sequence[a.TriplePattern]) -> Iterator[tuple[int, str, int, str]]:
    """Where two triple patterns have the same variable."""
    for place, triple in enumerate(triples):
        for other in range(place):
            for column, part in zip("spo", _terms(triple), strict=True):
                for theirs, one in zip("spo", _terms(triples[other]), strict=True):
                    if isinstance(part, a.Variable) and part == one:
                        yield other, theirs, place, column


def _constant(part: a.Expression) -> str:
    """A term of a triple pattern, an empty text where it is a variable."""
    return part.text if isinstance(part, a.Constant) else ""


def _terms(triple: a.TriplePattern) -> tuple[a.Expression, a.Expression, a.Expression]:
    return triple.subject, triple.predicate, triple.object


@dataclass
class _Matches(QueryDataset):
    """Where triple patterns are matched already: a table of its matches for each."""

    triples: tuple[a.TriplePattern, ...] = ()
    aliases: list[str] = field(default_factory=list)

    def source(self, triple: a.TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        self.aliases.append(alias)
        matches = Table(MatchRows(self.triples.index(triple)), alias)
        return TripleSource(matches, (), {"instant": ANY_INSTANT})
