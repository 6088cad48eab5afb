"""What graph patterns are compiled in: the scope of each, and what all patterns of a query have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.partial_sums import PartialSums
from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph, QueryDataset
from spark_backend.compiler.sql.expressions.expressions import Prelude, compute, parameter_columns
from spark_backend.compiler.sql.patterns.modifiers import ranked
from spark_backend.compiler.sql.patterns.outer import Outer
from spark_backend.compiler.sql.relation import MEMBER, Names, Relation, columns_of_table
from spark_backend.compiler.sql.tree.expressions import Column, equal
from spark_backend.compiler.sql.tree.placeholders import Members, Parameter
from spark_backend.compiler.sql.tree.statements import Subselect, Table


@dataclass(frozen=True)
class PatternScope:
    """Where a pattern is evaluated: its active graph, the key columns its relation carries, what EXISTS is asked of."""

    graph: ActiveGraph = DEFAULT_GRAPH
    keys: tuple[str, ...] = ("instant",)
    outer: Outer | None = None

    @property
    def leaf(self) -> PatternScope:
        """The scope of a pattern that is matched in the active graph, and nothing else."""
        return PatternScope(self.graph, ("instant",) if self.graph.column is None else ("instant", self.graph.column))


@dataclass(frozen=True)
class Context:
    """What the patterns of one query are compiled with, and what their operators do to relations.

    ``operators`` compiles a pattern, operator by operator: those that have operands reach it by ``compile``.
    ``sums`` are left in parts (see ``CompiledAggregate.sum_parts``).
    """

    dataset: QueryDataset
    names: Names
    prelude: Prelude
    operators: Callable[[a.Pattern, Context, PatternScope], Relation]
    sums: PartialSums = field(default_factory=PartialSums)

    def compile(self, pattern: a.Pattern, scope: PatternScope) -> Relation:
        """The relation of a pattern in a scope."""
        return self.operators(pattern, self, scope)

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
        relation = self.names.open(relation)
        key = relation.columns.get(MEMBER)
        if isinstance(key, Column) and key.table is not None and Table(Members(), key.table) in relation.tables:
            return relation, key.table
        alias = self.names.fresh("m")
        columns, conditions = dict(relation.columns), relation.conditions
        if key is None:
            columns[MEMBER] = Column(MEMBER, alias)
        else:
            conditions = (*conditions, equal(Column(MEMBER, alias), key))
        tables = (*relation.tables, Table(Members(), alias))
        return replace(relation, columns=columns, tables=tables, conditions=conditions), alias

    def unit(self, scope: PatternScope) -> Relation:
        """One empty solution for each key."""
        alias = self.names.fresh("u")
        named = scope.graph.column is not None
        table = Subselect(self.dataset.graph_names(scope.graph)) if named else self.dataset.instants
        unit = Relation(columns_of_table(alias, scope.leaf.keys), (Table(table, alias),))
        if scope.outer is None:
            return unit
        return scope.outer.seeing(()).with_solutions(unit, self.names).within(self.names.fresh("q"))

    def inside(self, relation: Relation, scope: PatternScope) -> Relation:
        """What is matched in the active graph, inside of EXISTS for each of the solutions it is asked of."""
        return relation if scope.outer is None else scope.outer.with_solutions(relation, self.names)

    def seeing(self, relation: Relation, read: frozenset[a.Variable], scope: PatternScope) -> Relation:
        """The relation with the variables outside of EXISTS that are read and that a sub-select has hidden (18.6)."""
        if scope.outer is None:
            return relation
        hidden = tuple(v for v in scope.outer.variables if v in read and v not in relation.variables)
        return scope.outer.seeing(hidden).with_solutions(relation, self.names) if hidden else relation

    def sequence(self, relation: Relation, read: frozenset[a.Variable], scope: PatternScope) -> Relation:
        """What ``seeing`` gives, which keeps the order of a sub-select: what is made of it is in that order, too."""
        return self.seeing(ranked(relation, scope.keys, self.names), read, scope)

    def filter(self, relation: Relation, condition: a.Expression) -> Relation:
        """The solutions of which the condition is true."""
        parameters = sorted(a.expression_parameters(condition), key=lambda parameter: parameter.number)
        read = [column for parameter in parameters for column in parameter_columns(parameter)]
        if read:
            relation, members = self.members(relation)
            both = [Parameter(members, one.number, numeric) for one in parameters for numeric in (False, True)]
            given = {parameter.column: parameter for parameter in both}
            relation = replace(relation, columns={**relation.columns, **given})
        relation, (truth,) = compute(
            relation, self.names, self.prelude, lambda compiler: [compiler.holds(condition)], parameters
        )
        kept = {name: column for name, column in relation.columns.items() if name not in read}
        return replace(relation, columns=kept).where(truth)
