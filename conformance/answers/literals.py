"""Literals by value: two lexical forms of one value of one datatype (RDF 1.1 Concepts section 5) are the same."""

from __future__ import annotations

import re
import struct
from decimal import Decimal, InvalidOperation
from math import isnan

import pyoxigraph as ox

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    _XSD + name
    for name in (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_SPECIAL = {"INF": "inf", "+INF": "inf", "-INF": "-inf", "NaN": "nan"}
_TIMES = frozenset(_XSD + name for name in ("dateTime", "dateTimeStamp", "date", "time"))
_FRACTION = re.compile(r"(:[0-9]{2})\.([0-9]*?)0*(?=Z|[+-][0-9]{2}:[0-9]{2}|\Z)")
_BOOLEANS = {"1": "true", "0": "false"}


def value(literal: ox.Literal) -> str:
    """A text that is equal for two literals of one datatype exactly if they stand for the same value.

    An ill-typed literal, or one of a datatype that is not known here, stands for itself.
    """
    lexical, datatype = literal.value, literal.datatype.value
    if datatype in _INTEGERS:
        return str(int(lexical)) if _INTEGER.match(lexical) else lexical
    if datatype == _XSD + "decimal":
        return _decimal(lexical) if _DECIMAL.match(lexical) else lexical
    if datatype in (_XSD + "double", _XSD + "float"):
        return _float(lexical, single=datatype.endswith("float"))
    if datatype == _XSD + "boolean":
        return _BOOLEANS.get(lexical, lexical)
    if datatype in _TIMES:
        return _time(lexical)
    return lexical


def number_in_text(literal: ox.Literal) -> str:
    """As ``value`` for a cell of CSV, which has no datatypes: what looks like a number is one."""
    return _float(literal.value, single=False) if _FLOAT.match(literal.value) else literal.value


def _decimal(lexical: str) -> str:
    try:
        number = Decimal(lexical)
    except InvalidOperation:
        return lexical
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "+0", "") else text.removeprefix("+")


def _float(lexical: str, *, single: bool) -> str:
    if lexical not in _SPECIAL and not _FLOAT.match(lexical):
        return lexical
    number = float(_SPECIAL.get(lexical, lexical))
    if isnan(number):
        return "NaN"
    if single:
        try:
            (number,) = struct.unpack("f", struct.pack("f", number))
        except OverflowError:
            number = float("inf") if number > 0 else float("-inf")
    return repr(number)


def _time(lexical: str) -> str:
    """Trailing zeros of the seconds and the spelling of UTC do not matter; the zone itself does."""

    def fraction(match: re.Match[str]) -> str:
        return f"{match[1]}.{match[2]}" if match[2] else match[1]

    return re.sub(r"[+-]00:00\Z", "Z", _FRACTION.sub(fraction, lexical))
