"""Which variables need their facets beside their terms: those that value-based operators read."""

from __future__ import annotations

from typing import Any

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import is_mark
from spark_backend.compiler.algebra.timestamps import is_time

_BY_TERM = frozenset({"BOUND", "SAMETERM"})


def faceted_variables(query: a.Query) -> frozenset[a.Variable]:
    """Variables read by value somewhere in the query: comparison, arithmetic, sums, extremes, order, truth.

    A variable bound by BIND to one of them by name is followed through; the facets of other computed
    values are made where they are computed.
    """
    nodes = list(a.nodes(query.pattern))
    found = frozenset(variable for node in nodes for variable in _read_by_value(node))
    found |= frozenset(node for node in nodes if isinstance(node, a.Variable) and is_time(node))
    aliases = [
        (node.variable, source)
        for node in nodes
        if isinstance(node, a.Extend) and not isinstance(node.expression, a.Constant)
        for source in a.expression_variables(node.expression)
    ]
    # The ends of a path are nodes that its steps come to.
    aliases += [
        (end, step)
        for node in nodes
        if isinstance(node, a.Closure)
        for end in (*node.variables, node.source, node.target)
        for step in (node.source, node.target)
    ]
    while True:
        more = frozenset(source for variable, source in aliases if variable in found)
        if more <= found:
            return found
        found |= more


def _read_by_value(node: Any) -> frozenset[a.Variable]:
    match node:
        case a.Filter(_, condition) | a.LeftJoin(_, _, a.Variable() | a.Constant() | a.Call() as condition):
            return _variables(condition)
        case a.Extend(_, _, a.Call() as expression):
            return _variables(expression)
        case a.OrderBy(_, conditions):
            return frozenset().union(*(a.expression_variables(condition.expression) for condition in conditions))
        case a.Aggregation(_, _, aggregate):
            return _read_by_value(a.Group(a.BGP(()), None, (aggregate,)))
        case a.Group(_, _, aggregates):
            return frozenset().union(
                *(
                    a.expression_variables(aggregate.argument)
                    for aggregate in aggregates
                    if aggregate.argument is not None and aggregate.function not in ("COUNT", "SAMPLE")
                )
            )
    return frozenset()


def _variables(expression: a.Expression) -> frozenset[a.Variable]:
    if isinstance(expression, a.Call) and expression.name in _BY_TERM:
        return frozenset().union(*(_variables(part) for part in expression.arguments if isinstance(part, a.Call)))
    if isinstance(expression, a.Call):
        return frozenset().union(*map(_variables, expression.arguments))
    # Marks are all of one kind.
    return frozenset(variable for variable in a.expression_variables(expression) if not is_mark(variable))
