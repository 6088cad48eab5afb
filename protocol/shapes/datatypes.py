"""Which lexical forms the datatypes of XML Schema have (XSD 1.1 Part 2, section 3), as sh:datatype asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from protocol.terms import XSD, TermKind, facets, unescape

_ZONE = r"(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?"
_YEAR = r"-?(?:[1-9]\d{3,}|0\d{3})"
_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)"
_SECONDS = r"(?:\d+(?:\.\d+)?S)"
_BASE64 = "(?:[A-Za-z0-9+/] ?)"
_NAME_BEGINS = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
"""With which characters a name begins, but for the colon, and which it may have (XML 1.0, section 2.3)."""
_NAME_HAS = _NAME_BEGINS + "0-9.\u00b7\u0300-\u036f\u203f\u2040-"
_OF_TIME = rf"T(?=\d)(?:\d+H)?(?:\d+M)?{_SECONDS}?"

_FORMS = {
    "date": rf"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}",
    "time": _TIME + _ZONE,
    "gYear": _YEAR + _ZONE,
    "gYearMonth": f"{_YEAR}-{_MONTH}{_ZONE}",
    "gMonth": f"--{_MONTH}{_ZONE}",
    "gDay": f"---{_DAY}{_ZONE}",
    "gMonthDay": f"--{_MONTH}-{_DAY}{_ZONE}",
    "duration": rf"-?P(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:{_OF_TIME})?",
    "dayTimeDuration": rf"-?P(?=\d|T)(?:\d+D)?(?:{_OF_TIME})?",
    "yearMonthDuration": r"-?P(?=\d)(?:\d+Y)?(?:\d+M)?",
    "hexBinary": r"(?:[0-9a-fA-F]{2})*",
    "base64Binary": f"(?:{_BASE64}{{4}})*(?:{_BASE64}{{3}}=|{_BASE64}{{2}}= ?=)?",
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    "normalizedString": r"[^\t\n\r]*",
    "token": r"(?:[^ \t\n\r]+(?: [^ \t\n\r]+)*)?",
    "NMTOKEN": f"[:{_NAME_HAS}]+",
    "Name": f"[:{_NAME_BEGINS}][:{_NAME_HAS}]*",
    "NCName": f"[{_NAME_BEGINS}][{_NAME_HAS}]*",
}
_DAYS = {"02": 29, "04": 30, "06": 30, "09": 30, "11": 30}

_BITS = {"long": 63, "int": 31, "short": 15, "byte": 7}
_RANGES: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(2**bits), 2**bits - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, 2 ** (bits + 1) - 1) for name, bits in _BITS.items()},
}
known_facets = lru_cache(4096)(facets)
"""``facets``, asked by several constraints of the same term."""

_LONGEST_BOUND = 25
"""Digits: no bound has so many."""


def lexical_test(datatype: str) -> Callable[[str], bool]:
    """What tells whether a lexical form, still escaped, is one of the datatype's; of those not known all are."""
    name = datatype.removeprefix(XSD)
    if name == datatype:
        return lambda form: True
    if name in _RANGES:
        lowest, highest = _RANGES[name]
        return lambda form: _is_integer(form, lowest, highest)
    if name in ("decimal", "float", "double", "boolean", "dateTime", "dateTimeStamp"):
        suffix = f'"^^<{datatype}>'
        return lambda form: known_facets(f'"{form}{suffix}')[0] != TermKind.OTHER_LITERAL
    if name not in _FORMS:
        return lambda form: True
    matches = re.compile(_FORMS[name], re.ASCII).fullmatch
    if name in ("date", "gMonthDay"):
        return lambda form: matches(form) is not None and _day_is_there(form)
    return lru_cache(1024)(lambda form: matches(unescape(form)) is not None)


def _is_integer(form: str, lowest: int | None, highest: int | None) -> bool:
    digits = form[1:] if form[:1] in ("+", "-") else form
    if not (digits.isascii() and digits.isdigit()):
        return False
    if lowest is None and highest is None:
        return True
    digits = digits.lstrip("0") or "0"
    if len(digits) > _LONGEST_BOUND:
        return (lowest if form[0] == "-" else highest) is None
    value = -int(digits) if form[0] == "-" else int(digits)
    return (lowest is None or value >= lowest) and (highest is None or value <= highest)


def _day_is_there(form: str) -> bool:
    """Whether the month has that day, of a form of xsd:date or xsd:gMonthDay."""
    year, month, day = re.match(r"(-?\d+|-)-(\d\d)-(\d\d)", form).groups()  # type: ignore[union-attr]  # it matches
    if int(day) > _DAYS.get(month, 31):
        return False
    if month != "02" or day != "29" or year == "-":
        return True
    number = int(year[-4:])  # 400 divides 10,000
    return number % 4 == 0 and (number % 100 != 0 or number % 400 == 0)
