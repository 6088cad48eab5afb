"""EXISTS in SQL (SPARQL 1.1 Query sections 8.1 and 18.6, substitute): as a join where it may be, else row by row."""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import joins_alike
from spark_backend.compiler.algebra.operands import conjunction
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import minus, semi_join
from spark_backend.compiler.sql.patterns.outer import Outer
from spark_backend.compiler.sql.relation import Relation, facet_type
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
    return context.filter(context.seeing(relation, a.expression_variables(condition), scope), condition)


def _keep_existing(
    context: Context, relation: Relation, exists: a.Pattern, scope: PatternScope, *, exist: bool
) -> Relation:
    relation = context.seeing(relation, a.mentioned_variables(exists), scope)
    if joins_alike(exists, frozenset(relation.variables)):
        one, other = context.alike(relation, context.compile(exists, scope))
        return semi_join(one, other, scope.keys, context.names, exist=exist)
    relation, found = _ask(context, relation, exists, scope)
    return relation.where(found if exist else f"NOT {found}")


def mark_existence(
    context: Context, relation: Relation, variable: a.Variable, exists: a.Pattern, scope: PatternScope
) -> Relation:
    relation, found = _ask(context, context.seeing(relation, a.mentioned_variables(exists), scope), exists, scope)
    columns = dict(zip(context.names.columns(variable), columns_of(of_truth(found)), strict=False))
    columns = {name: f"({column})::{facet_type(name)}" for name, column in columns.items()}
    return replace(
        relation,
        columns={**relation.columns, **columns},
        variables=(*relation.variables, variable),
        certain=relation.certain | {variable},
    ).within(context.names.fresh("q"))


def _ask(context: Context, relation: Relation, exists: a.Pattern, scope: PatternScope) -> tuple[Relation, str]:
    """A relation, and whether the pattern has a solution with the terms of each of its solutions (18.6)."""
    names = context.names
    if any(isinstance(node, a.Parameter) for node in a.nodes(exists)):
        relation = context.of_members(relation)
    relation = relation.within(names.fresh("q"))
    row, table = names.fresh("d"), names.fresh("w")
    shared = tuple(variable for variable in relation.variables if variable in a.mentioned_variables(exists))
    columns = (*relation.keys(scope.keys), row)
    outer = Outer(table, row, columns, shared, relation.certain & frozenset(shared))
    numbered = replace(relation, columns={**relation.columns, row: "row_number() OVER ()"})
    if joins_alike(exists, frozenset(relation.variables)):
        inner = outer.with_solutions(context.compile(exists, scope), names)
    else:
        inner = context.compile(exists, PatternScope(scope.graph, (*scope.keys, row), outer))
    inner = inner.within(names.fresh("q"))
    found = replace(inner, columns={row: inner.columns[row]})
    listed = ", ".join(f"{table}.{name}" for name in relation.columns)
    flag, alias = names.fresh("f"), names.fresh("q")
    asked = f"SELECT {listed}, {table}.{row} IN ({found.sql}) AS {flag} FROM {table}"
    sql = f"(WITH {table} AS MATERIALIZED ({numbered.sql}) {asked}) {alias}"
    told = {name: f"{alias}.{name}" for name in relation.columns}
    return replace(relation, columns=told, tables=(sql,)), f"{alias}.{flag}"


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
            columns[name] = other if one is None else f"COALESCE({one}, {other})"
    table_sql = f"{first.tables[0]} LEFT JOIN {passed.tables[0]} ON {passed.columns[row]} = {first.columns[row]}"
    numbered = replace(left, columns={**left.columns, row: "row_number() OVER ()"}).sql
    joined = Relation(columns, (table_sql,), variables, left.certain)
    alias = names.fresh("q")
    told = {name: f"{alias}.{name}" for name in columns}
    return replace(joined, columns=told, tables=(f"(WITH {table} AS MATERIALIZED ({numbered}) {joined.sql}) {alias}",))


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
    bound = {column: f"{rows}.{names.column(variable)}" for variable, column in outside.items()}
    told = replace(
        left,
        columns={**left.columns, **bound},
        tables=(*left.tables, f"{outer.table} {rows}"),
        conditions=(*left.conditions, f"{rows}.{outer.row} = {left.columns[outer.row]}"),
        order=(),
    )
    result = minus(told, right, scope.keys, names, always, outside)
    return replace(result, columns={name: result.columns[name] for name in left.columns})
