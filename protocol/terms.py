"""RDF terms as canonical N-Triples strings, and the value facets stored beside an object.

A term is written the one way RDF 1.2 N-Triples section 3 ("A Canonical form of N-Triples") writes it:
``<iri>``, ``_:label``, ``"x"``, ``"x"@en``, ``"x"@en--ltr``, ``"x"^^<datatype>``, ``<<( s p o )>>``; ``xsd:string``
without its datatype. These are the strings that ``term_text`` gives of pyoxigraph's terms, so two terms are the same
RDF term if and only if their strings are equal.

Facets are what comparison and arithmetic read instead of the string: ``k``, the kind (``TermKind``),
and ``n``, a float64 that compares within the kind's comparison class exactly as the literal's value
does, or None where no float64 does.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = f"<{RDF}type>"
"""The term, not the IRI."""
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
RDF_DIR_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"

Term = NamedNode | BlankNode | Literal | Triple

TRIPLE_BEGIN, TRIPLE_END = "<<( ", " )>>"
"""Around the subject, predicate and object of a triple term, between which is one space: neither of the first two has
one in it.
"""


class TermKind(IntEnum):
    """The facet ``k``: what a term is, and for a literal with a recognised datatype, which value space it is in.

    A literal whose lexical form is outside its datatype's lexical space is OTHER_LITERAL. A LANGUAGE_STRING may have a
    base direction.
    """

    INTEGER = 1
    DECIMAL = 2
    FLOAT = 3
    DOUBLE = 4
    BOOLEAN = 5
    DATE_TIME_ZONED = 6
    DATE_TIME_LOCAL = 7
    STRING = 8
    LANGUAGE_STRING = 9
    OTHER_LITERAL = 10
    IRI = 11
    BLANK_NODE = 12
    TRIPLE = 13


INTEGER_DATATYPES = frozenset(
    XSD + name
    for name in (
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
)
"""xsd:integer and what XSD derives from it. Like Oxigraph and rdflib, their ranges are not checked."""

_MAX_EXACT = 2**53
_MAX_DECIMAL_DIGITS = 15
"""Significant digits that survive the way through a float64."""
_MOST_PLACES, _GREATEST_DECIMAL = 18, 1.7e20
"""What has more places or is greater is no number to the one-shot engine, which is to say what it is then."""
_LONGEST_YEAR = 20
"""Characters: Python reads no number of some thousands of digits, and the one-shot engine none of so many."""
_MAX_MICROSECOND_EXACT = 2**43
"""Milliseconds below which neighbouring float64 are less than a microsecond apart."""

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)\Z", re.IGNORECASE | re.ASCII
)
_DATE_TIME = re.compile(
    r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
    r"T(?P<time>(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]+))?"
    r"|24:00:00(?:\.0+)?)"
    r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?\Z"
)
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

Facets = tuple[int, float | None]
_ILL_TYPED: Facets = (TermKind.OTHER_LITERAL, None)


def _integer(lexical: str) -> Facets:
    if not _INTEGER.match(lexical):
        return _ILL_TYPED
    digits = lexical.lstrip("+-").lstrip("0")
    # Python refuses to convert very long numerals, which no float64 holds anyway.
    if len(digits) > 16 or int(digits or "0") > _MAX_EXACT:
        return TermKind.INTEGER, None
    return TermKind.INTEGER, -float(digits) if digits and lexical[0] == "-" else float(digits or "0")


def _decimal(lexical: str) -> Facets:
    if not _DECIMAL.match(lexical):
        return _ILL_TYPED
    digits = lexical.lstrip("+-").replace(".", "").strip("0")
    if not digits:
        return TermKind.DECIMAL, 0.0
    value = float(lexical)
    fraction = lexical.partition(".")[2].rstrip("0")
    if len(digits) > _MAX_DECIMAL_DIGITS or len(fraction) > _MOST_PLACES or abs(value) > _GREATEST_DECIMAL:
        return TermKind.DECIMAL, None
    return TermKind.DECIMAL, value


def _double(lexical: str) -> Facets:
    return (TermKind.DOUBLE, float(lexical)) if _DOUBLE.match(lexical) else _ILL_TYPED


def _float(lexical: str) -> Facets:
    if not _DOUBLE.match(lexical):
        return _ILL_TYPED
    value = float(lexical)
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return TermKind.FLOAT, None
    return TermKind.FLOAT, value if single == value or value != value else None


def _boolean(lexical: str) -> Facets:
    if lexical in ("true", "1"):
        return TermKind.BOOLEAN, 1.0
    return (TermKind.BOOLEAN, 0.0) if lexical in ("false", "0") else _ILL_TYPED


def _date_time(lexical: str) -> Facets:
    match = _DATE_TIME.match(lexical)
    # The longest year whose milliseconds are exact has six digits.
    if match is None:
        return _ILL_TYPED
    kind = TermKind.DATE_TIME_LOCAL if match["zone"] is None else TermKind.DATE_TIME_ZONED
    if len(match["year"]) > 7:
        return kind, None
    seconds = _seconds(match)
    if seconds is None:
        return _ILL_TYPED
    fraction = (match["fraction"] or "").rstrip("0")
    if len(fraction) > 6:
        return kind, None
    milliseconds, microseconds = divmod(seconds * 1_000_000 + int(fraction.ljust(6, "0")), 1000)
    if microseconds == 0:
        return kind, float(milliseconds) if abs(milliseconds) <= _MAX_EXACT else None
    if abs(milliseconds) >= _MAX_MICROSECOND_EXACT:
        return kind, None
    return kind, (milliseconds * 1000 + microseconds) / 1000


def date_time_value(lexical: str) -> Fraction | None:
    """The exact milliseconds since the epoch of an xsd:dateTime, without a zone as if in UTC.

    None for what is none, and for a year of more digits than are read here.
    """
    match = _DATE_TIME.match(lexical)
    if match is None or len(match["year"]) > _LONGEST_YEAR:
        return None
    seconds = _seconds(match)
    return None if seconds is None else (seconds + Fraction(Decimal(f"0.{match['fraction'] or 0}"))) * 1000


def _seconds(match: re.Match[str]) -> int | None:
    """The whole seconds since the epoch of what _DATE_TIME has matched; None where the month has no such day."""
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _MONTH_LENGTHS[month - 1] + (month == 2 and leap):
        return None
    seconds = _days_since_epoch(year, month, day) * 86400
    if match["hour"] is None:
        seconds += 86400
    else:
        seconds += int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"])
    zone = match["zone"]
    if zone is not None and zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return seconds


def _date_time_stamp(lexical: str) -> Facets:
    facets = _date_time(lexical)
    return facets if facets[0] == TermKind.DATE_TIME_ZONED else _ILL_TYPED


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar, year 0 included (XSD 1.1)."""
    # Counting years from March puts the leap day at the end of the year.
    if month <= 2:
        year -= 1
    month_from_march = (month - 3) % 12
    day_of_year = (153 * month_from_march + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719468


_VALUE_SPACES: dict[str, Callable[[str], Facets]] = {
    **dict.fromkeys(INTEGER_DATATYPES, _integer),
    XSD + "decimal": _decimal,
    XSD + "float": _float,
    XSD + "double": _double,
    XSD + "boolean": _boolean,
    XSD + "dateTime": _date_time,
    XSD + "dateTimeStamp": _date_time_stamp,
    XSD + "string": lambda lexical: (TermKind.STRING, None),
    RDF_LANG_STRING: lambda lexical: (TermKind.LANGUAGE_STRING, None),
}


def facets(term: str) -> Facets:
    """The facets (k, n) of a canonical term.

    n is: for integers, the value where |v| <= 2**53; for decimals, the nearest float64 of those with at
    most 15 significant digits; for floats, the value where the lexical form denotes a float32 exactly;
    for doubles, the value; 0 or 1 for booleans; for dateTimes, milliseconds since the epoch with their
    fraction down to microseconds (without a zone: as if in UTC). Otherwise None. Lexical forms are
    accepted as Oxigraph accepts them: no white space around a number, a leading ``+`` is fine.
    """
    first = term[0]
    if first == "<":
        return TermKind.TRIPLE if is_triple(term) else TermKind.IRI, None
    if first == "_":
        return TermKind.BLANK_NODE, None
    end = term.rindex('"')
    return literal_facets(term[1:end], term[end + 1 :])


def comparable_facets(term: str) -> Facets:
    """The facets by which SQL compares a canonical term: n is None for NaN, too, which would equal itself there."""
    kind, number = facets(term)
    return kind, None if number != number else number


def literal_facets(lexical: str, suffix: str) -> Facets:
    """The facets of a literal, given its (still escaped) lexical form and what follows the closing quote."""
    if not suffix:
        return TermKind.STRING, None
    if suffix[0] == "@":
        return TermKind.LANGUAGE_STRING, None
    value_space = _VALUE_SPACES.get(suffix[3:-1])
    return _ILL_TYPED if value_space is None else value_space(lexical)


_TO_ESCAPE = re.compile(r'[\x00-\x1f"\\\x7f\ufffe\uffff]')
_SHORT_ESCAPES = {
    "\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\",
}  # fmt: skip
_ESCAPE_SEQUENCE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_UNESCAPES = {**{escape[1]: character for character, escape in _SHORT_ESCAPES.items()}, "'": "'"}


def escape(text: str) -> str:
    """The text as it stands between the quotes of a canonical literal."""
    return _TO_ESCAPE.sub(lambda match: _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", text)


def unescape(text: str) -> str:
    """The text that stands between the quotes of a literal. ValueError for an escape N-Triples does not have."""
    return _ESCAPE_SEQUENCE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code is not None:
        return chr(int(code, 16))
    try:
        return _UNESCAPES[match[3]]
    except KeyError:
        raise ValueError(f"{match[0]} is not an escape sequence of N-Triples") from None


def is_triple(term: str) -> bool:
    """Whether a canonical term is a triple term."""
    return term.startswith(TRIPLE_BEGIN)


DEEPEST_TRIPLE_TERM = 50
"""Triple terms within each other, in what streams take and give: whoever reads them has a stack, too."""
NESTED_TOO_DEEPLY = f"triple terms within each other are read to a depth of {DEEPEST_TRIPLE_TERM}"

# Only the last of the three parts may be a triple term.
TOO_DEEP = re.compile(rf"^(?:<<\( [^ ]+ [^ ]+ ){{{DEEPEST_TRIPLE_TERM + 1}}}")
"""What canonical terms match that nest more deeply (its pattern is also one of RE2's)."""


def triple_parts(term: str) -> tuple[str, str, str]:
    """Subject, predicate and object of a canonical triple term. ValueError if it is none."""
    parts = term.removeprefix(TRIPLE_BEGIN).removesuffix(TRIPLE_END).split(" ", 2)
    if len(parts) != 3 or len(term) != sum(map(len, (TRIPLE_BEGIN, *parts, TRIPLE_END))) + 2 or parts[0][:1] == '"':
        raise ValueError(f"{term!r} is not an RDF term in N-Triples")
    return parts[0], parts[1], parts[2]


def triple_text(subject: str, predicate: str, object: str) -> str:
    """The triple term of three canonical terms."""
    return f"{TRIPLE_BEGIN}{subject} {predicate} {object}{TRIPLE_END}"


_BLANK_NODES = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|(_:\S+)')


def blank_nodes(term: str) -> Iterator[str]:
    """The blank nodes that a canonical term is or, of a triple term, has within it: in order, one perhaps again."""
    return (match[1] for match in _BLANK_NODES.finditer(term) if match[1] is not None)


def rename_blank_nodes(term: str, rename: Callable[[str], str]) -> str:
    """A canonical term with another for each of its ``blank_nodes``."""
    return _BLANK_NODES.sub(lambda match: match[0] if match[1] is None else rename(match[1]), term)


def term_text(term: Term) -> str:
    """The canonical string of a term."""
    # pyoxigraph writes a triple without what makes it a term.
    return f"{TRIPLE_BEGIN}{term}{TRIPLE_END}" if isinstance(term, Triple) else str(term)


def parse_term(term: str) -> Term:
    """The pyoxigraph term a canonical string stands for. ValueError if it is not one."""
    if is_triple(term):
        subject, predicate, object_ = map(parse_term, triple_parts(term))
        if not isinstance(subject, NamedNode | BlankNode) or not isinstance(predicate, NamedNode):
            raise ValueError(f"{term!r} is not an RDF term in N-Triples")
        return Triple(subject, predicate, object_)
    if term.startswith("<") and term.endswith(">") and not term.startswith("<<"):
        return NamedNode(unescape(term[1:-1]))
    if term.startswith("_:"):
        return BlankNode(term[2:])
    lexical, suffix = _split_literal(term)
    if not suffix:
        return Literal(lexical)
    if suffix[0] == "@":
        language, _, direction = suffix[1:].partition("--")
        return Literal(lexical, language=language, direction=_DIRECTIONS[direction] if direction else None)
    return Literal(lexical, datatype=NamedNode(suffix[3:-1]))


_LANGUAGE = re.compile(r"@(?:(?!--).)*(?:--(?:ltr|rtl))?\Z")
_DIRECTIONS = {"ltr": BaseDirection.LTR, "rtl": BaseDirection.RTL}


def term_to_json(term: str) -> dict[str, Any]:
    """The term as a binding of SPARQL 1.2 Query Results JSON (section 3.2.2). ValueError if it is not a term."""
    if is_triple(term):
        names = ("subject", "predicate", "object")
        parts = map(term_to_json, triple_parts(term))
        return {"type": "triple", "value": dict(zip(names, parts, strict=True))}
    if term.startswith("<") and term.endswith(">") and not term.startswith("<<"):
        return {"type": "uri", "value": term[1:-1]}
    if term.startswith("_:"):
        return {"type": "bnode", "value": term[2:]}
    lexical, suffix = _split_literal(term)
    if not suffix:
        return {"type": "literal", "value": lexical}
    if suffix[0] == "@":
        language, _, direction = suffix[1:].partition("--")
        told = {"type": "literal", "value": lexical, "xml:lang": language}
        return told | {"its:dir": direction} if direction else told
    return {"type": "literal", "value": lexical, "datatype": suffix[3:-1]}


def _split_literal(term: str) -> tuple[str, str]:
    """The unescaped lexical form of a literal, and ``@language``, ``^^<datatype>`` or nothing."""
    end = term.rfind('"')
    suffix = term[end + 1 :]
    typed = suffix.startswith("^^<") and suffix.endswith(">")
    if end < 1 or term[0] != '"' or (suffix and not typed and not _LANGUAGE.match(suffix)):
        raise ValueError(f"{term!r} is not an RDF term in N-Triples")
    return unescape(term[1:end]), suffix
