"""Reading tokens one after the other, with errors that say what would have been right."""

from __future__ import annotations

from protocol.errors import ProtocolError, QuerySyntaxError
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, TokenKind, tokenize


class Cursor:
    """A place among the tokens of a source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source.text)
        self._index = 0

    @property
    def token(self) -> Token:
        """The token that is read next; END stays."""
        return self.tokens[self._index]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.tokens[min(self._index + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Read one token."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._index += 1
        return token

    def advance_to(self, offset: int) -> None:
        """Go on with the first token that starts at ``offset`` or after it."""
        while self.token.start < offset and self.token.kind is not TokenKind.END:
            self._index += 1

    def at(self, *words: str) -> bool:
        """Whether one of these keywords (upper case) is next."""
        return self.token.word in words if self.token.kind is TokenKind.WORD else False

    def at_punctuation(self, text: str) -> bool:
        """Whether this punctuation is next."""
        return self.token.kind is TokenKind.PUNCTUATION and self.token.text == text

    def take(self, *words: str) -> Token | None:
        """Read one of these keywords, if one is next."""
        return self.advance() if self.at(*words) else None

    def expect(self, *words: str, after: str) -> Token:
        """Read one of these keywords, or say that it belongs there."""
        if not self.at(*words):
            raise self.unexpected(f"{_alternatives(words)} after {after}")
        return self.advance()

    def expect_iri(self, what: str) -> Token:
        """Read an IRI or a prefixed name, or say what it should have been."""
        if self.token.kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
            raise self.unexpected(f"{what}, as <IRI> or prefix:name")
        return self.advance()

    def unexpected(self, wanted: str) -> ProtocolError:
        """The error for the next token where something else belongs."""
        return self.error(f"expected {wanted}, found {self.token.shown}")

    def error(
        self, detail: str, at: Token | int | None = None, kind: type[ProtocolError] = QuerySyntaxError
    ) -> ProtocolError:
        """An error at a token or offset; by default at the next token."""
        offset = self.token.start if at is None else at if isinstance(at, int) else at.start
        return self.source.error(detail, offset, kind)


def _alternatives(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
