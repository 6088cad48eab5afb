"""Static patterns as tables of their own, which the tasks keep as long as the store's triples are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spark_backend.compiler.algebra import nodes as a
from spark_backend.compiler.algebra.partial_sums import UnfinishedSums
from spark_backend.compiler.sql.patterns.context import Scope
from spark_backend.compiler.sql.patterns.joins import beside, join
from spark_backend.compiler.sql.relation import Relation

if TYPE_CHECKING:
    from spark_backend.compiler.sql.patterns.patterns import PatternCompiler


def static(compiler: PatternCompiler, pattern: a.Static, scope: Scope) -> Relation:
    """The solutions at each instant: the same ones."""
    if not _is_apart(scope):
        return compiler.compile(pattern.pattern, scope)
    return beside(compiler.unit(scope), _table(compiler, pattern, scope), compiler.names)


def joined(compiler: PatternCompiler, pattern: a.Join, scope: Scope) -> Relation:
    """Join(l, r), without the instants where one of them is static: it goes with whatever the other's are."""
    left, right = pattern.left, pattern.right
    if _is_apart(scope) and isinstance(right, a.Static):
        return beside(compiler.compile(left, scope), _table(compiler, right, scope), compiler.names)
    if _is_apart(scope) and isinstance(left, a.Static):
        return beside(compiler.compile(right, scope), _table(compiler, left, scope), compiler.names)
    return join(compiler.compile(left, scope), compiler.compile(right, scope), scope.keys, compiler.names)


def _is_apart(scope: Scope) -> bool:
    """Whether what is static is the same for all that is evaluated: not inside of EXISTS, nor graph by graph."""
    return scope.outer is None and scope.keys == ("instant",)


def _table(compiler: PatternCompiler, pattern: a.Static, scope: Scope) -> Relation:
    names = compiler.names
    once = replace(compiler, dataset=compiler.dataset.once(), unfinished=UnfinishedSums())
    found = once.compile(pattern.pattern, Scope(scope.graph))
    if found.distinct:
        found = found.within(names.fresh("q"))
    listed = names.all_columns(found.variables)
    columns = {name: found.columns[name] for name in listed} or {"there": "TRUE"}
    table, alias = compiler.dataset.joined(replace(found, columns=columns).sql), names.fresh("j")
    return Relation({name: f"{alias}.{name}" for name in listed}, (f"{table} {alias}",), found.variables, found.certain)
