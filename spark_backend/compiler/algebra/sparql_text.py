"""An expression of the algebra as SPARQL text: how the prelude hands it to the one-shot engine."""

from __future__ import annotations

from collections.abc import Mapping

from protocol.language.algebra import Call, Constant, Expression, Variable
from protocol.language.sparql_text import exact_call_text


def expression_text(expression: Expression, names: Mapping[Variable, str]) -> str:
    """The expression with its variables renamed; every operation in parentheses of its own."""
    if isinstance(expression, Variable):
        return f"?{names[expression]}"
    if isinstance(expression, Constant):
        return expression.text
    assert isinstance(expression, Call), "parameters are handed over as arguments"
    arguments = [expression_text(argument, names) for argument in expression.arguments]
    return exact_call_text(expression, arguments)
