"""Arithmetic in SQL where it is exact there: over doubles, and over integers within 2**53.

Type promotion of SPARQL 1.1 Query section 17.3: an operation with a double operand is done in
doubles. Decimals, floats, big integers and integer division go to the prelude, row by row where the
operands are of those kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import IsBound, call, equal, every, infix, some
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import Value, kind_of

_LARGEST = 2**53
_DOUBLE, _INTEGER = kind_of(TermKind.DOUBLE), kind_of(TermKind.INTEGER)


def arithmetic(
    expression: a.Expression, value: Callable[[a.Expression], Value], slow: Callable[[Expression], Value]
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
    varying = [one for one in operands if one.constant is None]
    numbers = [part for one in varying for part in (infix(one.kind, "<=", _DOUBLE), IsBound(one.number))]
    doubles = double_conditions(expression, value)
    cases = []
    if sql.FALSE not in doubles:
        cases.append((every([*numbers, *doubles]), _DOUBLE, _compiled(expression, value, "DOUBLE")))
    may_be_integers = all(one.constant_kind in (None, TermKind.INTEGER) for one in operands)
    if "/" not in _signs(expression) and len(leaves) <= 2 and may_be_integers:
        # HUGEINT holds any product of two factors below 2**53; deeper trees are left to the prelude.
        integers = [part for one in varying for part in (equal(one.kind, _INTEGER), IsBound(one.number))]
        whole = _compiled(expression, value, "HUGEINT")
        small = infix(call("abs", whole), "<=", sql.number(_LARGEST))
        cases.append((every([*integers, small]), _INTEGER, sql.Cast(sql.Parentheses(whole), "DOUBLE")))
    if not cases:
        return None
    fallback = slow(some([sql.Parentheses(condition) for condition, _, _ in cases]))
    kinds = [(condition, kind) for condition, kind, _ in cases]
    # A NaN has a term, and no number (see Value).
    numbers_of = [(condition, call("nullif", number, sql.NAN)) for condition, _, number in cases]
    terms = [(condition, call("number_term", kind, number)) for condition, kind, number in cases]
    return Value(
        sql.choice(*terms, otherwise=fallback.term),
        sql.choice(*kinds, otherwise=fallback.kind),
        sql.choice(*numbers_of, otherwise=fallback.number),
    )


def _leaves(expression: a.Expression) -> list[a.Expression]:
    if isinstance(expression, a.Call) and expression.name in ("+", "-", "*", "/"):
        return [leaf for argument in expression.arguments for leaf in _leaves(argument)]
    return [expression]


def _signs(expression: a.Expression) -> set[str]:
    if isinstance(expression, a.Call) and expression.name in ("+", "-", "*", "/"):
        return {expression.name}.union(*map(_signs, expression.arguments))
    return set()


def double_conditions(expression: a.Expression, value: Callable[[a.Expression], Value]) -> list[Expression]:
    """Conditions under which every operation of the tree has a double operand (and so is done in doubles); FALSE is
    one that is never met.
    """
    if not isinstance(expression, a.Call):
        return _is_double([value(expression)])
    inner = [argument for argument in expression.arguments if isinstance(argument, a.Call)]
    if inner:  # an operation on a double result is an operation in doubles
        found = [condition for argument in inner for condition in double_conditions(argument, value)]
        return list(dict.fromkeys(found))
    return _is_double([value(argument) for argument in expression.arguments])


def _is_double(operands: Sequence[Value]) -> list[Expression]:
    """That one of some operands is a double: no condition, if one surely is."""
    if any(one.constant_kind == TermKind.DOUBLE for one in operands):
        return []
    varying = [equal(one.kind, _DOUBLE) for one in operands if one.constant is None]
    return [sql.Parentheses(sql.some(varying))] if varying else [sql.FALSE]


def _compiled(expression: a.Expression, value: Callable[[a.Expression], Value], type: str) -> Expression:
    if not isinstance(expression, a.Call):
        number = value(expression).number
        # SQL may compute what a condition beside it excludes: an infinity is no HUGEINT.
        return number if type == "DOUBLE" else sql.TryCast(number, type)
    operands = [_compiled(argument, value, type) for argument in expression.arguments]
    if len(operands) == 1:
        return sql.Parentheses(sql.Prefix(expression.name, operands[0]))
    left, right = operands
    return sql.Parentheses(infix(left, expression.name, right))
