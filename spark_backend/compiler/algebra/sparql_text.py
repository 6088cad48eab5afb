"""An expression of the algebra as SPARQL text: how the prelude hands it to the one-shot engine."""

from __future__ import annotations

from collections.abc import Mapping

from protocol.language.algebra import Call, Constant, Expression, Variable
from protocol.language.sparql_text import call_text

_SHORT = 300
"""Sums of longer operands are written once: in a chain of sums each would be three times as long as the last."""


def expression_text(expression: Expression, names: Mapping[Variable, str]) -> str:
    """The expression with its variables renamed; every operation in parentheses of its own."""
    if isinstance(expression, Variable):
        return f"?{names[expression]}"
    if isinstance(expression, Constant):
        return expression.text
    assert isinstance(expression, Call), "parameters are handed over as arguments"
    arguments = [expression_text(argument, names) for argument in expression.arguments]
    if expression.name == "+" and len(arguments) == 2 and len(arguments[0]) + len(arguments[1]) < _SHORT:
        return _sum_text(*arguments)
    return call_text(expression, arguments)


def _sum_text(one: str, other: str) -> str:
    """The sum of two.

    Oxigraph turns operands of ``+`` round as it likes, by a hash of theirs, and knows no duration plus a dateTime, only
    a dateTime plus a duration: what is an error to it is tried both ways round. Operands of ``-`` stay where they are.
    """
    return f"COALESCE(({one} + {other}), ({one} - (-({other}))), ({other} - (-({one}))))"
