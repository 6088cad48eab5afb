"""An expression of the algebra as SPARQL text: how the prelude hands it to the one-shot engine."""

from __future__ import annotations

from collections.abc import Mapping

from spark_backend.compiler.algebra import Call, Expression, Term, Variable

_INFIX = frozenset({"=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/"})


def expression_text(expression: Expression, names: Mapping[Variable, str]) -> str:
    """The expression with its variables renamed; every operation in parentheses of its own."""
    if isinstance(expression, Variable):
        return f"?{names[expression]}"
    if isinstance(expression, Term):
        return expression.text
    assert isinstance(expression, Call), "parameters are handed over as arguments"
    arguments = [expression_text(argument, names) for argument in expression.arguments]
    return _call_text(expression, arguments)


def _call_text(call: Call, arguments: list[str]) -> str:
    if call.name in ("IN", "NOT IN"):
        return f"({arguments[0]} {call.name} ({', '.join(arguments[1:])}))"
    if call.name in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {call.name} {arguments[1]})"
    if call.name in ("!", "-", "+"):
        return f"({call.name}({arguments[0]}))"
    return f"{call.name}({', '.join(arguments)})"
