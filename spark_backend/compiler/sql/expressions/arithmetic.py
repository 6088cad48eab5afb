"""Arithmetic in SQL where it is exact there: over doubles, and over integers within 2**53.

Type promotion of SPARQL 1.1 Query section 17.3: an operation with a double operand is done in
doubles. Decimals, floats, big integers and integer division go to the prelude, row by row where the
operands are of those kinds.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.sql.values import Value

_LARGEST = 2**53
_DOUBLE, _INTEGER = f"{TermKind.DOUBLE:d}", f"{TermKind.INTEGER:d}"


def arithmetic(
    expression: a.Expression, value: Callable[[a.Expression], Value], slow: Callable[[str], Value]
) -> Value | None:
    """The value of a tree of + - * /, or None where its leaves are not all variables and numbers.

    ``slow`` gives the prelude's value of it, given the condition under which that is not needed.
    """
    leaves = _leaves(expression)
    if not any(isinstance(leaf, a.Variable) for leaf in leaves) or not all(
        isinstance(leaf, a.Variable) or (isinstance(leaf, a.Constant) and value(leaf).is_number) for leaf in leaves
    ):
        return None
    operands = [value(leaf) for leaf in leaves]
    numbers = " AND ".join(f"{operand.kind} <= {_DOUBLE} AND {operand.number} IS NOT NULL" for operand in operands)
    doubles = " AND ".join(dict.fromkeys(_double_conditions(expression, value)))
    result = _sql(expression, value, "DOUBLE")
    cases = [(f"{numbers} AND {doubles}", _DOUBLE, result)]
    if "/" not in _signs(expression) and len(leaves) <= 2:
        # HUGEINT holds any product of two factors below 2**53; deeper trees are left to the prelude.
        integers = " AND ".join(f"{operand.kind} = {_INTEGER} AND {operand.number} IS NOT NULL" for operand in operands)
        whole = _sql(expression, value, "HUGEINT")
        cases.append((f"{integers} AND abs({whole}) <= {_LARGEST}", _INTEGER, f"({whole})::DOUBLE"))
    fallback = slow(" OR ".join(f"({condition})" for condition, _, _ in cases))
    kind = " ".join(f"WHEN {condition} THEN {kind}" for condition, kind, _ in cases)
    # A NaN has a term, and no number (see Value).
    number = " ".join(f"WHEN {condition} THEN nullif({number}, 'NaN'::DOUBLE)" for condition, _, number in cases)
    term = " ".join(f"WHEN {condition} THEN number_term({kind}, {number})" for condition, kind, number in cases)
    return Value(
        f"(CASE {term} ELSE {fallback.term} END)",
        f"(CASE {kind} ELSE {fallback.kind} END)",
        f"(CASE {number} ELSE {fallback.number} END)",
    )


def _leaves(expression: a.Expression) -> list[a.Expression]:
    if isinstance(expression, a.Call) and expression.name in ("+", "-", "*", "/"):
        return [leaf for argument in expression.arguments for leaf in _leaves(argument)]
    return [expression]


def _signs(expression: a.Expression) -> set[str]:
    if isinstance(expression, a.Call) and expression.name in ("+", "-", "*", "/"):
        return {expression.name}.union(*map(_signs, expression.arguments))
    return set()


def _double_conditions(expression: a.Expression, value: Callable[[a.Expression], Value]) -> list[str]:
    """Conditions under which every operation of the tree has a double operand (and so is done in doubles)."""
    if not isinstance(expression, a.Call):
        return [f"{value(expression).kind} = {_DOUBLE}"]
    inner = [argument for argument in expression.arguments if isinstance(argument, a.Call)]
    if inner:  # an operation on a double result is an operation in doubles
        return [condition for argument in inner for condition in _double_conditions(argument, value)]
    kinds = [f"{value(argument).kind} = {_DOUBLE}" for argument in expression.arguments]
    return [f"({' OR '.join(kinds)})"]


def _sql(expression: a.Expression, value: Callable[[a.Expression], Value], kind: str) -> str:
    if not isinstance(expression, a.Call):
        number = value(expression).number
        # SQL may compute what a condition beside it excludes: an infinity is no HUGEINT.
        return number if kind == "DOUBLE" else f"TRY_CAST({number} AS {kind})"
    operands = [_sql(argument, value, kind) for argument in expression.arguments]
    if len(operands) == 1:
        return f"({expression.name}{operands[0]})"
    left, right = operands
    return f"({left} {expression.name} {right})"
