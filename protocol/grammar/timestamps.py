"""``timestamp(?v)`` and ``timestamp(s p o)`` (docs/language.md, "Time in queries"; C-SPARQL section 2.7; *RSP Query
Features*, Q6).
"""

from __future__ import annotations

from protocol.errors import UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.terms import TYPE, Terms
from protocol.language.algebra import TIMESTAMP, Call, Constant, Variable
from protocol.sparql.tokens import TokenKind

_IRIS = frozenset({"urn:x-sparql-streams:timestamp", "http://larkc.eu/csparql/sparql/jena/ext#timestamp"})
"""The function under an IRI: ours, and that of C-SPARQL's engine, whose queries write ``f:timestamp(?v)``."""
_RIGHT = "write timestamp(?variable), or a triple pattern as in timestamp(?s :p ?o)"


class TimestampCalls:
    """Reads calls of the function."""

    def __init__(self, cursor: Cursor, terms: Terms) -> None:
        self._cursor = cursor
        self._terms = terms

    @property
    def is_next(self) -> bool:
        """Whether the next tokens begin a call, by keyword or by IRI."""
        token, following = self._cursor.token, self._cursor.following
        if following.kind is not TokenKind.PUNCTUATION or following.text != "(":
            return False
        if self._terms.at_iri:
            return self._terms.namespaces.known(token) in _IRIS
        return token.word == "TIMESTAMP"

    def call(self) -> Call:
        """Read a call. Raises QuerySyntaxError and UnsupportedFeature."""
        cursor = self._cursor
        function = cursor.advance()
        parts: list[Variable | Constant] = []
        with cursor.nested("(", ")"):
            first = second = cursor.token
            while not cursor.at_punctuation(")"):
                if len(parts) == 3:
                    raise cursor.unexpected(") after the three parts of the triple in timestamp(…)")
                if len(parts) == 1:
                    second = cursor.token
                parts.append(self._part(predicate=len(parts) == 1))
                if cursor.take_punctuation(",") and cursor.at_punctuation(")"):
                    raise cursor.error(f"{_RIGHT}; found )")
            if len(parts) == 2 and isinstance(parts[0], Variable):
                raise cursor.error(
                    f"timestamp() of the triples of one stream alone is not evaluated: {_RIGHT}",
                    second,
                    UnsupportedFeature,
                )
            if len(parts) in (0, 2) or (len(parts) == 1 and not isinstance(parts[0], Variable)):
                raise cursor.error(_RIGHT, first)
        return Call(TIMESTAMP, tuple(parts), place=function.start)

    def _part(self, *, predicate: bool) -> Variable | Constant:
        cursor, terms = self._cursor, self._terms
        if terms.at_variable:
            return terms.variable()
        if predicate and cursor.token.kind is TokenKind.WORD and cursor.token.text == "a":
            cursor.advance()
            return TYPE
        if terms.at_iri:
            return terms.iri()
        if terms.at_literal():
            return terms.literal()
        raise cursor.error(f"{cursor.token.shown} cannot stand in timestamp(…): {_RIGHT}")
