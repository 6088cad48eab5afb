"""Static patterns as tables of their own, which the tasks keep as long as the store's triples are the same."""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.partial_sums import PartialSums
from spark_backend.compiler.sql.leaf_sources import Sources
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import join, join_across_keys
from spark_backend.compiler.sql.relation import Relation, columns_of_table
from spark_backend.compiler.sql.tree.expressions import TRUE
from spark_backend.compiler.sql.tree.statements import Table


def compile_static(context: Context, pattern: a.Static, scope: PatternScope) -> Relation:
    """The solutions at each instant: the same ones."""
    if not _is_apart(scope):
        # Its triple patterns are matched in the store, also where one is written as another is that a window is asked.
        apart = replace(context, dataset=replace(context.dataset, sources=Sources()))
        return apart.compile(pattern.pattern, scope)
    return join_across_keys(context.unit(scope), _table(context, pattern, scope), context.names)


def compile_join(context: Context, pattern: a.Join, scope: PatternScope) -> Relation:
    """Join(l, r), without the instants where one of them is static: it goes with whatever the other's are."""
    left, right = pattern.left, pattern.right
    if _is_apart(scope) and isinstance(right, a.Static):
        return join_across_keys(context.compile(left, scope), _table(context, right, scope), context.names)
    if _is_apart(scope) and isinstance(left, a.Static):
        return join_across_keys(context.compile(right, scope), _table(context, left, scope), context.names)
    return join(context.compile(left, scope), context.compile(right, scope), scope.keys, context.names)


def _is_apart(scope: PatternScope) -> bool:
    """Whether what is static is the same for all that is evaluated: not inside of EXISTS, nor graph by graph."""
    return scope.outer is None and scope.keys == ("instant",)


def _table(context: Context, pattern: a.Static, scope: PatternScope) -> Relation:
    names = context.names
    once = replace(context, dataset=context.dataset.once(), sums=PartialSums())
    found = once.compile(pattern.pattern, PatternScope(scope.graph))
    if found.distinct:
        found = found.within(names.fresh("q"))
    listed = names.all_columns(found.variables)
    columns = {name: found.columns[name] for name in listed} or {"there": TRUE}
    bound = {variable: names.column(variable) for variable in found.variables if variable in found.certain}
    table = context.dataset.static_join(pattern, scope.graph, replace(found, columns=columns).select, bound)
    alias = names.fresh("j")
    return Relation(columns_of_table(alias, listed), (Table(table, alias),), found.variables, found.certain)
