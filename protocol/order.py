"""The order of terms (SPARQL 1.2 Query section 15.1) as that of texts; of triple terms by their parts, in turn."""

from __future__ import annotations

import struct

from protocol.numbers import order_number, order_rest
from protocol.terms import TermKind, facets, is_triple, triple_parts, unescape

_CLASSES = {
    TermKind.BLANK_NODE: 1,
    TermKind.IRI: 2,
    **dict.fromkeys((TermKind.INTEGER, TermKind.DECIMAL, TermKind.FLOAT, TermKind.DOUBLE), 3),
    **dict.fromkeys((TermKind.STRING, TermKind.LANGUAGE_STRING), 4),
    **dict.fromkeys((TermKind.DATE_TIME_ZONED, TermKind.DATE_TIME_LOCAL), 5),
    TermKind.BOOLEAN: 6,
    TermKind.OTHER_LITERAL: 8,
    TermKind.TRIPLE: 9,
}
_OTHER_WITH_VALUE = 7
"""As ``spark_backend.compiler.sql.expressions.order`` has them."""
_END = "\x01"
# So that the end is less than whatever may follow a text that begins alike.
_ESCAPED = {ord(character): f"\x02{chr(ord(character) + 3)}" for character in "\x00\x01\x02"}


def order_triple(term: str) -> str | None:
    """A text for a canonical triple term, whose order by code points is that of triple terms; None for other terms."""
    return "".join(map(order_text, triple_parts(term))) if is_triple(term) else None


def order_text(term: str) -> str:
    """A text for a canonical term, whose order by code points is that of ORDER BY; what is left open terms decide."""
    kind = TermKind(facets(term)[0])
    text = term
    if kind is TermKind.TRIPLE:
        text = "".join(map(order_text, triple_parts(term)))
    elif kind is TermKind.IRI:
        text = term[1:-1]
    elif kind in (TermKind.STRING, TermKind.LANGUAGE_STRING):
        # What has the same lexical form is told apart by the rest of the term.
        end = term.rindex('"')
        text = f"{unescape(term[1:end])}{_END}{term[end:]}"
    number, rest = order_number(term), order_rest(term)
    written = "" if number is None else f"{_ordered(number)}{_ordered(rest)}"
    order_class = _OTHER_WITH_VALUE if kind is TermKind.OTHER_LITERAL and written else _CLASSES[kind]
    return f"{order_class}{written}{text.translate(_ESCAPED)}{_END}"


def _ordered(number: float) -> str:
    """A double as hexadecimal digits in the order of doubles; -0.0 is 0.0."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    negative = bits >> 63
    return f"{bits ^ (2**64 - 1 if negative else 2**63):016x}"
