"""VALUES in SQL (SPARQL 1.1 Query section 18.2.4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.terms import facets
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.relation import Relation, quote, unbound_column
from spark_backend.compiler.sql.values import number_sql


def compile_values(
    context: Context, variables: tuple[a.Variable, ...], rows: Sequence[Sequence[str | None]], scope: PatternScope
) -> Relation:
    unit = context.unit(scope)
    names = context.names.all_columns(variables)
    if not variables or not rows:
        columns = {**unit.columns, **{name: unbound_column(name) for name in names}}
        if len(rows) > 1:  # rows without a variable are empty solutions, each one counts
            unit = replace(unit, tables=(*unit.tables, f"range({len(rows)}) {context.names.fresh('w')}"))
        return replace(unit, columns=columns, variables=variables, conditions=() if rows else ("FALSE",))
    lines = ", ".join(f"({', '.join(_cells(context, variables, row))})" for row in rows)
    alias = context.names.fresh("w")
    certain = frozenset(
        variable for place, variable in enumerate(variables) if all(row[place] is not None for row in rows)
    )
    return Relation(
        {**unit.columns, **{name: f"{alias}.{name}" for name in names}},
        (*unit.tables, f"(VALUES {lines}) {alias}({', '.join(names)})"),
        variables,
        certain,
    )


def _cells(context: Context, variables: Sequence[a.Variable], row: Sequence[str | None]) -> Iterable[str]:
    for variable, term in zip(variables, row, strict=True):
        yield "NULL::VARCHAR" if term is None else quote(term)
        if variable in context.names.faceted:
            kind, number = (None, None) if term is None else facets(term)
            yield "NULL::UTINYINT" if kind is None else f"{int(kind)}::UTINYINT"
            yield number_sql(number)
