"""What services gave, in SQL: a table of it at each instant, made where it is evaluated (``federation.records``)."""

from __future__ import annotations

from protocol.language import algebra as a
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.relation import Relation, columns_of_table
from spark_backend.compiler.sql.tree.expressions import Column, equal
from spark_backend.compiler.sql.tree.placeholders import ServiceRows
from spark_backend.compiler.sql.tree.statements import Table

FACETS = ("", "_k", "_n")
"""What is behind the name of a variable's column for those of its term, kind and number."""


def service_column(place: int) -> str:
    """The column of a service's variable, by its place among them."""
    return f"c{place}"


def compile_service(context: Context, pattern: a.ServiceSolutions, scope: PatternScope) -> Relation:
    """The solutions of a service at each instant; inside GRAPH ?g for each of the graphs."""
    alias = context.names.fresh("e")
    columns = {
        name: Column(f"{service_column(place)}{facet}", alias)
        for place, variable in enumerate(pattern.variables)
        for name, facet in zip(context.names.columns(variable), FACETS, strict=False)
    }
    rows = Table(ServiceRows(pattern.number), alias)
    if scope.keys == ("instant",):
        keyed = {**columns_of_table(alias, scope.keys), **columns}
        return Relation(keyed, (rows,), pattern.variables, frozenset(pattern.certain))
    unit = context.unit(scope)
    at_its_instant = equal(Column("instant", alias), unit.columns["instant"])
    return Relation(
        {**unit.columns, **columns},
        (*unit.tables, rows),
        pattern.variables,
        frozenset(pattern.certain),
        (*unit.conditions, at_its_instant),
    )
