"""Refusals, and where in the text of the query is what they refuse: rdflib's algebra has lost the places.

What refuses knows the construct and says by a ``Where`` how it is written; ``with_place`` looks for it in the tokens of
the text that the client sent, in which strings, comments and names are not taken for keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from protocol.errors import ProtocolError, QuerySyntaxError, UnsupportedFeature
from protocol.language.model import Form
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, TokenKind, tokenize

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_SIGNS = ("!", "-", "+")


@dataclass(frozen=True)
class _Text:
    """A query as it was sent: its tokens, the absolute base IRI it is read with."""

    source: Source
    tokens: Sequence[Token]
    base: str | None


Where = Callable[[_Text], Token | None]
"""Finds the token to point at."""


class NotCompilable(UnsupportedFeature):
    """The compiler does not evaluate it; the place is still to be found."""

    def __init__(self, detail: str, where: Where) -> None:
        super().__init__(detail)
        self.where = where


class NotParsed(QuerySyntaxError):
    """rdflib's parser does not read it; the place is still to be found."""

    def __init__(self, detail: str, where: Where) -> None:
        super().__init__(detail)
        self.where = where


def with_place(error: ProtocolError, text: str, base: str | None) -> ProtocolError:
    """The error with line and column in ``text``; the query form's keyword stands for what is not found."""
    if not isinstance(error, NotCompilable | NotParsed):
        return error
    source = Source(text)
    tokens = tokenize(source.text)
    found = error.where(_Text(source, tokens, base)) or _first(tokens, frozenset(Form)) or tokens[0]
    kind = UnsupportedFeature if isinstance(error, NotCompilable) else QuerySyntaxError
    return source.error(error.detail, found.start, kind)


def keyword(*words: str) -> Where:
    """The first of these keywords (in upper case)."""
    return lambda text: _first(text.tokens, frozenset(words))


def call_in_exists(*words: str) -> Where:
    """The first call of these functions inside of the group of an EXISTS."""

    def find(text: _Text) -> Token | None:
        inside = {token.start for token in _in_exists(text.tokens)}
        for token, following in zip(text.tokens, text.tokens[1:], strict=False):
            if token.word in words and following.text == "(" and token.start in inside:
                return token
        return None

    return find


def call(iri: str, arguments: int | None = None) -> Where:
    """The first call of the function with this IRI, written out or prefixed; with so many arguments, if told."""

    def find(text: _Text) -> Token | None:
        namespaces = _namespaces(text)
        for place, (token, following) in enumerate(zip(text.tokens, text.tokens[1:], strict=False)):
            if token.kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME) or following.text != "(":
                continue
            if arguments is not None and _arguments(text.tokens[place + 1 :]) != arguments:
                continue
            try:
                if namespaces.iri(token) == iri:
                    return token
            except QuerySyntaxError:
                continue
        return None

    return find


def deepest(text: _Text) -> Token | None:
    """Where brackets and signs nest most."""
    found, most, open_, signs = None, 0, 0, 0
    for token in text.tokens:
        signs = signs + 1 if token.text in _SIGNS else 0
        open_ += (token.text in _OPENING) - (token.text in _CLOSING)
        if open_ + signs > most:
            found, most = token, open_ + signs
    return found


def at(standard: str, offset: int) -> Where:
    """What stands at an offset of the standard query, whose lines are those of the text that was sent."""

    def find(text: _Text) -> Token | None:
        read = Source(standard)
        line, _ = read.place(offset)
        theirs = [token for token in tokenize(read.text) if read.place(token.start)[0] == line]
        ours = [token for token in text.tokens if text.source.place(token.start)[0] == line]
        here = next((place for place, token in enumerate(theirs) if token.end > offset), len(theirs))
        matched = SequenceMatcher(None, [one.text for one in theirs], [one.text for one in ours], autojunk=False)
        for block in matched.get_matching_blocks():
            if block.a + block.size > here:
                return ours[block.b + max(0, here - block.a)]
        return ours[-1] if ours else None

    return find


def mention(message: str) -> Where:
    """The first variable that a message names."""
    words = {word.strip(".,:;()'\"").removeprefix("?") for word in message.split()}
    return lambda text: next((t for t in text.tokens if t.kind is TokenKind.VARIABLE and t.text[1:] in words), None)


def _first(tokens: Sequence[Token], words: frozenset[str]) -> Token | None:
    return next((token for token in tokens if token.word in words), None)


def _in_exists(tokens: Sequence[Token]) -> Iterator[Token]:
    upto = -1
    for place, token in enumerate(tokens):
        if token.word == "EXISTS":
            upto = max(upto, place + len(_group(tokens[place + 1 :])))
        elif place <= upto:
            yield token


def _group(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens of the brackets that begin here, both of them too."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0:
            return tokens[: place + 1]
    return tokens


def _arguments(tokens: Sequence[Token]) -> int:
    """How many expressions stand in the parentheses that begin here."""
    group = _group(tokens)
    commas = depth = 0
    for token in group:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        commas += token.text == "," and depth == 1
    return 0 if len(group) <= 2 else commas + 1


def _namespaces(text: _Text) -> Namespaces:
    """BASE and PREFIX as they are declared before the query form."""
    namespaces = Namespaces(text.source, text.base)
    for token, following, after in zip(text.tokens, text.tokens[1:], text.tokens[2:], strict=False):
        if token.word == "PREFIX":
            namespaces.declare(following, after)
        elif token.word == "BASE":
            namespaces.base = namespaces.iri(following)
        elif token.word in frozenset(Form):
            break
    return namespaces
