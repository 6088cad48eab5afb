"""Solution sequences and their modifiers in SQL (SPARQL 1.1 Query section 15): order, projection, distinct, slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spark_backend.compiler import algebra as a
from spark_backend.compiler.expressions import ExpressionCompiler, Prelude, computed
from spark_backend.compiler.order import sort_keys
from spark_backend.compiler.relation import RANK, Names, Relation, unbound_column


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

    relation, order = computed(relation, names, prelude, texts)
    ordered_by = {key.removesuffix(" ASC NULLS FIRST") for key in order}
    rest = [key for key in _by_terms(relation, names) if key.removesuffix(" NULLS FIRST") not in ordered_by]
    return replace(relation, order=tuple(dict.fromkeys((*order, *rest))))


def distinct(relation: Relation, keys: tuple[str, ...], names: Names) -> Relation:
    """Each solution once, at its first place."""
    if relation.order:
        relation = _ranked(relation, relation.order, keys, names)
    if not relation.ranked:
        if relation.distinct or relation.tail:
            relation = relation.within(names.fresh("q"))
        return replace(relation, distinct=True, closed=True)
    inner = names.opened(relation)
    by = [*inner.keys(keys), *names.all_columns(inner.variables)]
    columns = {name: inner.columns[name] for name in by}
    grouped = ", ".join(columns.values())
    return replace(
        inner, columns={**columns, RANK: f"min({inner.columns[RANK]})"}, tail=f" GROUP BY {grouped}", closed=True
    )


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


def cut(relation: Relation, offset: int, limit: int | None, keys: tuple[str, ...], names: Names) -> Relation:
    """OFFSET and LIMIT. Any solutions would do without ORDER BY; the first by their terms do at every replay."""
    if not relation.order:
        relation = names.opened(relation)
    order = relation.order or ([relation.columns[RANK]] if relation.ranked else _by_terms(relation, names))
    ranked = _ranked(relation, order, keys, names).within(names.fresh("q"))
    conditions = [f"{ranked.columns[RANK]} > {offset}"] if offset else []
    if limit is not None:
        conditions.append(f"{ranked.columns[RANK]} <= {offset + limit}")
    return ranked.where(*conditions)


def _by_terms(relation: Relation, names: Names) -> list[str]:
    """The relation's variables that the query can name, in the order of their names.

    Unfinished sums are left out: they are of a group whose keys are among the variables, and tell it from others.
    """
    named = (v for v in relation.variables if not v.name.startswith(("_:", "__")) and v not in relation.parts)
    return [
        f"{relation.columns[names.column(variable)]} NULLS FIRST" for variable in sorted(named, key=lambda v: v.name)
    ]


def _ranked(relation: Relation, order: Sequence[str], keys: tuple[str, ...], names: Names) -> Relation:
    by = f" ORDER BY {', '.join(order)}" if order else ""
    keys = relation.keys(keys)
    partition = ", ".join(relation.columns[key] for key in keys)
    columns = {name: relation.columns[name] for name in [*keys, *names.all_columns(relation.variables)]}
    columns[RANK] = f"row_number() OVER (PARTITION BY {partition}{by})"
    return replace(relation, columns=columns, ranked=True, closed=True, order=())
