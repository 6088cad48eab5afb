"""What is one thing to the algebra and several to who reads it: the operands of conjunctions, joins and unions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from protocol.language import algebra as a


def chained(expression: a.Expression, sign: str) -> list[a.Expression]:
    """What a chain of ``&&`` or ``||`` joins, in order: a long one is not a deep one."""
    found: list[a.Expression] = []
    left = [expression]
    while left:
        part = left.pop()
        if isinstance(part, a.Call) and part.name == sign:
            left += reversed(part.arguments)
        else:
            found.append(part)
    return found


def conjuncts(condition: a.Expression) -> list[a.Expression]:
    """What is all to be true for a condition to be."""
    return chained(condition, "&&")


def conjunction(conditions: Iterable[a.Expression]) -> a.Expression:
    """One condition that is true where all of these are; of at least one."""
    return a.balanced("&&", list(conditions))


def filter_of(pattern: a.Pattern, conditions: list[a.Expression]) -> a.Pattern:
    """The pattern under a filter, if there is any condition."""
    return a.Filter(pattern, conjunction(conditions)) if conditions else pattern


def join_operands(pattern: a.Pattern) -> list[a.Pattern]:
    """The operands of nested joins, in order."""
    if isinstance(pattern, a.Join):
        return [*join_operands(pattern.left), *join_operands(pattern.right)]
    return [pattern]


def join_of(patterns: Iterable[a.Pattern]) -> a.Pattern:
    """The join of patterns, of the first two first; the empty solution if there are none."""
    listed = list(patterns)
    return reduce(a.Join, listed) if listed else a.BGP(())


def union_operands(pattern: a.Pattern) -> list[a.Pattern]:
    """The operands of nested unions, in order."""
    if isinstance(pattern, a.Union):
        return [*union_operands(pattern.left), *union_operands(pattern.right)]
    return [pattern]


def marks_of(pattern: a.Pattern) -> tuple[list[a.MarkJoin], a.Pattern]:
    """The marks right above a pattern, the outermost first, and the pattern."""
    marks: list[a.MarkJoin] = []
    while isinstance(pattern, a.MarkJoin):
        marks.append(pattern)
        pattern = pattern.pattern
    return marks, pattern


def connected(triples: Sequence[a.TriplePattern]) -> list[list[a.TriplePattern]]:
    """The triple patterns in groups that share no variables; none of them twice."""
    found: list[list[a.TriplePattern]] = []
    for triple in dict.fromkeys(triples):
        joined = [group for group in found if any(set(one.variables) & set(triple.variables) for one in group)]
        found = [group for group in found if group not in joined]
        found.append([*(one for group in joined for one in group), triple])
    return found
