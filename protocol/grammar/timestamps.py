"""``timestamp(?v)`` and ``timestamp(s p o)`` (docs/language.md, "Time in queries"; C-SPARQL section 2.7; *RSP Query
Features*, Q6).
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.errors import UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.rewrite import Rewriter
from protocol.language.model import TIMESTAMP_FUNCTION
from protocol.sparql.iris import Namespaces
from protocol.sparql.tokens import Token, TokenKind

_WITH_IRIS = frozenset({TIMESTAMP_FUNCTION, "http://larkc.eu/csparql/sparql/jena/ext#timestamp"})
"""The function under an IRI: ours, and that of C-SPARQL's engine, whose queries write ``f:timestamp(?v)``."""
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_RIGHT = "write timestamp(?variable), or a triple pattern as in timestamp(?s :p ?o)"


class TimestampCalls:
    """Reads calls of the function, and writes them as calls that every parser of standard SPARQL takes.

    ``make_absolute`` writes a relative IRI out in full.
    """

    def __init__(
        self, cursor: Cursor, namespaces: Namespaces, rewriter: Rewriter, make_absolute: Callable[[Token], None]
    ) -> None:
        self._cursor = cursor
        self._namespaces = namespaces
        self._rewriter = rewriter
        self._make_absolute = make_absolute

    @property
    def is_next(self) -> bool:
        """Whether the next tokens begin a call, by keyword or by IRI."""
        token, following = self._cursor.token, self._cursor.following
        if following.kind is not TokenKind.PUNCTUATION or following.text != "(":
            return False
        if token.kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
            return self._namespaces.known(token) in _WITH_IRIS
        return token.word == "TIMESTAMP"

    def call(self) -> None:
        """Read a call, up to its closing parenthesis. Raises QuerySyntaxError and UnsupportedFeature."""
        cursor = self._cursor
        function = cursor.advance()
        self._rewriter.replace(function.start, function.end, f"<{TIMESTAMP_FUNCTION}>")
        cursor.advance()
        terms: list[Token] = []
        separated = True
        while not cursor.at_punctuation(")"):
            if terms and cursor.at_punctuation(",") and not separated:
                cursor.advance()
                separated = True
                continue
            if len(terms) == 3:
                raise cursor.unexpected(") after the three parts of the triple in timestamp(…)")
            if not separated:
                self._rewriter.replace(cursor.token.start, cursor.token.start, ", ")
            terms.append(self._term(predicate=len(terms) == 1))
            separated = False
        if len(terms) == 2 and terms[0].kind is TokenKind.VARIABLE:
            raise cursor.error(
                f"timestamp() of the triples of one stream alone is not evaluated: {_RIGHT}",
                terms[1],
                UnsupportedFeature,
            )
        if separated or len(terms) == 2 or (len(terms) == 1 and terms[0].kind is not TokenKind.VARIABLE):
            raise cursor.error(
                f"{_RIGHT}; found {cursor.token.shown if separated else terms[0].shown}", terms[0] if terms else None
            )
        cursor.advance()

    def _term(self, *, predicate: bool) -> Token:
        """Read a variable, an IRI or a literal."""
        cursor = self._cursor
        token = cursor.token
        match token.kind:
            case TokenKind.IRI:
                self._make_absolute(token)
            case TokenKind.VARIABLE | TokenKind.PREFIXED_NAME | TokenKind.NUMBER:
                pass
            case TokenKind.STRING:
                cursor.advance()
                if cursor.at_punctuation("^^"):
                    cursor.advance()
                    self._make_absolute(cursor.expect_iri("a datatype after ^^"))
                elif cursor.token.kind is TokenKind.LANGUAGE_TAG:
                    cursor.advance()
                return token
            case TokenKind.WORD if predicate and token.text == "a":
                self._rewriter.replace(token.start, token.end, f"<{_RDF_TYPE}>")
            case TokenKind.WORD if token.word in ("TRUE", "FALSE"):
                pass
            case _:
                raise cursor.error(f"{token.shown} cannot stand in timestamp(…): {_RIGHT}")
        return cursor.advance()
