"""VALUES in SQL (SPARQL 1.1 Query section 18.2.4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.terms import comparable_facets
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.relation import Relation, columns_of_table, unbound_column
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.statements import InlineRows, Select, Subselect, Table, unnamed
from spark_backend.compiler.sql.values import number_of


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
    inline = Subselect(Select(unnamed(sql.STAR), (Table(lines, "x", tuple(names)),)))
    places = {variable: context.names.column(variable) for variable in variables}
    table = context.dataset.computed(pattern, scope.graph, inline, places, at_instants=False)
    return Relation(
        {**unit.columns, **columns_of_table(alias, names)},
        (*unit.tables, Table(lines, alias, tuple(names)) if table is inline else Table(table, alias)),
        variables,
        certain,
    )


def _cells(context: Context, variables: Sequence[a.Variable], row: Sequence[str | None]) -> Iterable[Expression]:
    for variable, term in zip(variables, row, strict=True):
        yield sql.null("VARCHAR") if term is None else sql.Text(term)
        if variable in context.names.faceted:
            kind, number = (None, None) if term is None else comparable_facets(term)
            yield sql.Cast(sql.NULL if kind is None else sql.number(kind), "UTINYINT")
            yield number_of(number)
