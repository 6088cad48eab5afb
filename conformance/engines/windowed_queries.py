"""A one-shot query of a suite as a continuous one, over windows that hold the graphs of its test."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.sparql.tokens import Token, TokenKind, tokenize

_FORMS = frozenset({"SELECT", "CONSTRUCT", "ASK", "DESCRIBE"})
_AFTER = frozenset({"WHERE", "FROM", "ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET", "VALUES"})


def windowed(text: str, default: Sequence[str], named: Sequence[str], window: str) -> str:
    """The query with these streams, all with one window, for its dataset; its own dataset clauses are left out.

    ``default`` and ``named`` are IRIs of streams; the graph a named one becomes has the same IRI. A dataset without one
    names a graph that is not there: else GRAPH ?g would stand for the window of FROM STREAM (C-SPARQL section 5.2).
    """
    clauses = [f"FROM STREAM <{iri}> {window}" for iri in default]
    clauses += [f"FROM NAMED STREAM <{iri}> {window}" for iri in named]
    clauses += [] if named else ["FROM NAMED <urn:x-sparql-streams:conformance:none>"]
    found = tokenize(text)[:-1]
    place = _dataset_place(text, found)
    cuts = [(start, end) for start, end in _dataset_clauses(found) if end <= place or start >= place]
    pieces: list[str] = []
    done = 0
    for start, end, instead in sorted([(place, place, f" {' '.join(clauses)} "), *((s, e, "") for s, e in cuts)]):
        pieces += [text[done:start], instead]
        done = end
    return "".join([*pieces, text[done:]])


def _dataset_place(text: str, found: Sequence[Token]) -> int:
    """Where the dataset clauses of a query begin, or would."""
    form = next((index for index, token in enumerate(found) if token.depth == 0 and token.word in _FORMS), None)
    if form is None:
        return len(text)
    index = form + 1
    if found[form].word == "CONSTRUCT" and index < len(found) and found[index].text == "{":
        index += 1
        while index < len(found) and not (found[index].text == "}" and found[index].depth == 0):
            index += 1
        index += 1
    parentheses = 0
    for token in found[index:]:
        parentheses += {"(": 1, ")": -1}.get(token.text, 0)
        if parentheses == 0 and token.depth == 0 and (token.word in _AFTER or token.text == "{"):
            return token.start
    return len(text)


def _dataset_clauses(found: Sequence[Token]) -> list[tuple[int, int]]:
    """Start and end of each FROM and FROM NAMED clause."""
    clauses = []
    for index, token in enumerate(found):
        if token.depth == 0 and token.word == "FROM":
            rest = [one for one in found[index + 1 : index + 3] if one.word != "NAMED"]
            if rest and rest[0].kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
                clauses.append((token.start, rest[0].end))
    return clauses
