"""Graph patterns in SQL, operator by operator (SPARQL 1.1 Query sections 18.5 and 18.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.narrowing import Operand, Place
from spark_backend.compiler.algebra.operands import conjuncts, union_operands
from spark_backend.compiler.algebra.partial_sums import PartialSums
from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.sql.expressions.draws import with_draws
from spark_backend.compiler.sql.expressions.expressions import (
    ExpressionCompiler,
    Prelude,
    compute,
    value_of,
)
from spark_backend.compiler.sql.patterns import modifiers
from spark_backend.compiler.sql.patterns.aggregation import aggregate_groups
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.exists import (
    filter_solutions,
    left_join_asking,
    mark_existence,
    minus_in_scope,
)
from spark_backend.compiler.sql.patterns.grouping import group
from spark_backend.compiler.sql.patterns.inline_data import compile_values
from spark_backend.compiler.sql.patterns.intervals import compile_monotone
from spark_backend.compiler.sql.patterns.joins import Condition, left_join, union
from spark_backend.compiler.sql.patterns.named_graphs import compile_graph
from spark_backend.compiler.sql.patterns.paths import compile_path, follow_path
from spark_backend.compiler.sql.patterns.services import compile_service
from spark_backend.compiler.sql.patterns.static_tables import compile_join, compile_static
from spark_backend.compiler.sql.patterns.triples import match_triples, row_conditions
from spark_backend.compiler.sql.relation import MEMBER, Columns, Names, Relation, facet_type, unbound_column
from spark_backend.compiler.sql.sources import RowCondition
from spark_backend.compiler.sql.tree.expressions import Cast, IsBound, IsNull, Parentheses, call, equal, some
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.placeholders import Parameter
from spark_backend.compiler.sql.values import columns_of


def compile_pattern(
    pattern: a.Pattern, dataset: QueryDataset, names: Names, prelude: Prelude, sums: PartialSums
) -> Relation:
    """The relation of a query's pattern, with the key MEMBER."""
    context = Context(dataset, names, prelude, _compile, sums)
    return context.of_members(context.compile(pattern, PatternScope()))


def compile_conditions(
    operands: Mapping[Place, Operand], dataset: QueryDataset, names: Names, prelude: Prelude
) -> dict[Place, tuple[RowCondition, ...]]:
    """What is true of the rows that triple patterns are matched in, of those of which something is."""
    context = Context(dataset, names, prelude, _compile)
    return {
        place: row_conditions(context, leaf, operand.conditions)
        for place, operand in operands.items()
        if isinstance(leaf := operand.leaf, a.TriplePattern) and operand.conditions
    }


def compile_at_all_instants(pattern: a.Pattern, dataset: QueryDataset, names: Names, prelude: Prelude) -> Relation:
    """The relation of a pattern that has the same solutions at all instants, for all queries."""
    return _compile(pattern, Context(dataset.once(), names, prelude, _compile), PatternScope())


def _compile(pattern: a.Pattern, context: Context, scope: PatternScope) -> Relation:
    keys, names = scope.keys, context.names
    match pattern:
        case a.BGP(triples):
            return context.inside(match_triples(context, triples, scope.leaf), scope)
        case a.Closure():
            return context.inside(compile_path(context, pattern, scope), scope)
        case a.Join():
            return compile_join(context, pattern, scope)
        case a.Static():
            return compile_static(context, pattern, scope)
        case a.Monotone():
            return compile_monotone(context, pattern, scope)
        case a.PathJoin():
            return follow_path(context, pattern, scope)
        case a.LeftJoin() if pattern.asked:
            return left_join_asking(context, pattern, scope)
        case a.LeftJoin(left, right, condition):
            one, other = context.alike(context.compile(left, scope), context.compile(right, scope))
            if condition is not None:
                one = context.seeing(one, a.expression_variables(condition) - frozenset(other.variables), scope)
            return left_join(one, other, _condition(context, condition, one, other), keys, names)
        case a.Union():
            return union(
                context.alike(*(context.compile(part, scope) for part in union_operands(pattern))), keys, names
            )
        case a.Minus(left, right):
            one, other = context.alike(context.compile(left, scope), context.compile(right, scope))
            return minus_in_scope(context, one, other, scope)
        case a.Filter(inner, condition):
            return filter_solutions(context, inner, conjuncts(condition), scope)
        case a.MarkJoin(inner, variable, exists):
            return mark_existence(context, context.compile(inner, scope), variable, exists, scope)
        case a.Draw(inner, variable, identity):
            assert identity is not None, "lifted"
            relation, members = context.members(context.compile(inner, scope))
            drawn_from = Parameter(members, identity.number)
            return with_draws(relation, variable, drawn_from, ("instant", MEMBER), keys[1:], names)
        case a.Extend(inner, variable, expression) if a.is_unfolded(expression):
            return _bind_part(context, context.compile(inner, scope), variable, expression)
        case a.Extend(inner, variable, expression):
            extended = context.sequence(context.compile(inner, scope), a.expression_variables(expression), scope)
            return _extend(context, extended, variable, expression)
        case a.Graph(name, inner, windows_only):
            return compile_graph(context, name, inner, windows_only, scope)
        case a.Service():
            raise AssertionError("taken out before (spark_backend.compiler.services)")
        case a.ServiceSolutions():
            return context.inside(compile_service(context, pattern, scope.leaf), scope)
        case a.Values():
            return context.inside(compile_values(context, pattern, scope.leaf), scope)
        case a.Group(inner) | a.Aggregation(inner):
            relation, unit = context.compile(inner, scope), context.unit(scope)
            if MEMBER in relation.columns:
                unit = context.of_members(unit).within(names.fresh("q"))
            if isinstance(pattern, a.Group):
                return group(pattern, relation, unit, names, context.prelude, context.sums.of(pattern))
            return aggregate_groups(pattern, relation, unit, names, context.prelude)
        case a.OrderBy(inner, conditions):
            return modifiers.order_by(context.compile(inner, scope), conditions, keys, names, context.prelude)
        case a.Project(inner, variables):
            if scope.outer is not None:
                scope = replace(scope, outer=scope.outer.seeing(variables))
            return modifiers.project(context.compile(inner, scope), variables, keys, names)
        case a.Distinct(inner, latest):
            return modifiers.distinct(context.compile(inner, scope), keys, names, latest)
        case a.Slice(inner, offset, limit):
            return modifiers.cut(context.compile(inner, scope), offset, limit, keys, names, context.dataset.alone)


