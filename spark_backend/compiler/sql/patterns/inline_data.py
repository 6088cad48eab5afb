"""VALUES in SQL (SPARQL 1.1 Query section 18.2.4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.terms import comparable_facets
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.relation import Relation, columns_of_table, facet_type, unbound_column
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.statements import InlineRows, Select, Subselect, Table

_FEW = 100
"""Rows that are sooner read with the statement, at each evaluation, than kept as a table."""


def compile_values(context: Context, pattern: a.Values, scope: PatternScope) -> Relation:
    variables, rows = pattern.variables, pattern.rows
    unit = context.unit(scope)
    names = context.names.all_columns(variables)
    if not variables or not rows:
        columns = {**unit.columns, **{name: unbound_column(name) for name in names}}
        if len(rows) > 1:  # rows without a variable are empty solutions, each one counts
            counted = Table(sql.call("range", sql.number(len(rows))), context.names.fresh("w"))
            unit = replace(unit, tables=(*unit.tables, counted))
        return replace(unit, columns=columns, variables=variables, conditions=() if rows else (sql.FALSE,))
    lines = InlineRows(tuple(tuple(_cells(context, variables, row)) for row in rows))
    alias = context.names.fresh("w")
    certain = frozenset(
        variable for place, variable in enumerate(variables) if all(row[place] is not None for row in rows)
    )
    # Types are told once for all rows: what is written in each of them costs.
    typed = tuple((name, sql.Cast(column, facet_type(name))) for name, column in columns_of_table("x", names).items())
    select = Select(typed, (Table(lines, "x", tuple(names)),))
    places = {variable: context.names.column(variable) for variable in variables}
    if len(rows) > _FEW and not context.dataset.at_all_instants:
        table = context.dataset.static_join(pattern, scope.graph, select, places)
    else:
        table = context.dataset.computed(pattern, scope.graph, Subselect(select), places, at_instants=False)
    return Relation(
        {**unit.columns, **columns_of_table(alias, names)},
        (*unit.tables, Table(table, alias)),
        variables,
        certain,
    )


def _cells(context: Context, variables: Sequence[a.Variable], row: Sequence[str | None]) -> Iterable[Expression]:
    for variable, term in zip(variables, row, strict=True):
        yield sql.NULL if term is None else sql.Text(term)
        if variable in context.names.faceted:
            kind, number = (None, None) if term is None else comparable_facets(term)
            yield sql.NULL if kind is None else sql.number(kind)
            yield sql.NULL if number is None else sql.double(number)
