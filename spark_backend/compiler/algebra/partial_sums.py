"""Which sums and averages the answer alone reads: SQL need not finish them, row by row of the answer is cheaper."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.language import algebra as a

PARTS = ("count", "floating", "whole", "exact", "rest", "errors")
"""The parts of a sum, in the order ``answers.numbers.sum_term`` takes them."""


@dataclass(frozen=True)
class PartialSums:
    """``results`` of the ``group``, and the ``answered`` variables of the query they are projected as.

    ``answered`` tells of each whether it is an average. ``told_apart``: the answer has all keys of the group, so
    that its solutions differ in what is not a sum.
    """

    group: a.Group | None = None
    results: frozenset[a.Variable] = frozenset()
    answered: tuple[tuple[a.Variable, bool], ...] = ()
    told_apart: bool = True

    def of(self, group: a.Group) -> frozenset[a.Variable]:
        """The results of one group of the query; groups of sub-selects have names of their own."""
        return self.results if group is self.group else frozenset()


def partial_sums(query: a.Query) -> PartialSums:
    """SUM and AVG of the outermost group, where nothing above it reads them but the projection."""
    pattern = query.pattern
    sliced = isinstance(pattern, a.Slice)
    while isinstance(pattern, a.Slice):
        pattern = pattern.pattern
    if not isinstance(pattern, a.Project):
        return PartialSums()
    pattern = pattern.pattern
    carried = {variable: variable for variable in query.variables}
    read: frozenset[a.Variable] = frozenset()
    while not isinstance(pattern, a.Group):
        match pattern:
            case a.Extend(inner, variable, a.Variable() as source):
                read |= {source} if variable in read else frozenset()
                carried = {answered: source if now == variable else now for answered, now in carried.items()}
            case a.Extend(inner, variable, expression):
                read |= a.expression_variables(expression)
                carried = {answered: now for answered, now in carried.items() if now != variable}
            case a.Filter(inner, condition):
                read |= a.expression_variables(condition)
            case a.OrderBy(inner, conditions):
                read |= frozenset().union(*(a.expression_variables(condition.expression) for condition in conditions))
            case _:
                return PartialSums()
        pattern = inner
    sums = {
        one.result: one.function == "AVG"
        for one in pattern.aggregates
        if one.function in ("SUM", "AVG") and one.result not in read
    }
    answered_sums = tuple((answered, sums[now]) for answered, now in carried.items() if now in sums)
    told_apart = set(pattern.keys or ()) <= set(carried.values())
    if sliced and not told_apart:
        # Which solutions are left would depend on their order in the database: only the sums tell them apart.
        return PartialSums()
    return PartialSums(pattern, frozenset(sums), answered_sums, told_apart)
