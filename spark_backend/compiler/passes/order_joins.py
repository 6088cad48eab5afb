"""The order of joins: what has fewest solutions first, and then what it binds variables of.

DuckDB orders the joins of one SELECT by itself, knowing its tables. Decided here is what SQL cannot: which patterns of
a long basic graph pattern share a SELECT, and where paths begin. A path whose ends are variables is followed from the
nodes that the patterns before it bind one of them to, not from every node that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.estimates import of_pattern, of_triple
from spark_backend.compiler.algebra.marks import certainly_bound
from spark_backend.compiler.algebra.operands import conjuncts, connected, filter_of, join_operands
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph, active_graph

_NOT_PLAIN = a.Group | a.Slice | a.Draw | a.MarkJoin | a.LeftJoin | a.Minus | a.Union | a.Project | a.Aggregation


def order_joins(query: a.Query, knowledge: Knowledge) -> a.Query:
    return replace(query, pattern=_Orderer(knowledge, DEFAULT_GRAPH).pattern(query.pattern, False))


class _Orderer:
    def __init__(self, knowledge: Knowledge, graph: ActiveGraph) -> None:
        self._knowledge = knowledge
        self._graph = graph
        self._statistics = knowledge.statistics

    def pattern(self, pattern: a.Pattern, inside: bool) -> a.Pattern:
        match pattern:
            case a.Join():
                operands, conditions = _operands(pattern)
                return self._join([self.pattern(operand, inside) for operand in operands], conditions)
            case a.Graph(name, inner):
                within = _Orderer(self._knowledge, active_graph(name, pattern.windows_only))
                return with_parts(pattern, pattern=within.pattern(inner, inside))
        pattern = with_operands(pattern, lambda operand, within: self.pattern(operand, inside or within), inside)
        match pattern:
            case a.BGP(triples):
                return self._triples(triples)
            case a.LeftJoin(left, right) | a.Minus(left, right) if not inside:
                return replace(pattern, right=_from(left, right))
            case a.MarkJoin(inner, _, exists) if not inside and _is_plain(inner) and not _may_be_empty(exists):
                return replace(pattern, exists=_from(inner, exists))
        return pattern

    def _triples(self, triples: Sequence[a.TriplePattern]) -> a.BGP:
        """The triple patterns by what they add to those before them."""
        ordered: list[a.TriplePattern] = []
        bound: frozenset[a.Variable] = frozenset()
        # By place: the least, of equals the first. An estimate changes only where a variable of its own is bound.
        left = {place: of_triple(triple, bound, self._statistics) for place, triple in enumerate(triples)}
        places: dict[a.Variable, list[int]] = {}
        for place, triple in enumerate(triples):
            for variable in triple.variables:
                places.setdefault(variable, []).append(place)
        connected: set[int] = set()
        while left:
            following = min(connected or left, key=lambda place: (left[place], place))
            del left[following]
            connected.discard(following)
            ordered.append(triples[following])
            fresh = frozenset(triples[following].variables) - bound
            bound |= fresh
            for place in left.keys() & {place for variable in fresh for place in places[variable]}:
                left[place] = of_triple(triples[place], bound, self._statistics)
                connected.add(place)
        return a.BGP(tuple(ordered))

    def _join(self, operands: list[a.Pattern], conditions: Sequence[a.Expression]) -> a.Pattern:
        """The join of the operands under these conditions, each as soon as its variables are bound."""
        result: a.Pattern | None = None
        bound: frozenset[a.Variable] = frozenset()
        left = list(operands)
        while left:
            connected = [operand for operand in left if bound & a.mentioned_variables(operand)] or self._first(left)
            # Paths between variables wait for what binds one of them, and for whatever else is joined there: what they
            # begin at is made as a table, in which all is joined that narrows it.
            others = [operand for operand in connected if _path(operand) is None]
            others = others or [operand for operand in connected if _start(operand, bound)]
            following = min(others or connected, key=lambda one: of_pattern(one, bound, self._statistics))
            left.remove(following)
            result = following if result is None else _beside(result, following, bound)
            bound |= certainly_bound(following)
            known = [condition for condition in conditions if a.expression_variables(condition) <= bound]
            conditions = [condition for condition in conditions if condition not in known]
            result = filter_of(result, known)
        assert result is not None
        return result

    def _first(self, operands: list[a.Pattern]) -> list[a.Pattern]:
        """Those that may come first: of what a window matches there is less than of the store, of which how much there
        is is not known here.
        """
        streamed = [one for one in operands if _path(one) is None and not self._is_all_the_store(one)]
        return streamed or operands

    def _is_all_the_store(self, operand: a.Pattern) -> bool:
        return not isinstance(operand, a.Values) and self._knowledge.reads_the_store(operand, self._graph)


def _operands(pattern: a.Pattern) -> tuple[list[a.Pattern], list[a.Expression]]:
    """What is joined, and conditions on several of these. Where paths are, they are apart from the rest of their
    graphs, and so is what only they connect: a path begins at what is left by all that is connected with its start.
    """
    parts, conditions = _apart(pattern)
    return (parts, conditions) if any(map(_path, parts)) else (join_operands(pattern), [])


def _apart(pattern: a.Pattern) -> tuple[list[a.Pattern], list[a.Expression]]:
    """What is joined, as small as it may be, and conditions on several of these, whose variables are surely bound."""
    parts: list[a.Pattern] = []
    conditions: list[a.Expression] = []
    for operand in join_operands(pattern):
        inner: list[a.Pattern] = [operand]
        match operand:
            case a.Graph(a.Constant(), within):
                inner, theirs = _apart(within)
                inner = [replace(operand, pattern=part) for part in inner]
                conditions += theirs
            case a.BGP(triples) if triples:
                inner = [a.BGP(tuple(part)) for part in connected(triples)]
            case a.Filter(within, condition) if a.expression_variables(condition) <= certainly_bound(within):
                inner, theirs = _apart(within)
                for one in conjuncts(condition):
                    read = a.expression_variables(one)
                    place = next((place for place, part in enumerate(inner) if read <= certainly_bound(part)), None)
                    if place is None:
                        theirs.append(one)
                    else:
                        inner[place] = a.Filter(inner[place], one)
                conditions += theirs
        parts += inner
    return parts, conditions


def _beside(left: a.Pattern, right: a.Pattern, bound: frozenset[a.Variable]) -> a.Pattern:
    start = _start(right, bound)
    if start is None:
        return a.Join(left, right)
    if isinstance(right, a.Filter):  # of the paths' ends alone
        return a.Filter(_beside(left, right.pattern, bound), right.condition)
    assert isinstance(right, a.Closure | a.Graph)
    return a.PathJoin(left, right, start)


def _from(left: a.Pattern, right: a.Pattern) -> a.Pattern:
    """What OPTIONAL, MINUS or EXISTS asks of the left side, as far as it can be compatible with that."""
    start = _start(right, certainly_bound(left))
    if start is None:
        return right
    return _beside(a.Distinct(a.Project(left, (start,))), right, frozenset({start}))


def _is_plain(pattern: a.Pattern) -> bool:
    """Whether it is quickly made twice, and has no solutions but those that it has where terms are substituted."""
    return not any(isinstance(node, _NOT_PLAIN) for node in a.nodes(pattern))


def _may_be_empty(pattern: a.Pattern) -> bool:
    """Whether it is a path of length zero: EXISTS begins those at its solutions' terms anyway."""
    path = _path(pattern)
    return path is not None and path.zero


def _path(pattern: a.Pattern) -> a.Closure | None:
    """The path between two variables that a pattern is, be it in another graph, be it filtered."""
    while (isinstance(pattern, a.Graph) and isinstance(pattern.name, a.Constant)) or (
        isinstance(pattern, a.Filter) and a.expression_variables(pattern.condition) <= certainly_bound(pattern.pattern)
    ):
        inner = pattern.pattern
        if isinstance(pattern, a.Graph) and not isinstance(inner, a.Closure):
            return None
        pattern = inner
    if not isinstance(pattern, a.Closure):
        return None
    ends = pattern.subject, pattern.object
    return pattern if all(isinstance(end, a.Variable) for end in ends) else None


def _start(pattern: a.Pattern, bound: frozenset[a.Variable]) -> a.Variable | None:
    """The end of a path that is bound already."""
    path = _path(pattern)
    return None if path is None else next((end for end in path.variables if end in bound), None)
