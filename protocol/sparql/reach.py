"""What an update may change, as far as its text says it by itself: of which graphs, and with which predicates.

So that who has looked at other quads need not look again. Only what is plainly written is understood: quads of
constants and variables in INSERT and DELETE. Of all else it is said that it may change anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from protocol.sparql.iris import named_iris
from protocol.sparql.prologue import after_prologue
from protocol.sparql.tokens import Token, TokenKind, closings, tokenize
from protocol.terms import RDF_TYPE

_LONGEST = 64 * 1024
"""Characters; to read more would take longer than it saves."""
_MOST_NAMES = 100
_DEFAULT = ""
_NAMES = (TokenKind.IRI, TokenKind.PREFIXED_NAME)
_SUBJECTS = (*_NAMES, TokenKind.VARIABLE, TokenKind.BLANK_NODE)
_OBJECTS = (*_SUBJECTS, TokenKind.STRING, TokenKind.NUMBER)


class Place(NamedTuple):
    """The quads of a graph, by its IRI ("" is the default graph), with a predicate (N-Triples); None is any."""

    graph: str | None
    predicate: str | None

    def has(self, graphs: Collection[str] | None, predicate: str | None) -> bool:
        """Whether any quad is here that is in one of these graphs, with this predicate; None is any."""
        in_graphs = self.graph is None or graphs is None or self.graph in graphs
        return in_graphs and (self.predicate is None or predicate is None or self.predicate == predicate)


Reach = frozenset[Place]
"""Where something may be changed."""
EVERYWHERE: Reach = frozenset({Place(None, None)})


class _NotPlain(Exception):
    """Something is written that is not understood here."""


@lru_cache(maxsize=64)
def reach(update: str, base: str | None = None) -> Reach:
    """Where an update of one prologue (``with_one_prologue``), if it is any, may change something."""
    # Escapes of characters may stand for any sign of the grammar.
    if len(update) > _LONGEST or "\\u" in update or "\\U" in update:
        return EVERYWHERE
    start = after_prologue(update)
    found = [token for token in tokenize(update) if token.start >= start]
    names = _Names(update[:start], base)
    try:
        return frozenset(_operations(found, names))
    except _NotPlain:
        return EVERYWHERE


def _operations(found: Sequence[Token], names: _Names) -> set[Place]:
    places: set[Place] = set()
    closed = closings(found)
    index = 0
    graph = _DEFAULT
    while index < len(found) - 1:
        token = found[index]
        if token.text == ";":
            index, graph = index + 1, _DEFAULT
        elif token.word == "WITH":
            index, graph = index + 2, names.iri(found[index + 1])
        elif token.word == "USING":
            index += 3 if found[index + 1].word == "NAMED" else 2
        elif token.word in ("INSERT", "DELETE"):
            # DELETE WHERE has a template, too.
            index += 2 if found[index + 1].word in ("DATA", "WHERE") else 1
            end = _end(found, closed, index)
            places |= _quads(found, closed, index + 1, end, graph, names)
            index = end + 1
        elif token.word == "WHERE":
            index = _end(found, closed, index + 1) + 1
        else:
            raise _NotPlain
    return places


def _end(found: Sequence[Token], closed: dict[int, int], index: int) -> int:
    """Where the group ends that begins there."""
    if index not in closed:
        raise _NotPlain
    return closed[index]


def _quads(
    found: Sequence[Token], closed: dict[int, int], index: int, end: int, graph: str | None, names: _Names
) -> set[Place]:
    """Where the quads of a template or of data are, of those between two places in the text."""
    places: set[Place] = set()
    of, inner = graph, end
    expected = "subject"
    while index < end:
        token = found[index]
        kind, text = token.kind, token.text
        if expected == "subject" and token.word == "GRAPH" and inner == end and index + 2 < end:
            of, inner = names.of(found[index + 1]), _end(found, closed, index + 2)
            index += 2
        elif index == inner and expected in ("subject", "predicate", "next"):
            of, inner, expected = graph, end, "subject"
        elif expected == "subject" and kind in _SUBJECTS:
            expected = "predicate"
        elif expected == "predicate" and (kind in (*_NAMES, TokenKind.VARIABLE) or text == "a"):
            places.add(Place(of, names.predicate(token)))
            expected = "object"
        elif expected == "object" and (kind in _OBJECTS or token.word in ("TRUE", "FALSE")):
            expected = "next"
        elif expected == "next" and kind is TokenKind.LANGUAGE_TAG:
            pass
        elif expected == "next" and text == "^^" and found[index + 1].kind in _NAMES:
            index += 1
        elif expected in ("next", "predicate") and text in (";", "."):
            expected = "predicate" if text == ";" else "subject"
        elif expected == "next" and text == ",":
            expected = "object"
        elif expected != "subject" or text != ".":
            raise _NotPlain
        index += 1
    return places


class _Names:
    """The IRIs that stand for themselves or are abbreviated, behind a prologue."""

    def __init__(self, prologue: str, base: str | None) -> None:
        self._prologue = prologue
        self._base = base
        self._known: dict[str, str] = {}

    def iri(self, token: Token) -> str:
        if token.kind not in _NAMES or len(self._known) > _MOST_NAMES:
            raise _NotPlain
        if token.text not in self._known:
            found = named_iris(self._prologue, [token.text], self._base)
            if not found:
                raise _NotPlain
            self._known[token.text] = found[0]
        return self._known[token.text]

    def of(self, token: Token) -> str | None:
        """As ``iri``; None of a variable."""
        return None if token.kind is TokenKind.VARIABLE else self.iri(token)

    def predicate(self, token: Token) -> str | None:
        """The term in N-Triples; None of a variable."""
        if token.text == "a":
            return RDF_TYPE
        iri = self.of(token)
        return None if iri is None else f"<{iri}>"
