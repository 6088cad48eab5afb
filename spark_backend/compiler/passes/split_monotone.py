"""What gives more solutions of more triples, and is matched once for all instants of sliding windows.

A basic graph pattern over a time window, with filters on its variables alone, has solutions that hold from one
instant to another (``sql.patterns.intervals``). What differs from query to query stays outside: a constant of a triple
pattern becomes a variable that is compared there. The part knows of it as well: where it is the same for all queries
that are evaluated together, nothing else is kept. A query is changed where that is so of all that it reads of windows,
and where these slide: contents of successive instants overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import TimeWindow
from spark_backend.compiler.algebra.operands import conjuncts, connected, filter_of, join_of
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph, QueryDataset, active_graph

_MOST_TRIPLES = 8
"""Of a part: there is a SELECT for each of them."""


def split_monotone(query: a.Query, knowledge: Knowledge) -> a.Query:
    """The query with its monotone parts; as it is where not all that it reads of windows is. Its windows slide."""
    try:
        return replace(query, pattern=_Splitter(knowledge.dataset).pattern(query.pattern, DEFAULT_GRAPH, False))
    except _ReadOtherwise:
        return query


def slides(query: ContinuousQuery) -> bool:
    """Whether each window of a query is a set of triples at every instant, and holds most of it at the next one."""
    return all(
        isinstance(one.window, TimeWindow)
        and one.window.slide < one.window.width
        and not one.window.offset
        and not one.occurrences
        for one in query.windows
    )


class _ReadOtherwise(Exception):
    """A window is read by what is not monotone, or not known to be."""


class _Splitter:
    def __init__(self, dataset: QueryDataset) -> None:
        self._dataset = dataset

    def pattern(self, pattern: a.Pattern, graph: ActiveGraph, inside: bool) -> a.Pattern:
        """``inside`` of EXISTS variables are bound from outside, too: filters stay where they are."""
        match pattern:
            case a.BGP(triples):
                return self._triples(triples, [], graph, inside)
            case a.Filter(a.BGP(triples), condition) if not inside:
                return self._triples(triples, conjuncts(condition), graph, inside)
            case a.Closure() if not self._dataset.only_store(graph):
                raise _ReadOtherwise
            case a.Graph(name, inner):
                return replace(pattern, pattern=self.pattern(inner, active_graph(name, pattern.windows_only), inside))
            case a.Static():
                return pattern
        return with_operands(pattern, lambda operand, within: self.pattern(operand, graph, inside or within), inside)

    def _triples(
        self, triples: Sequence[a.TriplePattern], conditions: list[a.Expression], graph: ActiveGraph, inside: bool
    ) -> a.Pattern:
        """A basic graph pattern under a filter."""
        if not triples or self._dataset.only_store(graph):
            return filter_of(a.BGP(tuple(triples)), conditions)
        if not all(self._dataset.is_only_in_a_window(triple, graph) for triple in triples):
            raise _ReadOtherwise
        compared: list[a.Expression] = []
        lifted: list[a.Variable] = []
        without = [_without_parameters(triple, compared, lifted) for triple in triples]
        if compared and inside:
            raise _ReadOtherwise
        parts = []
        for part in connected(without):
            bound = {variable for triple in part for variable in triple.variables}
            if len(part) > _MOST_TRIPLES or not all(triple.variables for triple in part):
                raise _ReadOtherwise
            on_it = [condition for condition in (*compared, *conditions) if _is_on(condition, bound)]
            narrowing = [condition for condition in on_it if a.expression_parameters(condition)]
            own = [condition for condition in on_it if condition not in narrowing]
            conditions = [condition for condition in conditions if condition not in own]
            found = filter_of(a.BGP(tuple(part)), own)
            parts.append(a.Monotone(found, tuple(narrowing), tuple(one for one in lifted if one in bound)))
        joined = filter_of(join_of(parts), [*compared, *conditions])
        if not compared:
            return joined
        return a.Project(joined, tuple(dict.fromkeys(variable for triple in triples for variable in triple.variables)))


def _without_parameters(
    triple: a.TriplePattern, compared: list[a.Expression], lifted: list[a.Variable]
) -> a.TriplePattern:
    """The triple pattern with variables for its parameters, and that they are the same is one of the conditions."""
    parts: dict[str, a.Variable] = {}
    for name, part in (("subject", triple.subject), ("object", triple.object)):
        if isinstance(part, a.Parameter):
            parts[name] = a.Variable(f"_:parameter{part.number}")
            lifted.append(parts[name])
            compared.append(a.Call("SAMETERM", (parts[name], part)))
    return replace(triple, **parts)


def _is_on(condition: a.Expression, bound: set[a.Variable]) -> bool:
    """Whether a condition is one on solutions that bind these variables, at all instants."""
    read = a.expression_variables(condition)
    varies = any(isinstance(node, a.Call) and node.name in a.VARYING for node in a.nodes(condition))
    return bool(read) and read <= bound and not varies
