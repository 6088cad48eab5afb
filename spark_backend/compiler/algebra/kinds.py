"""What kind of term an expression gives, where that is known of all solutions alike."""

from __future__ import annotations

from protocol.language import algebra as a
from protocol.terms import TermKind, facets

_TEXT_FUNCTIONS = frozenset(
    {"STR", "LANG", "LANGDIR", "DATATYPE", "IRI", "URI", "BNODE", "UUID", "STRUUID", "STRLANG", "TZ", "ENCODE_FOR_URI"}
)
_TEXT_FUNCTIONS |= {"CONCAT", "SUBSTR", "REPLACE", "UCASE", "LCASE", "STRBEFORE", "STRAFTER"}
_TEXT_FUNCTIONS |= {"MD5", "SHA1", "SHA256", "SHA384", "SHA512"}
_TEXTS = frozenset({TermKind.STRING, TermKind.LANGUAGE_STRING, TermKind.IRI, TermKind.BLANK_NODE})
"""Kinds of what those functions give, if anything: terms that are equal to themselves and to no other."""


def is_text(expression: a.Expression) -> bool:
    """Whether it is a term of ``_TEXTS``, if any."""
    match expression:
        case a.Constant(text):
            return facets(text)[0] in _TEXTS
        case a.Parameter(kind=kind):
            return kind in _TEXTS
        case a.Call(name):
            return name in _TEXT_FUNCTIONS
    return False
