"""Numbers that SQL leaves over: how computed ones are written, and sums of mixed kinds.

As the one-shot engine has them: integers of 64 bits, decimals of 18 fractional digits in 128 bits, an
error where a result does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal, InvalidOperation, localcontext

import numpy

from protocol.numbers import quotient_term
from protocol.terms import XSD, TermKind, facets

_STEP = Decimal("1e-18")
_INTEGERS = range(-(2**63), 2**63)
_MOST_DECIMAL = Decimal(2**127 - 1) * _STEP
_DIGITS = 60


def number_term(kind: int, number: float | None) -> str | None:
    """The term of a computed number of a kind, written as the one-shot engine writes it."""
    if number is None:
        return None
    match kind:
        case TermKind.INTEGER:
            return _integer_term(int(number))
        case TermKind.DECIMAL:
            return _decimal_term(Decimal(number))
        case TermKind.FLOAT:
            with numpy.errstate(over="ignore"):
                single = numpy.float32(number)
            return f'"{_floating_text(float(single), str(single))}"^^<{XSD}float>'
    return f'"{_floating_text(number, repr(number))}"^^<{XSD}double>'


def sum_term(
    average: bool,
    count: int | None,
    floating: float | None,
    whole: int | str | None,
    exact: Decimal | str | None,
    rest: Sequence[str] | None,
    errors: int | None = 0,
) -> str | None:
    """SUM or AVG of a group from its parts (18.5.1.3, 18.5.1.4); None where an argument was an error.

    ``floating``, ``whole`` and ``exact``: sums of its doubles, short integers and short decimals, None
    without any; ``rest``: the terms of everything else.
    """
    if errors:
        return None
    if not count:
        return _integer_term(0)
    if floating is None and not rest:
        if exact is None and whole is not None:
            return _sum_of_integers(int(whole), count if average else None)
        if whole is None and exact is not None:
            return _sum_of_decimals(Decimal(exact), count if average else 1)
    kinds = {TermKind.DOUBLE} if floating is not None else set()
    if exact is not None:
        kinds.add(TermKind.DECIMAL)
    integers, floats = int(whole or 0), [] if floating is None else [floating]
    with localcontext() as context:
        context.prec = _DIGITS
        decimals = Decimal(exact or 0)
        for term in rest or ():
            kind, _ = facets(term)
            if kind > TermKind.DOUBLE:
                return None
            lexical = term[1 : term.rindex('"')]
            match kind:
                case TermKind.INTEGER if len(lexical) < 25 and int(lexical) in _INTEGERS:
                    integers += int(lexical)
                case TermKind.DECIMAL if (decimal := _decimal(lexical)) is not None:
                    decimals += decimal
                case TermKind.FLOAT:
                    floats.append(float(numpy.float32(lexical)))
                case TermKind.DOUBLE:
                    floats.append(float(lexical))
                case _:
                    return None
            kinds.add(TermKind(kind))
        if TermKind.DOUBLE in kinds or TermKind.FLOAT in kinds:
            number = math.fsum(floats) if all(map(math.isfinite, floats)) else sum(floats)
            number += float(integers + decimals)
            kind = TermKind.DOUBLE if TermKind.DOUBLE in kinds else TermKind.FLOAT
            return number_term(kind, number / count if average else number)
        if integers not in _INTEGERS:
            return None
        if not average and TermKind.DECIMAL not in kinds:
            return _integer_term(integers)
        total = decimals + integers
        if abs(total) > _MOST_DECIMAL:
            return None
        return _decimal_term((total / count).quantize(_STEP, rounding=ROUND_DOWN) if average else total)


def _sum_of_integers(total: int, count: int | None) -> str | None:
    """The sum, or with a count the average, which is an xsd:decimal cut after 18 digits."""
    if total not in _INTEGERS:
        return None
    return _integer_term(total) if count is None else quotient_term(total, count)


def _sum_of_decimals(total: Decimal, count: int) -> str | None:
    """A part of the sum of decimals, cut after 18 digits. The sum itself has no more of them."""
    if total.copy_abs() > _MOST_DECIMAL:  # which abs() rounds
        return None
    numerator, denominator = total.as_integer_ratio()
    return quotient_term(numerator, denominator * count)


def _decimal(lexical: str) -> Decimal | None:
    try:
        value = Decimal(lexical)
        return value if value == value.quantize(_STEP) and abs(value) <= _MOST_DECIMAL else None
    except InvalidOperation:
        return None


def _integer_term(number: int) -> str:
    return f'"{number}"^^<{XSD}integer>'


def _decimal_term(value: Decimal) -> str:
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f'"{"0" if text in ("-0", "") else text}"^^<{XSD}decimal>'


def _floating_text(number: float, shortest: str) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    text = format(Decimal(shortest), "f")
    return text.removesuffix(".0") if "." in text else text
