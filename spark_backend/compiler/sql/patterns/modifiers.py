"""Solution sequences and their modifiers in SQL (SPARQL 1.1 Query section 15): order, projection, distinct, slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.timestamps import is_time
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude, compute
from spark_backend.compiler.sql.expressions.order import direction, sort_key, sort_keys
from spark_backend.compiler.sql.relation import RANK, Names, Relation, unbound_column
from spark_backend.compiler.sql.values import integer_term


def order_by(
    relation: Relation, conditions: Sequence[a.OrderCondition], keys: tuple[str, ...], names: Names, prelude: Prelude
) -> Relation:
    """The solutions in order. What the conditions leave open is decided by the terms."""

    def texts(compiler: ExpressionCompiler) -> list[str]:
        return [
            f"{key} {'DESC NULLS LAST' if condition.descending else 'ASC NULLS FIRST'}"
            for condition in conditions
            for key in dict.fromkeys(sort_keys(compiler.value(condition.expression)))
        ]

    relation, order = compute(relation, names, prelude, texts)
    ordered_by = {key.removesuffix(" ASC NULLS FIRST") for key in order}
    rest = [key for key in _by_terms(relation, names) if key.removesuffix(" NULLS FIRST") not in ordered_by]
    return replace(relation, order=tuple(dict.fromkeys((*order, *rest))))


def distinct(relation: Relation, keys: tuple[str, ...], names: Names, latest: Sequence[a.Variable] = ()) -> Relation:
    """Each solution once, at its first place; solutions that differ in ``latest`` only, with the greatest of each."""
    if relation.order:
        relation = _rank(relation, relation.order, keys, names)
    if not relation.ranked and not latest:
        if relation.distinct or relation.tail:
            relation = relation.within(names.fresh("q"))
        return replace(relation, distinct=True, closed=True)
    inner = names.open(relation)
    by = [*inner.keys(keys), *names.all_columns(variable for variable in inner.variables if variable not in latest)]
    columns = {name: inner.columns[name] for name in by}
    grouped = ", ".join(columns.values())
    if relation.ranked:
        columns[RANK] = f"min({inner.columns[RANK]})"
    for term, kind, number in map(names.columns, latest):
        columns[term] = integer_term(f"max({inner.columns[number]})::BIGINT")
        columns |= {name: f"max({inner.columns[name]})" for name in (kind, number)}
    certain = inner.certain.difference(latest)
    return replace(inner, columns=columns, certain=certain, tail=f" GROUP BY {grouped}", closed=True)


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
    alone: Callable[[str], str],
) -> Relation:
    """OFFSET and LIMIT. Any solutions would do without ORDER BY; the first by their terms do at every replay.

    ``alone`` gives what is to stand for a clause that holds where one query is evaluated at one instant.
    """
    if not relation.order:
        relation = names.open(relation)
    by_rank = [relation.columns[RANK]] if relation.ranked else None
    order: Sequence[str] = relation.order or by_rank or _by_terms(relation, names)
    if limit is not None and keys == ("instant",):
        relation, order = _first(relation, order, offset + limit, keys, names, alone)
    ranked = _rank(relation, order, keys, names).within(names.fresh("q"))
    conditions = [f"{ranked.columns[RANK]} > {offset}"] if offset else []
    if limit is not None:
        conditions.append(f"{ranked.columns[RANK]} <= {offset + limit}")
    return ranked.where(*conditions)


def _first(
    relation: Relation,
    order: Sequence[str],
    count: int,
    keys: tuple[str, ...],
    names: Names,
    alone: Callable[[str], str],
) -> tuple[Relation, Sequence[str]]:
    """The first so many solutions, where there is one sequence only; and their sort keys.

    Of a large window these are found in one pass, where numbering all solutions sorts them.
    """
    sorted_by = {names.fresh("k"): key for key in order}
    clause = ", ".join(f"{name} {direction(key)}" for name, key in sorted_by.items())
    tail = alone(f"ORDER BY {clause} LIMIT {count}") if order else ""
    if not tail:
        return relation, order
    columns = _columns(relation, keys, names) | {name: sort_key(key) for name, key in sorted_by.items()}
    alias = names.fresh("q")
    found = replace(relation, columns=columns, tail=relation.tail + tail, closed=True, ranked=False, order=())
    return found.within(alias), [f"{alias}.{name} {direction(key)}" for name, key in sorted_by.items()]


def _columns(relation: Relation, keys: tuple[str, ...], names: Names) -> dict[str, str]:
    """The columns of keys and variables; a sum in parts has no facets."""
    listed = [*relation.keys(keys), *names.all_columns(relation.variables)]
    return {name: relation.columns[name] for name in listed if name in relation.columns}


def _by_terms(relation: Relation, names: Names) -> list[str]:
    """The relation's variables that the query can name, in the order of their names, and times that they tell.

    Partial sums are left out: they are of a group whose keys are among the variables, and tell it from others.
    """
    named = [v for v in relation.variables if not v.name.startswith("_:") and v not in relation.parts]
    variables = [*sorted(named, key=lambda v: v.name), *filter(is_time, relation.variables)]
    return [f"{relation.columns[names.column(variable)]} NULLS FIRST" for variable in variables]


def _rank(relation: Relation, order: Sequence[str], keys: tuple[str, ...], names: Names) -> Relation:
    by = f" ORDER BY {', '.join(order)}" if order else ""
    partition = ", ".join(relation.columns[key] for key in relation.keys(keys))
    columns = _columns(relation, keys, names)
    columns[RANK] = f"row_number() OVER (PARTITION BY {partition}{by})"
    return replace(relation, columns=columns, ranked=True, closed=True, order=())
