"""Basic graph patterns in SQL: the triple patterns of each as one SELECT (SPARQL 1.1 Query section 18.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.algebra.new_matches import Followers
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import MOST_TABLES, join, union
from spark_backend.compiler.sql.relation import ANY_INSTANT, MEMBER, Relation
from spark_backend.compiler.sql.sources import RowCondition
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.placeholders import Members, Parameter
from spark_backend.compiler.sql.tree.statements import FromItem, Table
from spark_backend.compiler.sql.triple_columns import places_of
from spark_backend.compiler.sql.values import NO_NUMBER, integer_term, kind_of


def match_triples(context: Context, triples: Sequence[a.TriplePattern], scope: PatternScope) -> Relation:
    # A pattern of the store, where nothing is new, may be asked for its time as well.
    if context.dataset.followers is not None and triples and not context.dataset.only_store(scope.graph):
        return _match_new(context, triples, scope, context.dataset.followers)
    if len(triples) <= MOST_TABLES:
        return _match_together(context, triples, scope)
    relation: Relation | None = None
    for part in connected_parts(triples, MOST_TABLES - 1):
        right = _match_together(context, part, scope)
        relation = right if relation is None else join(relation, right, scope.keys, context.names)
    assert relation is not None
    return relation


def _match_new(
    context: Context, triples: Sequence[a.TriplePattern], scope: PatternScope, followers: Followers
) -> Relation:
    """The matches that have a new occurrence, each by the last of its triple patterns that has."""
    ordered = sorted(triples, key=lambda triple: sum(triple.time in later for later in followers.values()))
    parts = [_match_together(context, ordered, scope, newest=place) for place in range(len(ordered))]
    return union(parts, scope.keys, context.names)


def _match_together(
    context: Context, triples: Sequence[a.TriplePattern], scope: PatternScope, *, newest: int | None = None
) -> Relation:
    """The triple patterns as one SELECT. ``newest`` is matched by what is new, those behind it by the old."""
    keys: dict[str, Expression] = {}
    tables: list[FromItem] = []
    conditions: list[Expression] = []
    places: dict[a.Variable, Expression] = {}
    objects: dict[a.Variable, str] = {}
    times: dict[a.Variable, Expression] = {}
    members = context.names.fresh("m")
    for number, triple in enumerate(triples):
        alias = context.names.fresh("t")
        source_of = context.dataset.new_source if number == newest else context.dataset.source
        source = source_of(triple, scope.graph, alias)
        tables.append(source.table)
        conditions += source.conditions
        if newest is not None:
            conditions += _age(triples, newest, number, alias, context.dataset.followers or {})
        if triple.time is not None:
            times[triple.time] = source.time
        for key, place in source.keys.items():
            if keys.setdefault(key, place) != place:
                conditions.append(sql.equal(place, keys[key]))
        for column, part in (("s", triple.subject), ("p", triple.predicate), ("o", triple.object)):
            place = Column(column, alias)
            if isinstance(part, a.Parameter):
                keys[MEMBER] = Column(MEMBER, members)
                conditions.append(sql.equal(place, Parameter(members, part.number)))
            if not isinstance(part, a.Variable):
                continue
            if part in places:
                conditions.append(sql.equal(place, places[part]))
            else:
                places[part] = place
            if column == "o":
                objects.setdefault(part, alias)
    if not triples:
        return context.unit(scope)
    if "instant" not in keys:  # all of it is static, and there at every instant
        alias = context.names.fresh("u")
        keys["instant"] = Column("instant", alias)
        tables.append(Table(context.dataset.instants, alias))
    listed = scope.keys
    if MEMBER in keys:
        tables.append(Table(Members(), members))
        listed = (*listed, MEMBER)
    return Relation(
        {**{key: keys[key] for key in listed}, **_columns(context, places, objects), **_times(context, times)},
        tuple(tables),
        (*places, *times),
        frozenset(places),
        tuple(conditions),
    )


def row_conditions(
    context: Context, triple: a.TriplePattern, conditions: Iterable[a.Expression]
) -> tuple[RowCondition, ...]:
    """Conditions of a triple pattern's variables as those of the rows ``x`` of the table that it is matched in."""
    columns = places_of(triple)
    places = {variable: Column(column, "x") for variable, column in columns.items()}
    objects = {variable: "x" for variable, column in columns.items() if column == "o"}
    told = {"instant": ANY_INSTANT, **_columns(context, places, objects)}
    rows = Relation(told, (), tuple(places), frozenset(places))
    found = []
    for condition in conditions:
        kept = context.filter(rows, condition)
        if all(isinstance(table, Table) and isinstance(table.source, Members) for table in kept.tables):
            numbers = sorted(parameter.number for parameter in a.expression_parameters(condition))
            (true,) = kept.conditions
            found.append(RowCondition(true.written, tuple(numbers)))
    return tuple(found)


def _age(
    triples: Sequence[a.TriplePattern], newest: int, number: int, alias: str, followers: Followers
) -> list[Expression]:
    """What is asked of the entry of an occurrence, where that of ``newest`` is the last one that is new."""
    before = Column("before", alias)
    if number > newest:
        return [sql.infix(Column("entry", alias), "<=", before)]
    time = triples[number].time
    later = frozenset() if time is None else followers.get(time, frozenset())
    if number == newest and any(triple.time in later for triple in triples[newest + 1 :]):
        # What is to follow it is old: then it came late. Where nothing did, nothing more is looked at.
        return [sql.infix(Column("t", alias), "<", before)]
    return []


def _columns(
    context: Context, places: Mapping[a.Variable, Expression], objects: Mapping[a.Variable, str]
) -> dict[str, Expression]:
    columns = {}
    for variable, place in places.items():
        name = context.names.column(variable)
        columns[name] = place
        if variable not in context.names.faceted:
            continue
        if variable in objects:
            columns |= {f"{name}_{facet}": Column(facet, objects[variable]) for facet in ("k", "n")}
        else:  # subjects, predicates: an IRI or a blank node
            bracketed = sql.equal(sql.Character(place, 1), sql.Text("<"))
            kind = sql.choice((bracketed, kind_of(TermKind.IRI)), otherwise=kind_of(TermKind.BLANK_NODE))
            columns |= {f"{name}_k": sql.Cast(kind, "UTINYINT"), f"{name}_n": NO_NUMBER}
    return columns


def _times(context: Context, times: Mapping[a.Variable, Expression]) -> dict[str, Expression]:
    """Hidden variables for the times of triples (``timestamps``): xsd:integer, unbound where a triple has none."""
    columns: dict[str, Expression] = {}
    for variable, time in times.items():
        kind = sql.Cast(sql.choice((sql.IsBound(time), kind_of(TermKind.INTEGER))), "UTINYINT")
        parts = (integer_term(time), kind, sql.Cast(sql.Parentheses(time), "DOUBLE"))
        columns |= dict(zip(context.names.columns(variable), parts, strict=False))
    return columns


def connected_parts(triples: Sequence[a.TriplePattern], size: int) -> list[list[a.TriplePattern]]:
    """A long basic graph pattern in parts, each pattern sharing a variable with those before it where it can."""
    left = list(triples)
    ordered: list[a.TriplePattern] = []
    bound: set[a.Variable] = set()
    while left:
        following = next((triple for triple in left if bound.intersection(triple.variables)), left[0])
        left.remove(following)
        ordered.append(following)
        bound.update(following.variables)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
