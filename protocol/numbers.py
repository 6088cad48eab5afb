"""Exact values of literals: the order they have, and how a quotient is written."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction

from protocol.terms import XSD, TermKind, facets


def quotient_term(number: int, by: int) -> str:
    """The quotient as xsd:decimal, cut after 18 digits, as the one-shot engine has it."""
    whole, fraction = divmod(abs(number) * 10**18 // by, 10**18)
    digits = f"{fraction:018d}".rstrip("0")
    sign = "-" if number < 0 and (whole or fraction) else ""
    # By way of Decimal: Python writes no int of more than some thousand digits.
    return f'"{sign}{Decimal(whole):f}{"." if digits else ""}{digits}"^^<{XSD}decimal>'


def exact_value(term: str) -> Fraction | float | None:
    """The value of a number or dateTime (in milliseconds); infinities as they are, and None for what has no number.

    A NaN is infinity: it is ordered after all numbers.
    """
    if term[0] != '"':
        return None
    kind, number = facets(term)
    lexical = term[1 : term.rindex('"')]
    if number is not None and not math.isnan(number):
        return Fraction(number) if math.isfinite(number) else number
    match kind:
        case TermKind.INTEGER | TermKind.DECIMAL:
            return Fraction(Decimal(lexical))
        case TermKind.FLOAT:
            single = single_precision(float(lexical))
            return Fraction(single) if math.isfinite(single) else math.inf if math.isnan(single) else single
        case TermKind.DATE_TIME_ZONED | TermKind.DATE_TIME_LOCAL:
            start, _, fraction = lexical.partition(".")
            digits = fraction.rstrip("Z").partition("+")[0].partition("-")[0]
            seconds = facets(f'"{start}{fraction[len(digits) :]}"^^<{XSD}dateTime>')[1]
            return None if seconds is None else Fraction(seconds) + Fraction(Decimal(f"0.{digits or 0}")) * 1000
    return math.inf if kind == TermKind.DOUBLE else None


def single_precision(number: float) -> float:
    """The xsd:float nearest to a number."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(single)


def order_number(term: str) -> float | None:
    """A double in the order of the literal's value, for numbers and dateTimes that no double is exactly."""
    value = exact_value(term)
    if value is None or isinstance(value, float):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def order_rest(term: str) -> float:
    """What ``order_number`` leaves over: decides between values of the same double."""
    value = exact_value(term)
    if not isinstance(value, Fraction):
        return 1.0
    number = order_number(term)
    assert number is not None
    return float(value - Fraction(number)) if math.isfinite(number) else 0.0
