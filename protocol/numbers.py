"""Exact values of literals: the order they have, and how a quotient is written."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

from protocol.terms import XSD, TermKind, date_time_value, facets

_DURATION = re.compile(
    r"(?P<sign>-?)P(?=[0-9T])(?:(?P<Y>[0-9]+)Y)?(?:(?P<M>[0-9]+)M)?(?:(?P<D>[0-9]+)D)?"
    r"(?:T(?=[0-9])(?:(?P<h>[0-9]+)H)?(?:(?P<m>[0-9]+)M)?(?:(?P<s>[0-9]+(?:\.[0-9]+)?)S)?)?\Z"
)
_MONTH = Fraction(146_097, 4800) * 86_400
"""Seconds: the mean of the calendar's. A duration is longer than another in whichever month, or neither is."""
_PARTS = {"duration": "YMDhms", "yearMonthDuration": "YM", "dayTimeDuration": "Dhms"}
_SECONDS = {
    "Y": 12 * _MONTH,
    "M": _MONTH,
    "D": Fraction(86_400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
}

_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_DATES = {
    "date": ("", "", "T00:00:00"),
    "time": ("", "1972-12-31T", ""),
    "gYearMonth": ("", "", "-01T00:00:00"),
    "gYear": ("", "", "-01-01T00:00:00"),
    "gMonthDay": ("-", "1972", "T00:00:00"),
    "gMonth": ("-", "1972", "-01T00:00:00"),
    "gDay": ("--", "1972-12", "T00:00:00"),
}
"""With which dateTime a literal begins (XML Schema 1.1 part 2, section E.3.3): what is left out before, and written
before and behind.
"""


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
            return date_time_value(lexical)
    return math.inf if kind == TermKind.DOUBLE else None


def single_precision(number: float) -> float:
    """The xsd:float nearest to a number."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(single)


def _order_value(term: str) -> Fraction | float | None:
    """The exact value, and that of durations, dates and what else of the calendar has an order (in milliseconds)."""
    value = exact_value(term)
    if value is not None or term[0] != '"' or facets(term)[0] != TermKind.OTHER_LITERAL:
        return value
    end = term.rindex('"')
    lexical, datatype = term[1:end], term[end + 4 + len(XSD) : -1]
    if not term.startswith(f"^^<{XSD}", end + 1):
        return None
    if (parts := _PARTS.get(datatype)) is not None:
        found = _DURATION.match(lexical)
        if found is None or any(found[part] is not None for part in _SECONDS if part not in parts):
            return None
        seconds = sum((Fraction(found[part] or 0) * _SECONDS[part] for part in parts), Fraction())
        return (-seconds if found["sign"] else seconds) * 1000
    if (date := _DATES.get(datatype)) is None:
        return None
    left_out, before, behind = date
    zone = _ZONE.search(lexical)
    if zone is None or not lexical.startswith(left_out):
        return None
    written = lexical[len(left_out) : zone.start()]
    return exact_value(f'"{before}{written}{behind}{zone[0]}"^^<{XSD}dateTime>')


def order_number(term: str) -> float | None:
    """A double in the order of the literal's value; for numbers and dateTimes that no double is exactly, and durations,
    dates and the like. None for what has no such order.
    """
    value = _order_value(term)
    return _nearest(value) if isinstance(value, Fraction) else value


def order_rest(term: str) -> float:
    """What ``order_number`` leaves over: decides between values of the same double."""
    value = _order_value(term)
    if not isinstance(value, Fraction):
        return 1.0
    number = _nearest(value)
    return float(value - Fraction(number)) if math.isfinite(number) else 0.0


def _nearest(value: Fraction) -> float:
    """The double nearest to a value, an infinity beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
