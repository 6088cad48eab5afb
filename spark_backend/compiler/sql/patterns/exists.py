"""EXISTS in SQL (SPARQL 1.1 Query sections 8.1 and 18.6, substitute): as a join where it may be, else row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import joins_alike
from spark_backend.compiler.algebra.operands import conjunction
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import beside, minus, same_key, semi_join
from spark_backend.compiler.sql.patterns.outer import Outer
from spark_backend.compiler.sql.relation import Names, Relation, columns_of_table, facet_type
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, RowNumber
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.statements import (
    InStatement,
    Select,
    Subselect,
    Table,
    TableName,
    common,
    unnamed,
)
from spark_backend.compiler.sql.values import columns_of, of_truth


def filter_solutions(
    context: Context, inner: a.Pattern, conditions: list[a.Expression], scope: PatternScope
) -> Relation:
    """Filters on EXISTS alone are joins; the others come before."""
    if isinstance(inner, a.MarkJoin):
        negated = a.Call("!", (inner.variable,))
        others = [condition for condition in conditions if condition not in (inner.variable, negated)]
        if len(others) + 1 == len(conditions) and not any(
            inner.variable in a.mentioned_variables(one) for one in others
        ):
            relation = filter_solutions(context, inner.pattern, others, scope)
            return _keep_existing(context, relation, inner.exists, scope, exist=negated not in conditions)
    relation = context.compile(inner, scope)
    if not conditions:
        return relation
    condition = conjunction(conditions)
    relation = context.sequence(relation, a.expression_variables(condition), scope)
    if keys := [key for one in conditions if (key := same_key(relation, one, context.names)) is not None]:
        relation = relation.where(*keys)
    return context.filter(relation, condition)


def _keep_existing(
    context: Context, relation: Relation, exists: a.Pattern, scope: PatternScope, *, exist: bool
) -> Relation:
    relation = context.sequence(relation, a.mentioned_variables(exists), scope)
    if joins_alike(exists, frozenset(relation.variables)):
        one, other = context.alike(relation, context.compile(exists, scope))
        return semi_join(one, other, scope.keys, context.names, exist=exist)
    relation, found = _ask(context, relation, exists, scope)
    return relation.where(found if exist else sql.Prefix("NOT ", found))


def mark_existence(
    context: Context, relation: Relation, variable: a.Variable, exists: a.Pattern, scope: PatternScope
) -> Relation:
    relation = context.sequence(relation, a.mentioned_variables(exists), scope)
    relation, found = _ask(context, relation, exists, scope)
    columns = dict(zip(context.names.columns(variable), columns_of(of_truth(found)), strict=False))
    columns = {name: sql.Cast(sql.Parentheses(column), facet_type(name)) for name, column in columns.items()}
    return replace(
        relation,
        columns={**relation.columns, **columns},
        variables=(*relation.variables, variable),
        certain=relation.certain | {variable},
    ).within(context.names.fresh("q"))


def _ask(context: Context, relation: Relation, exists: a.Pattern, scope: PatternScope) -> tuple[Relation, Expression]:
    """A relation, and whether the pattern has a solution with the terms of each of its solutions (18.6)."""
    names = context.names
    if any(isinstance(node, a.Parameter) for node in a.nodes(exists)):
        relation = context.of_members(relation)
    shared = tuple(variable for variable in relation.variables if variable in a.mentioned_variables(exists))
    asked_alike = context.compile(exists, scope) if joins_alike(exists, frozenset(relation.variables)) else None
    if asked_alike is not None and (relation.certain & asked_alike.certain).issuperset(shared):
        one, other = context.alike(relation, asked_alike)
        return _look_up(one, other, (*other.keys(scope.keys), *map(names.column, shared)), names)
    relation = relation.within(names.fresh("q"))
    row, table = names.fresh("d"), names.fresh("w")
    columns = (*relation.keys(scope.keys), row)
    outer = Outer(table, row, columns, shared, relation.certain & frozenset(shared))
    numbered = replace(relation, columns={**relation.columns, row: RowNumber()})
    if asked_alike is not None:
        inner = outer.with_solutions(asked_alike, names)
    else:
        inner = context.compile(exists, PatternScope(scope.graph, (*scope.keys, row), outer))
    inner = inner.within(names.fresh("q"))
    found = replace(inner, columns={row: inner.columns[row]})
    listed = unnamed(*columns_of_table(table, relation.columns).values())
    flag, alias = names.fresh("f"), names.fresh("q")
    asked = (*listed, (flag, InStatement((Column(row, table),), found.select)))
    statement = common(table, numbered.select, Select(asked, (Table(TableName(table)),)))
    told = columns_of_table(alias, relation.columns)
    return replace(relation, columns=told, tables=(Table(Subselect(statement), alias),)), Column(flag, alias)


def _look_up(relation: Relation, asked: Relation, shared: Sequence[str], names: Names) -> tuple[Relation, Expression]:
    """A relation, and whether another one has what it has in these columns, which are bound in both."""
    relation, asked = names.open(relation), names.open(asked)
    found = replace(asked, columns={column: asked.columns[column] for column in shared}, order=())
    looked = InStatement(tuple(relation.columns[column] for column in shared), found.select)
    flag = names.fresh("f")
    told = replace(relation, columns={**relation.columns, flag: looked}).within(names.fresh("q"))
    return replace(told, columns={name: told.columns[name] for name in relation.columns}), told.columns[flag]


def left_join_asking(context: Context, pattern: a.LeftJoin, scope: PatternScope) -> Relation:
    """LeftJoin with EXISTS in its condition: the merges that pass, by the row of the left side they are of."""
    names = context.names
    left, right = context.alike(context.compile(pattern.left, scope), context.compile(pattern.right, scope))
    read = frozenset(node for node in a.nodes((pattern.condition, pattern.asked)) if isinstance(node, a.Variable))
    left = context.seeing(left, read.difference(right.variables), scope)
    if any(isinstance(node, a.Parameter) for node in a.nodes(pattern.asked)):
        left = context.of_members(left)
    left = left.within(names.fresh("q"))
    row, table = names.fresh("d"), names.fresh("w")
    rows = Outer(table, row, (*left.keys(scope.keys), row), left.variables, left.certain)
    merged = rows.with_solutions(right, names)
    for variable, exists in pattern.asked:
        merged = mark_existence(context, merged, variable, exists, scope)
    assert pattern.condition is not None
    passed = context.filter(merged, pattern.condition).within(names.fresh("q"))
    first = rows.relation(names)
    columns = {key: first.columns[key] for key in rows.columns if key != row}
    variables = tuple(dict.fromkeys((*left.variables, *right.variables)))
    for variable in variables:
        for name in names.columns(variable):
            one, other = first.columns.get(name), passed.columns[name]
            columns[name] = other if one is None else sql.call("COALESCE", one, other)
    merges = beside(first, "LEFT", passed, [sql.equal(passed.columns[row], first.columns[row])])
    numbered = replace(left, columns={**left.columns, row: RowNumber()})
    joined = Relation(columns, (merges,), variables, left.certain)
    alias = names.fresh("q")
    statement = common(table, numbered.select, joined.select)
    return replace(joined, columns=columns_of_table(alias, columns), tables=(Table(Subselect(statement), alias),))


def minus_in_scope(context: Context, left: Relation, right: Relation, scope: PatternScope) -> Relation:
    """Minus(l, r), where terms may be substituted: a variable that stands for one is not shared (18.6)."""
    outer, names = scope.outer, context.names
    if outer is None:
        return minus(left, right, scope.keys, names)
    shared = [one for one in outer.variables if one in left.variables and one in right.variables]
    perhaps = [variable for variable in shared if variable not in outer.certain]
    always = frozenset(outer.variables).difference(perhaps)
    if not perhaps:
        return minus(left, right, scope.keys, names, always)
    # Which of them are bound differs from row to row of the solutions outside.
    left, rows = names.open(left), names.fresh("o")
    outside = {variable: names.fresh("b") for variable in perhaps}
    bound = {column: Column(names.column(variable), rows) for variable, column in outside.items()}
    told = replace(
        left,
        columns={**left.columns, **bound},
        tables=(*left.tables, Table(TableName(outer.table), rows)),
        conditions=(*left.conditions, sql.equal(Column(outer.row, rows), left.columns[outer.row])),
        order=(),
    )
    result = minus(told, right, scope.keys, names, always, outside)
    return replace(result, columns={name: result.columns[name] for name in left.columns})
