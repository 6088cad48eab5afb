"""The RDF dataset of a request: FROM clauses found in a query, USING clauses written into an update.

SPARQL 1.1 Query section 13.2; SPARQL 1.1 Protocol sections 2.1.4 and 2.2.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from protocol.errors import ProtocolError
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, closings, outside_brackets, tokens


class DatasetConflict(ProtocolError):
    """The request names its dataset in two contradicting ways, or in one that is wrong."""

    title = "The dataset of the request is wrong"


@dataclass(frozen=True)
class RequestedGraphs:
    """The dataset that a request names, instead of FROM's (SPARQL 1.1 Protocol section 2.1.4): absolute IRIs.

    ``default`` are merged into the default graph. False without any: then the query's own clauses count.
    """

    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.default or self.named)


NONE_REQUESTED = RequestedGraphs()


@dataclass(frozen=True)
class DatasetClauses:
    """The FROM clauses of a query, as written (IRIs or prefixed names, unresolved), and its prologue."""

    prologue: str
    default: tuple[str, ...]
    named: tuple[str, ...]


def dataset_clauses(text: str) -> DatasetClauses:
    """The dataset clauses of a standard query. Of a text that is no query, whatever looks like them."""
    prologue_end: int | None = None
    default: list[str] = []
    named: list[str] = []
    previous: list[str] = ["", ""]
    for token in tokens(text):
        if token.word in ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE") and prologue_end is None:
            prologue_end = token.start
        # CONSTRUCT's template is the only group that may stand before a dataset clause.
        if token.depth == 0 and token.kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
            if previous[-1] == "FROM":
                default.append(token.text)
            elif previous == ["FROM", "NAMED"]:
                named.append(token.text)
        previous = [previous[-1], token.word]
    return DatasetClauses(text[: prologue_end or 0], tuple(default), tuple(named))


def require_absolute(parameter: str, iri: str) -> str:
    """The IRI itself; DatasetConflict, naming the parameter, unless it is absolute (RFC 3987)."""
    try:
        NamedNode(iri)
    except ValueError as error:
        raise DatasetConflict(
            f"{parameter}={iri!r} is not an absolute IRI: {error}; write one such as http://example.org/graph"
        ) from None
    return iri


def with_using(update: str, graphs: Sequence[str], named: Sequence[str]) -> str:
    """The update with USING and USING NAMED clauses for these graphs in each operation that has a WHERE.

    Protocol section 2.2.3: an update that has such clauses, or WITH, itself is an error.
    """
    if not graphs and not named:
        return update
    clauses = "".join(f"USING <{iri}> " for iri in graphs) + "".join(f"USING NAMED <{iri}> " for iri in named)
    found = outside_brackets(update)
    closed = closings(found)
    edits: list[tuple[int, int, str]] = []
    for index, token in enumerate(found):
        if token.depth or token.kind is not TokenKind.WORD:
            continue
        if token.word in ("USING", "WITH"):
            raise error_at(
                DatasetConflict,
                f"{token.word} in the update contradicts using-graph-uri or using-named-graph-uri in the request:"
                " name the graphs in one of the two",
                update,
                token.start,
            )
        if token.word == "WHERE":
            # DELETE WHERE {P} takes no USING; it is short for DELETE {P} WHERE {P} (Update section 3.1.3.3).
            short = index and found[index - 1].word == "DELETE"
            template = _group_after(update, found, closed, index) + " " if short else ""
            edits.append((token.start, token.start, template + clauses))
    return spliced(update, edits)


def _group_after(text: str, found: Sequence[Token], closed: Mapping[int, int], index: int) -> str:
    """The text of the group in curly brackets that follows; what is no group is left for the parser to refuse."""
    end = closed.get(index + 1)
    return "" if end is None else text[found[index + 1].start : found[end].end]
