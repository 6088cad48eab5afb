"""Going through a pattern: what it is made of, changed operand by operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from protocol.language import algebra as a
from protocol.language.parts import with_parts


class Change(Protocol):
    """``inside``: the operand is (part of) what EXISTS asks, where outer variables can be seen (18.6, substitute)."""

    def __call__(self, pattern: a.Pattern, inside: bool, /) -> a.Pattern: ...


def with_operands(pattern: a.Pattern, change: Change, inside: bool) -> a.Pattern:
    """The pattern, each pattern that it is made of changed; the same object where nothing is."""
    match pattern:
        case a.BGP() | a.Values() | a.ServiceSolutions():
            return pattern
        case a.Closure(_, _, step):  # a step is matched alone, whatever is outside
            return with_parts(pattern, step=change(step, False))
        case a.Join(left, right) | a.Union(left, right) | a.Minus(left, right):
            return with_parts(pattern, left=change(left, inside), right=change(right, inside))
        case a.LeftJoin(left, right, _, asked):
            told = tuple((variable, change(exists, True)) for variable, exists in asked)
            return with_parts(pattern, left=change(left, inside), right=change(right, inside), asked=told)
        case a.MarkJoin(inner, _, exists):
            return with_parts(pattern, pattern=change(inner, inside), exists=change(exists, True))
        case a.PathJoin(inner, path, _):
            return with_parts(pattern, pattern=change(inner, inside), path=change(path, inside))
    return with_parts(pattern, pattern=change(pattern.pattern, inside))


def with_variables(expression: a.Expression, values: Mapping[a.Variable, a.Expression]) -> a.Expression:
    """An expression with others in place of variables, but for those inside of EXISTS."""
    if isinstance(expression, a.Variable):
        return values.get(expression, expression)
    if isinstance(expression, a.Call) and values:
        return with_parts(expression, arguments=tuple(with_variables(one, values) for one in expression.arguments))
    return expression


def bottom_up(pattern: a.Pattern, change: Change, inside: bool = False) -> a.Pattern:
    """The pattern with everything in it changed, operands first."""
    return change(
        with_operands(pattern, lambda operand, within: bottom_up(operand, change, inside or within), inside), inside
    )
