"""Solution sequences and their modifiers in SQL (SPARQL 1.1 Query section 15): order, projection, distinct, slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.timestamps import is_time
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude, compute
from spark_backend.compiler.sql.expressions.order import sort_keys
from spark_backend.compiler.sql.relation import RANK, Names, Relation, unbound_column
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, Constant, SortKey, Text
from spark_backend.compiler.sql.tree.nodes import Expression, separated
from spark_backend.compiler.sql.tree.placeholders import Alone
from spark_backend.compiler.sql.values import integer_term


def order_by(
    relation: Relation, conditions: Sequence[a.OrderCondition], keys: tuple[str, ...], names: Names, prelude: Prelude
) -> Relation:
    """The solutions in order, whatever order a sub-select had them in. What the conditions leave open is decided by the
    terms.
    """

    def keys_of(compiler: ExpressionCompiler) -> list[Expression]:
        return [key for condition in conditions for key in sort_keys(compiler.value(condition.expression))]

    relation, found = compute(relation, names, prelude, keys_of)
    count = len(found) // len(conditions)
    order = [
        SortKey(key, "DESC NULLS LAST" if condition.descending else "ASC NULLS FIRST")
        for place, condition in enumerate(conditions)
        for key in dict.fromkeys(found[count * place : count * (place + 1)])
    ]
    ordered_by = {one.key for one in order if one.direction == "ASC NULLS FIRST"}
    rest = [one for one in _by_terms(relation, names) if one.key not in ordered_by]
    columns = {name: column for name, column in relation.columns.items() if name != RANK}
    # A literal tells no rows apart, and DuckDB takes none in ORDER BY; a number would be a column's place.
    telling = tuple(one for one in dict.fromkeys((*order, *rest)) if not isinstance(one.key, Text | Constant))
    return replace(relation, columns=columns, ranked=False, order=telling)


def distinct(relation: Relation, keys: tuple[str, ...], names: Names, latest: Sequence[a.Variable] = ()) -> Relation:
    """Each solution once, at its first place; solutions that differ in ``latest`` only, with the greatest of each."""
    relation = ranked(relation, keys, names)
    if not relation.ranked and not latest:
        if relation.distinct or relation.group or relation.first:
            relation = relation.within(names.fresh("q"))
        return replace(relation, distinct=True, closed=True)
    inner = names.open(relation)
    by = [*inner.keys(keys), *names.all_columns(variable for variable in inner.variables if variable not in latest)]
    columns = {name: inner.columns[name] for name in by}
    group = tuple(columns.values())
    if relation.ranked:
        columns[RANK] = sql.call("min", inner.columns[RANK])
    for term, kind, number in map(names.columns, latest):
        columns[term] = integer_term(sql.Cast(sql.call("max", inner.columns[number]), "BIGINT"))
        columns |= {name: sql.call("max", inner.columns[name]) for name in (kind, number)}
    certain = inner.certain.difference(latest)
    return replace(inner, columns=columns, certain=certain, group=group, closed=True)


def project(relation: Relation, variables: Sequence[a.Variable], keys: tuple[str, ...], names: Names) -> Relation:
    if relation.distinct:
        relation = relation.within(names.fresh("q"))
    listed = [*relation.keys(keys), *names.all_columns(variables)]
    columns = {name: relation.columns.get(name, unbound_column(name)) for name in listed}
    if relation.ranked:
        columns[RANK] = relation.columns[RANK]
    return replace(
        relation, columns=columns, variables=tuple(variables), certain=relation.certain & frozenset(variables)
    )


def cut(
    relation: Relation,
    offset: int,
    limit: int | None,
    keys: tuple[str, ...],
    names: Names,
    alone: Callable[..., Alone | None],
) -> Relation:
    """OFFSET and LIMIT. Any solutions would do without ORDER BY; the first by their terms do at every replay.

    ``alone`` gives what is to stand for a clause that holds where one query is evaluated at one instant.
    """
    if not relation.order:
        relation = names.open(relation)
    by_rank = [SortKey(relation.columns[RANK])] if relation.ranked else None
    order: Sequence[SortKey] = relation.order or by_rank or _by_terms(relation, names)
    if limit is not None and keys == ("instant",):
        relation, order = _first(relation, order, offset + limit, keys, names, alone)
    ranked = _rank(relation, order, keys, names).within(names.fresh("q"))
    rank = ranked.columns[RANK]
    conditions = [sql.infix(rank, ">", sql.number(offset))] if offset else []
    if limit is not None:
        conditions.append(sql.infix(rank, "<=", sql.number(offset + limit)))
    return ranked.where(*conditions)


def _first(
    relation: Relation,
    order: Sequence[SortKey],
    count: int,
    keys: tuple[str, ...],
    names: Names,
    alone: Callable[..., Alone | None],
) -> tuple[Relation, Sequence[SortKey]]:
    """The first so many solutions, where there is one sequence only; and their sort keys.

    Of a large window these are found in one pass, where numbering all solutions sorts them.
    """
    sorted_by = {names.fresh("k"): key for key in order}
    by = [SortKey(Column(name), one.direction) for name, one in sorted_by.items()]
    first = alone(" ORDER BY ", *separated(", ", by), f" LIMIT {count}") if order else None
    if first is None:
        return relation, order
    columns = _columns(relation, keys, names) | {name: one.key for name, one in sorted_by.items()}
    alias = names.fresh("q")
    found = replace(relation, columns=columns, first=first, closed=True, ranked=False, order=())
    return found.within(alias), [SortKey(Column(name, alias), one.direction) for name, one in sorted_by.items()]


def _columns(relation: Relation, keys: tuple[str, ...], names: Names) -> dict[str, Expression]:
    """The columns of keys and variables; a sum in parts has no facets."""
    listed = [*relation.keys(keys), *names.all_columns(relation.variables)]
    return {name: relation.columns[name] for name in listed if name in relation.columns}


def _by_terms(relation: Relation, names: Names) -> list[SortKey]:
    """The relation's variables that the query can name, in the order of their names, and times that they tell.

    Partial sums are left out: they are of a group whose keys are among the variables, and tell it from others.
    """
    named = [v for v in relation.variables if not v.name.startswith("_:") and v not in relation.parts]
    variables = [*sorted(named, key=lambda v: v.name), *filter(is_time, relation.variables)]
    return [SortKey(relation.columns[names.column(variable)], "NULLS FIRST") for variable in variables]


def ranked(relation: Relation, keys: tuple[str, ...], names: Names) -> Relation:
    """The relation, with RANK where it is a sequence."""
    return _rank(relation, relation.order, keys, names) if relation.order else relation


def _rank(relation: Relation, order: Sequence[SortKey], keys: tuple[str, ...], names: Names) -> Relation:
    columns = _columns(relation, keys, names)
    partition = tuple(relation.columns[key] for key in relation.keys(keys))
    columns[RANK] = sql.RowNumber(partition, tuple(order))
    return replace(relation, columns=columns, ranked=True, closed=True, order=())