def _condition(context: Context, condition: a.Expression | None, left: Relation, right: Relation) -> Condition | None:
    """The condition of a LeftJoin over merged solutions; prelude calls stay in line in it."""
    if condition is None:
        return None
    variables = tuple(dict.fromkeys((*left.variables, *right.variables)))

    def holds(columns: Columns) -> Expression:
        found = {
            variable: value_of(variable, [columns[name] for name in context.names.columns(variable)])
            for variable in variables
        }
        return ExpressionCompiler(found, context.prelude, columns["instant"]).holds(condition)

    return holds


def _bind_part(context: Context, relation: Relation, variable: a.Variable, expression: a.Expression) -> Relation:
    """The solutions in which the triple term has a part, which is what the variable is bound to (``a.is_unfolded``)."""
    names = context.names.columns(variable)
    is_known = variable in relation.variables  # outside of EXISTS
    relation, parts = compute(
        relation, context.names, context.prelude, lambda compiler: columns_of(compiler.value(expression))[: len(names)]
    )
    columns: dict[str, Expression] = {
        name: Cast(Parentheses(part), facet_type(name)) for name, part in zip(names, parts, strict=True)
    }
    condition: Expression = IsBound(Parentheses(parts[0]))
    if is_known:
        there = {name: relation.columns[name] for name in names}
        condition = equal(there[names[0]], Parentheses(parts[0]))
        if variable not in relation.certain:
            condition = some([IsNull(there[names[0]]), condition])
            there = {name: call("COALESCE", column, columns[name]) for name, column in there.items()}
        columns = there
    found = replace(
        relation,
        columns={**relation.columns, **columns},
        variables=tuple(dict.fromkeys((*relation.variables, variable))),
        certain=relation.certain | {variable},
    )
    return found.where(Parentheses(condition))


def _extend(context: Context, relation: Relation, variable: a.Variable, expression: a.Expression) -> Relation:
    names = context.names.columns(variable)
    if isinstance(expression, a.Variable) and not relation.distinct:
        sources: Sequence[str] = context.names.columns(expression)
        written: Sequence[Expression] = [
            relation.columns.get(source, unbound_column(name)) for source, name in zip(sources, names, strict=False)
        ]
        certain = expression in relation.certain
        if expression in relation.parts:
            relation = replace(relation, parts=relation.parts | {variable})
    else:
        relation, written = compute(
            relation,
            context.names,
            context.prelude,
            lambda compiler: columns_of(compiler.value(expression))[: len(names)],
            read=a.expression_variables(expression),
        )
        written = [Cast(Parentheses(part), facet_type(name)) for part, name in zip(written, names, strict=True)]
        certain = isinstance(expression, a.Constant)
    kept = {name: column for name, column in relation.columns.items() if name not in names}
    return replace(
        relation,
        columns={**kept, **dict(zip(names, written, strict=True))},
        variables=(*(v for v in relation.variables if v != variable), variable),
        certain=relation.certain - {variable} | ({variable} if certain else frozenset()),
    )
