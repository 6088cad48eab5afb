"""What reads the store alone, computed once per version of the store instead of at every instant.

C-SPARQL's split into a static and a streaming part, for joins too: of the operands of a join, those that no window can
match. Together are triple patterns that lead from one subject on (``?sensor :in ?room . ?room :label ?name``): what
they have in common otherwise (``?a :type ?t . ?b :type ?t``) may be very much more than the streams ask for. A path
between two variables stays outside, as it is followed from the nodes that the streams lead to. A pattern that reads a
parameter, NOW() or what is drawn is not the same for all queries and instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import join_of, join_operands
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph, active_graph
from spark_backend.compiler.sql.patterns.grouping import IN_SEQUENCE

_OPERATORS = a.Closure | a.LeftJoin | a.Union | a.Minus | a.Filter | a.Extend | a.Group | a.Distinct | a.Slice
_BOUNDARIES = a.Group | a.Distinct | a.Slice


def split_static(query: a.Query, knowledge: Knowledge) -> a.Query:
    return replace(query, pattern=_Splitter(knowledge).below_modifiers(query.pattern))


class _Splitter:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def below_modifiers(self, pattern: a.Pattern) -> a.Pattern:
        """The order of the answer is made at each evaluation."""
        if isinstance(pattern, a.Slice | a.Distinct | a.Project | a.OrderBy):
            return replace(pattern, pattern=self.below_modifiers(pattern.pattern))
        return self.pattern(pattern, DEFAULT_GRAPH)

    def pattern(self, pattern: a.Pattern, graph: ActiveGraph) -> a.Pattern:
        if graph.column is not None:  # of several graphs: as a whole, or not
            return pattern
        if self._is_static(pattern, graph) and _weight(pattern) > 1 and _keeps_small(pattern):
            return a.Static(pattern)
        match pattern:
            case a.Group(inner, _, aggregates) if any(one.function in IN_SEQUENCE for one in aggregates):
                return replace(pattern, pattern=self._below_order(inner, graph))
            case a.BGP(triples) if self._is_static(pattern, graph):
                return join_of(self._group(list(triples), []))
            case a.Join():
                return self._join(join_operands(pattern), graph)
            case a.Graph(name, inner):
                return replace(pattern, pattern=self.pattern(inner, active_graph(name, pattern.windows_only)))
            case a.Closure() | a.PathJoin():
                return pattern
        return with_operands(pattern, lambda operand, _: self.pattern(operand, graph), False)

    def _below_order(self, pattern: a.Pattern, graph: ActiveGraph) -> a.Pattern:
        """The order of what is aggregated as a sequence is made at each evaluation, too: a table has none."""
        if not _is_sequence(pattern):
            return self.pattern(pattern, graph)
        return with_operands(pattern, lambda operand, _: self._below_order(operand, graph), False)

    def _join(self, operands: Sequence[a.Pattern], graph: ActiveGraph) -> a.Pattern:
        static = [operand for operand in operands if self._is_static(operand, graph)]
        triples = [triple for operand in static if isinstance(operand, a.BGP) for triple in operand.triples]
        paths = [operand for operand in static if isinstance(operand, a.Closure) and _keeps_small(operand)]
        kept = [one for one in operands if one not in paths and not (one in static and isinstance(one, a.BGP))]
        return join_of([*(self.pattern(operand, graph) for operand in kept), *self._group(triples, paths)])

    def _group(self, triples: list[a.TriplePattern], paths: list[a.Closure]) -> list[a.Pattern]:
        """Static triple patterns and paths: those that lead from one subject on as one, the others as they are."""
        found: list[a.Pattern] = []
        alone: list[a.TriplePattern] = []
        while triples:
            objects = {triple.object for triple in triples}
            root = next((triple for triple in triples if triple.subject not in objects), triples[0])
            group, bound = [root], set(root.variables)
            triples.remove(root)
            while following := next((triple for triple in triples if triple.subject in bound), None):
                group.append(following)
                bound.update(following.variables)
                triples.remove(following)
            reached = [path for path in paths if path.subject in bound]
            for path in reached:
                paths.remove(path)
            if len(group) + len(reached) > 1:
                found.append(a.Static(join_of([a.BGP(tuple(group)), *reached])))
            else:
                alone += group
        return [*([a.BGP(tuple(alone))] if alone else []), *found, *paths]

    def _is_static(self, pattern: a.Pattern, graph: ActiveGraph) -> bool:
        # In this order: the first pattern that a window matches tells, and it is asked of each pattern in another.
        return self._knowledge.reads_the_store(pattern, graph) and not any(map(_varies, a.nodes(pattern)))


def _is_sequence(pattern: a.Pattern) -> bool:
    """Whether it is a sub-select in order, or what FILTER and BIND make of one."""
    while isinstance(pattern, a.Filter | a.Extend | a.MarkJoin | a.Draw | a.Slice | a.Distinct | a.Project):
        pattern = pattern.pattern
    return isinstance(pattern, a.OrderBy)


def _varies(node: object) -> bool:
    return isinstance(node, a.Parameter | a.Draw) or (isinstance(node, a.Call) and node.name == "NOW")


def _weight(pattern: a.Pattern) -> int:
    """What there is to compute: one triple pattern alone is a table already."""
    return sum(isinstance(node, a.TriplePattern | _OPERATORS) for node in a.nodes(pattern))


def _keeps_small(pattern: a.Pattern) -> bool:
    """Whether a static pattern is worth a table: computed whole anyway, or not much more than what it joins."""
    match pattern:
        case a.BGP(triples):
            bound: set[object] = set()
            left = list(triples)
            objects = {triple.object for triple in left}
            following = next((triple for triple in left if triple.subject not in objects), None)
            while following is not None:
                left.remove(following)
                bound.update(following.variables)
                following = next((triple for triple in left if triple.subject in bound), None)
            return not left
        case a.Closure(subject, object_):
            return not (isinstance(subject, a.Variable) and isinstance(object_, a.Variable))
        case a.Join(left, right) if not isinstance(right, a.BGP):
            return False
        case _ if isinstance(pattern, _BOUNDARIES):
            return True
        case a.LeftJoin(left, right):
            return _keeps_small(left) and _keeps_small(right) and bool(a.in_scope(left) & a.in_scope(right))
        case a.Minus(left, right) | a.Union(left, right):
            return _keeps_small(left) and _keeps_small(right)
        case a.Values():
            return True
        case a.Join() | a.ServiceSolutions():
            return False
    return _keeps_small(pattern.pattern)
