"""What the condition of OPTIONAL compares is BIND of the side that decides it, where it has to be computed.

``OPTIONAL {?x :v ?w FILTER(?w > ?v + 3)}`` compares each solution of one side with each of the other, but the sum is
that of a solution, and not of a pair. Where it is an error, the variable is unbound: to compare it is an error, too.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.marks import certainly_bound
from spark_backend.compiler.algebra.narrowing import costs_little
from spark_backend.compiler.algebra.traversal import bottom_up

_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})
_LOGICAL = frozenset({"&&", "||", "!"})


def bind_operands(query: a.Query, _: object) -> a.Query:
    made: list[a.Variable] = []

    def bound(pattern: a.Pattern, inside: bool) -> a.Pattern:
        # Inside of EXISTS variables are bound from outside, too, and not in every operand to be seen.
        if isinstance(pattern, a.LeftJoin) and pattern.condition is not None and not (pattern.asked or inside):
            return _Sides(pattern.left, pattern.right, made).joined(pattern, pattern.condition)
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, bound))


class _Sides:
    """The sides of an OPTIONAL, and what is bound in them; ``made`` are the variables of the whole query for that."""

    def __init__(self, left: a.Pattern, right: a.Pattern, made: list[a.Variable]) -> None:
        self._sides = [left, right]
        mentioned = [a.mentioned_variables(side) for side in self._sides]
        self._decided = [
            certainly_bound(left) | (mentioned[0] - mentioned[1]),
            certainly_bound(right) | (mentioned[1] - mentioned[0]),
        ]
        self._made = made
        self._known: dict[a.Expression, a.Variable] = {}

    def joined(self, pattern: a.LeftJoin, condition: a.Expression) -> a.LeftJoin:
        compared = self._condition(condition)
        left, right = self._sides
        return with_parts(pattern, left=left, right=right, condition=compared)

    def _condition(self, expression: a.Expression) -> a.Expression:
        if isinstance(expression, a.Call) and expression.name in _COMPARISONS | _LOGICAL:
            change = self._operand if expression.name in _COMPARISONS else self._condition
            return with_parts(expression, arguments=tuple(map(change, expression.arguments)))
        return expression

    def _operand(self, expression: a.Expression) -> a.Expression:
        """A variable in place of what is computed from solutions of one side."""
        if costs_little(expression) or expression in self._known:
            return self._known.get(expression, expression)
        read = a.expression_variables(expression)
        for place, decided in enumerate(self._decided):
            if read and read <= decided:
                variable = a.Variable(f"_:operand{len(self._made) + 1}")
                self._made.append(variable)
                self._known[expression] = variable
                self._sides[place] = a.Extend(self._sides[place], variable, expression)
                return variable
        return expression
