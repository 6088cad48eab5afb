"""Graph patterns in SQL, operator by operator (SPARQL 1.1 Query sections 18.5 and 18.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spark_backend.compiler.algebra import nodes as a
from spark_backend.compiler.algebra.partial_sums import UnfinishedSums
from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.sql.expressions.draws import with_draws
from spark_backend.compiler.sql.expressions.expressions import (
    ExpressionCompiler,
    Prelude,
    computed,
    parameter_columns,
    value_of,
)
from spark_backend.compiler.sql.patterns import modifiers
from spark_backend.compiler.sql.patterns.aggregation import aggregated
from spark_backend.compiler.sql.patterns.context import Scope
from spark_backend.compiler.sql.patterns.exists import asking_join, conjuncts, filtered, marked, minus_inside
from spark_backend.compiler.sql.patterns.grouping import group
from spark_backend.compiler.sql.patterns.inline_data import inline_data
from spark_backend.compiler.sql.patterns.joins import Condition, left_join, union
from spark_backend.compiler.sql.patterns.named_graphs import in_graph
from spark_backend.compiler.sql.patterns.paths import followed, paths
from spark_backend.compiler.sql.patterns.static_tables import joined, static
from spark_backend.compiler.sql.patterns.triples import matched
from spark_backend.compiler.sql.relation import MEMBER, Names, Relation, facet_type, unbound_column
from spark_backend.compiler.sql.values import parts


@dataclass(frozen=True)
class PatternCompiler:
    """Compiles a pattern to a Relation.

    ``unfinished`` sums are left in parts (see ``CompiledAggregate.sum_parts``).
    """

    dataset: QueryDataset
    names: Names
    prelude: Prelude
    unfinished: UnfinishedSums = field(default_factory=UnfinishedSums)

    def compile(self, pattern: a.Pattern, scope: Scope) -> Relation:
        """The relation of a pattern in a scope."""
        keys, names = scope.keys, self.names
        match pattern:
            case a.BGP(triples):
                return self.inside(matched(self, triples, scope.leaf), scope)
            case a.Closure():
                return self.inside(paths(self, pattern, scope), scope)
            case a.Join():
                return joined(self, pattern, scope)
            case a.Static():
                return static(self, pattern, scope)
            case a.Followed():
                return followed(self, pattern, scope)
            case a.LeftJoin() if pattern.asked:
                return asking_join(self, pattern, scope)
            case a.LeftJoin(left, right, condition):
                one, other = self.alike(self.compile(left, scope), self.compile(right, scope))
                if condition is not None:
                    one = self.seeing(one, a.expression_variables(condition) - frozenset(other.variables), scope)
                return left_join(one, other, self._condition(condition, one, other), keys, names)
            case a.Union():
                return union(self.alike(*(self.compile(part, scope) for part in _alternatives(pattern))), keys, names)
            case a.Minus(left, right):
                one, other = self.alike(self.compile(left, scope), self.compile(right, scope))
                return minus_inside(self, one, other, scope)
            case a.Filter(inner, condition):
                return filtered(self, inner, conjuncts(condition), scope)
            case a.Marked(inner, variable, exists):
                return marked(self, self.compile(inner, scope), variable, exists, scope)
            case a.Drawn(inner, variable, identity):
                assert identity is not None, "lifted"
                relation, members = self.members(self.compile(inner, scope))
                drawn_from = f"{members}.{self.dataset.parameter(parameter_columns(identity)[0])}"
                return with_draws(relation, variable, drawn_from, ("instant", MEMBER), keys[1:], names)
            case a.Extend(inner, variable, expression):
                extended = self.seeing(self.compile(inner, scope), a.expression_variables(expression), scope)
                return self._extend(extended, variable, expression)
            case a.Graph(name, inner, windows_only):
                return in_graph(self, name, inner, windows_only, scope)
            case a.Values(variables, rows):
                return self.inside(inline_data(self, variables, rows, scope.leaf), scope)
            case a.Group(inner) | a.Aggregated(inner):
                relation, unit = self.compile(inner, scope), self.unit(scope)
                if MEMBER in relation.columns:
                    unit = self.of_members(unit).within(names.fresh("q"))
                if isinstance(pattern, a.Group):
                    return group(pattern, relation, unit, names, self.prelude, self.unfinished.of(pattern))
                return aggregated(pattern, relation, unit, names, self.prelude)
            case a.OrderBy(inner, conditions):
                return modifiers.order_by(self.compile(inner, scope), conditions, keys, names, self.prelude)
            case a.Project(inner, variables):
                if scope.outer is not None:
                    scope = replace(scope, outer=scope.outer.seeing(variables))
                return modifiers.project(self.compile(inner, scope), variables, keys, names)
            case a.Distinct(inner, latest):
                return modifiers.distinct(self.compile(inner, scope), keys, names, latest)
            case a.Slice(inner, offset, limit):
                return modifiers.cut(self.compile(inner, scope), offset, limit, keys, names, self.dataset.alone)

    def of_members(self, relation: Relation) -> Relation:
        """The relation with the key MEMBER: as it is for each of the queries that are evaluated together."""
        return relation if MEMBER in relation.columns else self.members(relation)[0]

    def alike(self, *relations: Relation) -> list[Relation]:
        """The relations, all of them with the key MEMBER if one has it."""
        if any(MEMBER in relation.columns for relation in relations):
            return [self.of_members(relation) for relation in relations]
        return list(relations)

    def members(self, relation: Relation) -> tuple[Relation, str]:
        """An open relation with the key MEMBER, and the alias of the members' table in it."""
        relation = self.names.opened(relation)
        key = relation.columns.get(MEMBER)
        known = None if key is None else key.partition(".")[0]
        if known is not None and f"{self.dataset.members} {known}" in relation.tables:
            return relation, known
        alias = self.names.fresh("m")
        columns, conditions = dict(relation.columns), relation.conditions
        if key is None:
            columns[MEMBER] = f"{alias}.{MEMBER}"
        else:
            conditions = (*conditions, f"{alias}.{MEMBER} = {key}")
        tables = (*relation.tables, f"{self.dataset.members} {alias}")
        return replace(relation, columns=columns, tables=tables, conditions=conditions), alias

    def unit(self, scope: Scope) -> Relation:
        """One empty solution for each key."""
        alias = self.names.fresh("u")
        table = self.dataset.instants if scope.graph.column is None else f"({self.dataset.graph_names(scope.graph)})"
        unit = Relation({key: f"{alias}.{key}" for key in scope.leaf.keys}, (f"{table} {alias}",))
        if scope.outer is None:
            return unit
        return scope.outer.seeing(()).with_solutions(unit, self.names).within(self.names.fresh("q"))

    def inside(self, relation: Relation, scope: Scope) -> Relation:
        """What is matched in the active graph, inside of EXISTS for each of the solutions it is asked of."""
        return relation if scope.outer is None else scope.outer.with_solutions(relation, self.names)

    def seeing(self, relation: Relation, read: frozenset[a.Variable], scope: Scope) -> Relation:
        """The relation with the variables outside of EXISTS that are read and that a sub-select has hidden (18.6)."""
        if scope.outer is None:
            return relation
        hidden = tuple(v for v in scope.outer.variables if v in read and v not in relation.variables)
        return scope.outer.seeing(hidden).with_solutions(relation, self.names) if hidden else relation

    def filter(self, relation: Relation, condition: a.Expression) -> Relation:
        """The solutions of which the condition is true."""
        parameters = sorted(a.expression_parameters(condition), key=lambda parameter: parameter.number)
        read = [column for parameter in parameters for column in parameter_columns(parameter)]
        if read:
            relation, members = self.members(relation)
            given = {column: f"{members}.{self.dataset.parameter(column)}" for column in read}
            relation = replace(relation, columns={**relation.columns, **given})
        relation, (truth,) = computed(
            relation, self.names, self.prelude, lambda compiler: [compiler.truth(condition)], parameters
        )
        kept = {column: sql for column, sql in relation.columns.items() if column not in read}
        return replace(relation, columns=kept).where(truth)

    def _condition(self, condition: a.Expression | None, left: Relation, right: Relation) -> Condition | None:
        """The condition of a LeftJoin over merged solutions; prelude calls stay in line in it."""
        if condition is None:
            return None
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))

        def written(columns: Mapping[str, str]) -> str:
            found = {
                variable: value_of(variable, [columns[name] for name in self.names.columns(variable)])
                for variable in variables
            }
            return ExpressionCompiler(found, self.prelude, columns["instant"]).truth(condition)

        return written

    def _extend(self, relation: Relation, variable: a.Variable, expression: a.Expression) -> Relation:
        names = self.names.columns(variable)
        if isinstance(expression, a.Variable) and not relation.distinct:
            sources: Sequence[str] = self.names.columns(expression)
            written: Sequence[str] = [
                relation.columns.get(source, unbound_column(name)) for source, name in zip(sources, names, strict=False)
            ]
            certain = expression in relation.certain
            if expression in relation.parts:
                relation = replace(relation, parts=relation.parts | {variable})
        else:
            relation, written = computed(
                relation,
                self.names,
                self.prelude,
                lambda compiler: parts(compiler.value(expression))[: len(names)],
            )
            written = [f"({part})::{facet_type(name)}" for part, name in zip(written, names, strict=True)]
            certain = isinstance(expression, a.Term)
        kept = {name: sql for name, sql in relation.columns.items() if name not in names}
        return replace(
            relation,
            columns={**kept, **dict(zip(names, written, strict=True))},
            variables=(*(v for v in relation.variables if v != variable), variable),
            certain=relation.certain - {variable} | ({variable} if certain else frozenset()),
        )


def _alternatives(pattern: a.Pattern) -> list[a.Pattern]:
    """The operands of nested unions, in order."""
    if isinstance(pattern, a.Union):
        return [*_alternatives(pattern.left), *_alternatives(pattern.right)]
    return [pattern]
