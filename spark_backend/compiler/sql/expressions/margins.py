"""Comparing what is calculated: in doubles wherever their error cannot change the answer, by the prelude elsewhere.

Conditions such as ``?x - ?y > 0.5`` or ``?t2 - ?t1 < "PT5S"^^xsd:dayTimeDuration`` are asked of every pair of rows of
two tables, and what is calculated is read by nothing else: it need not have a term. Of numbers up to 2**53 in all, a
sum or a product in doubles is as near to the value that SPARQL has (decimals of 18 places, SPARQL 1.1 Query section
17.3) as the margin says, and if all of them are whole, it is that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from protocol.language import algebra as a
from protocol.terms import XSD, TermKind, facets
from protocol.time import parse_duration
from spark_backend.compiler.sql.expressions.arithmetic import double_conditions
from spark_backend.compiler.sql.expressions.comparison import guard
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Case, In, IsBound, Parentheses, call, equal, every, infix, some
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import NO_NUMBER, Value, kind_of

_MARGIN = 1e-14
"""Of the size: some ninety roundings to the nearest double."""
_PLACES = 18
"""A product of decimals that has more of them is an error."""
_ROUNDED = 2.3e-16
"""Two roundings. A decimal has 15 digits at most if it has a number: ten to the power of n times as much is as near to
a whole number as that if it has n places at most, and else further than three times as much.
"""
_LARGEST = float(2**53)
_FINITE = 1.7e308
_COMPARABLE = (TermKind.INTEGER, TermKind.DECIMAL, TermKind.DOUBLE)
_TIME_LINES = (TermKind.DATE_TIME_ZONED, TermKind.DATE_TIME_LOCAL)
_DURATION = re.compile(
    r'"(?P<sign>-?)(?P<length>P(?=\d|T\d)(?:\d{1,9}D)?(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?'
    rf'(?:\d{{1,9}}(?:\.\d{{1,3}}0{{,9}})?S)?)?)"\^\^<{re.escape(XSD)}dayTimeDuration>\Z',
    re.ASCII,
)
"""One of whole milliseconds."""


class _Kind(Enum):
    NUMBER = "number"
    TIME = "dateTime"
    DURATION = "dayTimeDuration"


_KINDS: dict[tuple[str | _Kind, ...], _Kind] = {
    **{(sign, _Kind.NUMBER): _Kind.NUMBER for sign in ("+", "-", "ABS")},
    **{(sign, _Kind.NUMBER, _Kind.NUMBER): _Kind.NUMBER for sign in ("+", "-", "*", "/")},
    ("-", _Kind.TIME, _Kind.TIME): _Kind.DURATION,
    **{(sign, _Kind.TIME, _Kind.DURATION): _Kind.TIME for sign in ("+", "-")},
    **{(sign, _Kind.DURATION, _Kind.DURATION): _Kind.DURATION for sign in ("+", "-")},
}
"""Of what an operation is, by its operands."""


@dataclass(frozen=True)
class _Calculation:
    """``number``: a DOUBLE, a time or duration in milliseconds. ``size``: at least what it and all that it is made of
    are, whatever their signs. ``leaves``: the variables and constants of it but for durations. ``is_divided``: whether
    whole numbers may make one that is not. ``factors``: how many numbers that are not whole it multiplies at most.
    """

    kind: _Kind
    number: Expression
    size: Expression
    leaves: tuple[Value, ...] = ()
    is_divided: bool = False
    factors: int = 1


def comparison(
    expression: a.Call, value: Callable[[a.Expression], Value], slow: Callable[[], Expression]
) -> Expression | None:
    """The truth of ``=``, ``<`` and their kin of two operands one of which is a sum or product; None for any other.

    A BOOLEAN in SQL, NULL for a type error.
    """
    if not any(isinstance(operand, a.Call) for operand in expression.arguments):
        return None
    for of_variables in (_Kind.NUMBER, _Kind.TIME):
        left, right = (_calculation(operand, of_variables, value) for operand in expression.arguments)
        if left is None or right is None or left.kind != right.kind:
            continue
        if any(leaf.constant is None for leaf in (*left.leaves, *right.leaves)):
            return _compared(expression, left, right, value, slow)
    return None


def _compared(
    expression: a.Call,
    left: _Calculation,
    right: _Calculation,
    value: Callable[[a.Expression], Value],
    slow: Callable[[], Expression],
) -> Expression | None:
    leaves = tuple(dict.fromkeys((*left.leaves, *right.leaves)))
    size = infix(left.size, "+", right.size)
    compared = infix(left.number, expression.name, right.number)
    known = _are_known(leaves, left.kind == right.kind == _Kind.NUMBER)
    cases: list[tuple[Expression, Expression]] = []
    if not (left.is_divided or right.is_divided):
        difference = call("abs", Parentheses(infix(left.number, "-", right.number)))
        apart = infix(difference, ">", infix(Parentheses(size), "*", sql.double(_MARGIN)))
        factors = max(left.factors, right.factors)
        few = [_has_places(leaf, _PLACES // factors) for leaf in leaves] if factors > 1 else []
        sure = some([every([apart, *few]), every([_is_whole(leaf.number) for leaf in leaves])])
        cases.append((every([*known, infix(size, "<=", sql.double(_LARGEST)), Parentheses(sure)]), compared))
    calculated = [operand for operand in expression.arguments if isinstance(operand, a.Call)]
    doubles = [condition for operand in calculated for condition in double_conditions(operand, value)]
    if left.kind == _Kind.NUMBER and sql.FALSE not in doubles:
        cases.append((every([*known, *doubles, infix(size, "<=", sql.double(_FINITE))]), compared))
    return Case(tuple(cases), guard(leaves, slow)) if cases else None


def _are_known(leaves: tuple[Value, ...], are_numbers: bool) -> list[Expression]:
    """That all leaves are numbers of kinds that compare with any other, or all times on one time line."""
    kinds: list[Expression]
    if are_numbers:
        kinds = [In(leaf.kind, tuple(map(kind_of, _COMPARABLE))) for leaf in leaves if leaf.constant_kind is None]
    else:
        first, *rest = leaves
        kinds = [In(first.kind, tuple(map(kind_of, _TIME_LINES))), *(equal(leaf.kind, first.kind) for leaf in rest)]
    return [*kinds, *(IsBound(leaf.number) for leaf in leaves if leaf.constant_kind is None)]


def _calculation(
    expression: a.Expression, of_variables: _Kind, value: Callable[[a.Expression], Value]
) -> _Calculation | None:
    """What is calculated if all variables are numbers, or if all are times; None for what is not."""
    match expression:
        case a.Call("+" | "-" | "*" | "/" | "ABS" as sign, arguments):
            parts = [_calculation(argument, of_variables, value) for argument in arguments]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return _operation(sign, known)
        case a.Call():
            return None
        case a.Constant(text) if of_variables == _Kind.TIME and (match := _DURATION.match(text)):
            length = parse_duration(match["length"])
            number = sql.double(float(-length if match["sign"] else length))
            return _Calculation(_Kind.DURATION, number, call("abs", number))
    leaf = value(expression)
    kinds = _COMPARABLE if of_variables == _Kind.NUMBER else _TIME_LINES
    if leaf.constant_kind is not None and (leaf.constant_kind not in kinds or leaf.number == NO_NUMBER):
        return None
    factors = 0 if leaf.constant is not None and _places(leaf.constant) == 0 else 1
    return _Calculation(of_variables, leaf.number, call("abs", leaf.number), (leaf,), factors=factors)


def _operation(sign: str, operands: list[_Calculation]) -> _Calculation | None:
    first, last = operands[0], operands[-1]
    kind = _KINDS.get((sign, *(operand.kind for operand in operands)))
    if kind is None:
        return None
    made = _Calculation(
        kind,
        first.number,
        first.size,
        tuple(leaf for operand in operands for leaf in operand.leaves),
        sign == "/" or any(operand.is_divided for operand in operands),
        (sum if sign == "*" else max)(operand.factors for operand in operands),
    )
    if sign == "ABS":
        return replace(made, number=call("abs", first.number))
    if len(operands) == 1:
        return replace(made, number=Parentheses(sql.Prefix(sign, first.number)))
    size = infix(first.size, "+" if sign == "-" else sign, last.size)
    return replace(made, number=Parentheses(infix(first.number, sign, last.number)), size=Parentheses(size))


def _is_whole(number: Expression) -> Expression:
    return equal(infix(number, "%", sql.number(1)), sql.number(0))


def _has_places(leaf: Value, places: int) -> Expression:
    """That a decimal has so many places at most."""
    if leaf.constant is not None:
        return sql.TRUE if _places(leaf.constant) <= places else sql.FALSE
    scaled = call("abs", Parentheses(infix(leaf.number, "*", sql.double(10.0**places))))
    rest, near = infix(scaled, "%", sql.number(1)), infix(scaled, "*", sql.double(_ROUNDED))
    return Parentheses(some([infix(rest, "<=", near), infix(rest, ">=", infix(sql.number(1), "-", near))]))


def _places(number: str) -> int:
    kind, _ = facets(number)
    lexical = number[1 : number.rindex('"')]
    return len(lexical.partition(".")[2].rstrip("0")) if kind == TermKind.DECIMAL else 0
