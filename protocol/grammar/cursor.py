"""Reading tokens one after the other, with errors that say what was expected and what was found."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import attrgetter

from protocol.errors import ProtocolError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.foreign import foreign
from protocol.sparql.source import Source
from protocol.sparql.syntax import ONE_IRI, escape_fault, iris_like_operators
from protocol.sparql.tokens import Token, TokenKind, illegal_fault, iri_fault, tokens

DEEPEST = 100
"""Brackets and groups within each other: productions call each other, and Python's stack is bounded."""

MOST_TOKENS = 40_000
"""Of a query. As long as it takes to read so many, others wait for the interpreter."""

MOST_OPERATIONS = 2000
"""Operators, triples and other patterns of a query, and its windows: each has its part in the SQL that it becomes."""

_OF_NAMES = re.compile(r"\bIRI\b|RDF term")
"""In what was wanted, where a name might stand."""
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<<(": ")>>", "<<": ">>", "{|": "|}"}
_IN_GROUP = "inside a group, as in WHERE { … }"
_BETWEEN_EVENTS = "between the groups of an event pattern, as in STREAM <stream> { … } %s { … }"
_PLACES = {
    **dict.fromkeys(("RSTREAM", "ISTREAM", "DSTREAM"), "right after the SELECT or CONSTRUCT of the outermost query"),
    "REGISTER": "once, before the query: REGISTER QUERY name AS SELECT …",
    "FROM": "before the WHERE of the outermost query",
    "AGGREGATE": "right after the WHERE of the outermost query, before ORDER BY and the like",
    "WINDOW": _IN_GROUP,
    "STREAM": _IN_GROUP,
    **{word: _BETWEEN_EVENTS % word for word in ("SEQ", "OPTIONALSEQ", "EQUALS", "EQUALSOPTIONAL", "AND", "OR")},
    "CURRENT": _IN_GROUP,
    "FACT": "right after CONSTRUCT, before the query that reads it",
}
"""Where keywords go that were found elsewhere."""

_BEHIND_GROUPS = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_SLIPS = {"GROUPBY": "GROUP BY", "ORDERBY": "ORDER BY", "PARTITIONBY": "PARTITION BY"}


class Cursor:
    """A place among the tokens of a source. Raises UnsupportedFeature where these are too many.

    ``liberal``: the productions read what the authors of the dialects print and no grammar of SPARQL has, too
    (docs/language.md, "Liberties of printed queries"), ``continuous``: of a query over streams.
    """

    def __init__(self, source: Source, *, liberal: bool = False, continuous: bool = False) -> None:
        self.source = source
        self.liberal = liberal or continuous
        self.continuous = continuous
        self.tokens = list(islice(tokens(source.text), MOST_TOKENS + 1))
        self._index = 0
        self._open: list[Token] = []
        self._operations = 0
        if len(self.tokens) > MOST_TOKENS:
            detail = f"more than {MOST_TOKENS} words and signs: load data into a graph, and match it there"
            raise self.error(detail, self.tokens[-1], UnsupportedFeature)
        if source.escapes and (fault := escape_fault(source, self.tokens)) is not None:
            raise self.error(fault.detail, fault.offset)

    @property
    def token(self) -> Token:
        """The token that is read next; END stays."""
        return self.tokens[self._index]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.ahead(1)

    def ahead(self, count: int) -> Token:
        """The token that follows after so many: none is the next one."""
        return self.tokens[min(self._index + count, len(self.tokens) - 1)]

    @property
    def previous(self) -> Token:
        """The token that was read last."""
        return self.tokens[max(self._index - 1, 0)]

    def advance(self) -> Token:
        """Read one token."""
        token = self.tokens[self._index]
        if token.kind is TokenKind.ILLEGAL:
            raise self.unexpected("a token")
        if token.kind is not TokenKind.END:
            self._index += 1
        return token

    def advance_to(self, offset: int) -> None:
        """Go on with the first token that starts at ``offset`` or after it."""
        while self.token.start < offset and self.token.kind is not TokenKind.END:
            self._index += 1

    def read_since(self, first: Token) -> Sequence[Token]:
        """The tokens that were read from this one on."""
        return self.tokens[bisect_left(self.tokens, first.start, key=attrgetter("start")) : self._index]

    @property
    def at_end(self) -> bool:
        """Whether a group, or the text, ends here."""
        return self.token.kind is TokenKind.END or self.at_punctuation("}")

    def count_operation(self, at: Token | int | None = None) -> None:
        """One operator or pattern more. Raises UnsupportedFeature where these are too many."""
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise self.error(f"more than {MOST_OPERATIONS} operators, patterns and windows", at, UnsupportedFeature)

    # Keywords

    def at(self, *words: str) -> bool:
        """Whether one of these keywords (upper case) is next."""
        return self.token.kind is TokenKind.WORD and self.token.word in words

    def take(self, *words: str) -> Token | None:
        """Read one of these keywords, if one is next."""
        return self.advance() if self.at(*words) else None

    def expect(self, *words: str, after: str) -> Token:
        """Read one of these keywords, or say that it belongs there."""
        if not self.at(*words):
            raise self.unexpected(f"{alternatives(words)} after {after}")
        return self.advance()

    # Punctuation

    def at_punctuation(self, *texts: str) -> bool:
        """Whether one of these is next."""
        return self.token.kind is TokenKind.PUNCTUATION and self.token.text in texts

    def take_punctuation(self, *texts: str) -> Token | None:
        """Read one of these, if one is next."""
        return self.advance() if self.at_punctuation(*texts) else None

    def expect_punctuation(self, text: str, wanted: str | None = None) -> Token:
        """Read this, or say what should have been there."""
        if not self.at_punctuation(text):
            raise self.unexpected(wanted or text)
        return self.advance()

    @contextmanager
    def nested(self, opening: str, closing: str, wanted: str | None = None) -> Iterator[Token]:
        """Read an opening bracket, then what the block reads, then the closing one."""
        bracket = self.expect_punctuation(opening, wanted)
        self._open.append(bracket)
        if len(self._open) > DEEPEST:
            raise self.error(f"nested more than {DEEPEST} deep", bracket, UnsupportedFeature)
        yield bracket
        if not self.at_punctuation(closing):
            raise self.unexpected(self._closing_wanted())
        self.advance()
        self._open.pop()

    # Errors

    def expect_iri(self, what: str) -> Token:
        """Read an IRI or a prefixed name, or say what it should have been."""
        if self.token.kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
            raise self.unexpected(f"{what}, as <IRI> or prefix:name")
        return self.advance()

    def unexpected(self, wanted: str) -> ProtocolError:
        """The error for the next token where something else belongs."""
        token = self.token
        if other := foreign(self.source.text, self.tokens):
            return self.error(other)
        if token.kind is TokenKind.ILLEGAL:
            return self.error(illegal_fault(token.text))
        if token.text == "<" and (fault := iri_fault(self.source.text, token.start)):
            return self.error(fault)
        if token.word in _SLIPS:
            return self.error(f"{token.text} is two words: write {_SLIPS[token.word]}")
        if token.text == "?" and self.following.kind is TokenKind.WORD:
            return self.error(f"the name of a variable follows its ? at once: write ?{self.following.text}")
        if token.text == "/" and self.following.text == "/" and self.following.start == token.end:
            return self.error("a comment begins with #, and not with //")
        before = self.previous
        if before.kind is TokenKind.VARIABLE and token.text[:1] == "-" and token.start == before.end:
            meant = f"{before.text}_{self.following.text if token.text == '-' else token.text[1:]}"
            return self.error(f"a variable has no hyphen in its name: write {meant}")
        if token.word in _PLACES:
            return self.error(f"{token.word} goes {_PLACES[token.word]}; expected {wanted}")
        if token.text in _BRACKETS.values() and not self._open:
            return self.error(f"{token.text} closes nothing")
        if self._open and (token.kind is TokenKind.END or token.word in _BEHIND_GROUPS):
            wanted = self._closing_wanted()
        for iri in iris_like_operators(self.tokens[: self._index + 1]) if self._open else ():
            if iri.start > self._open[-1].start:
                return self.error(ONE_IRI, iri)
        found = f"expected {wanted}, found {token.shown}"
        if token.kind is TokenKind.WORD and _OF_NAMES.search(wanted) and not token.text.isupper():
            return self.error(f"{found}: a name has a prefix, as in :{token.text}")
        if before.text == "^^" and token.kind is not TokenKind.END:
            return self.error(f"{found}; conditions are joined with &&")
        return self.error(found)

    def _closing_wanted(self) -> str:
        opening = self._open[-1]
        line, column = self.source.place(opening.start)
        return f"{_BRACKETS[opening.text]} for the {opening.text} of line {line}, column {column}"

    def error(
        self, detail: str, at: Token | int | None = None, kind: type[ProtocolError] = QuerySyntaxError
    ) -> ProtocolError:
        """An error at a token or offset; by default at the next token."""
        offset = self.token.start if at is None else at if isinstance(at, int) else at.start
        return self.source.error(detail, offset, kind)


def alternatives(words: tuple[str, ...]) -> str:
    """``A, B or C``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
