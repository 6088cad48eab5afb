"""LOAD operations of an update (SPARQL 1.1 Update section 3.1.4): found, checked, and replaced by what they load.

The engine would open the connection by itself, without limits; so the server fetches the documents, and the
update that runs has INSERT DATA in place of each LOAD. It stays one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.errors import UpdateSyntaxError
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.sparql.guard import FetchRefused, is_load, name_after, resolved
from protocol.sparql.prologue import declaration_end
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, outside_brackets, tokens, with_neighbours


@dataclass(frozen=True)
class Load:
    """``update[start:end]``: LOAD of the document at ``iri`` into ``graph``, as written (None: the default graph)."""

    iri: str
    silent: bool
    graph: str | None
    start: int
    end: int


def has_load(update: str) -> bool:
    """Whether an update may have a LOAD operation, whatever is wrong with it."""
    if "load" not in update.casefold():
        return False
    # No list of them all: an update may be as long as any body.
    return any(is_load(before, token) for before, token, _ in with_neighbours(tokens(update)))


def loads(update: str, allowed: AllowList = NOTHING, *, base: str | None = None) -> list[Load]:
    """The LOAD operations, in order.

    Raises FetchRefused, with the place, for an address that is not on the list (also with SILENT: the failure
    is not that of the load), UpdateSyntaxError for what is no LOAD operation.
    """
    if "load" not in update.casefold():
        return []
    found = outside_brackets(update, lambda token: "LOAD" in token.word)
    operations: list[Load] = []
    declarations: list[str] = []
    for index, (before, token, _) in enumerate(with_neighbours(found)):
        if not token.depth and (end := declaration_end(found, index)):
            declarations.append(" ".join(one.text for one in found[index:end]))
        if not is_load(before, token):
            continue
        if not allowed:
            raise error_at(
                FetchRefused,
                "LOAD is refused: no request makes this server fetch an address (the setting allow_fetch names "
                "exceptions); send the data to /graphs (SPARQL 1.1 Graph Store Protocol)",
                update,
                token.start,
            )
        operation = _operation(update, found, index, " ".join(declarations), base)
        if operation is None:
            raise error_at(
                UpdateSyntaxError,
                "write LOAD [SILENT] <iri> [INTO GRAPH <iri>], with spaces between, and a semicolon after it if "
                "another operation follows",
                update,
                token.start,
            )
        # What has no http or https address fails to load for everybody: SILENT holds for that failure.
        nowhere = operation.silent and not operation.iri.lower().startswith(("http:", "https:"))
        if not nowhere and not allowed.permits(operation.iri):
            told = f"LOAD is refused: this server may not fetch <{operation.iri}>; send the data to /graphs"
            raise error_at(FetchRefused, told, update, token.start)
        operations.append(operation)
    return operations


def with_data(update: str, operations: Sequence[Load], contents: Sequence[str | None]) -> str:
    """The update with INSERT DATA in place of each LOAD.

    ``contents`` are N-Triples documents, one an operation, whose blank nodes have labels of their own; None
    for a SILENT one that failed: it does nothing.
    """
    edits: list[tuple[int, int, str]] = []
    for operation, content in zip(operations, contents, strict=True):
        # As many lines as there were: an error after it is still named with its line.
        lines = "\n" * update.count("\n", operation.start, operation.end)
        data = "" if content is None else content.replace("\n", " ")
        instead = f"INSERT DATA {{ {data} }}"
        if operation.graph is not None and content is not None:
            graph = operation.graph
            instead = f"CREATE SILENT GRAPH {graph} ; INSERT DATA {{ GRAPH {graph} {{ {data} }} }}"
        edits.append((operation.start, operation.end, instead + lines))
    return spliced(update, edits)


def _operation(update: str, found: Sequence[Token], index: int, prologue: str, base: str | None) -> Load | None:
    source = name_after(found, index, "LOAD")
    if source is None or source.kind is TokenKind.VARIABLE or found[index].depth:
        return None
    silent = found[index + 1].word == "SILENT"
    after = index + 2 + silent
    graph: Token | None = None
    if [one.word for one in found[after : after + 2]] == ["INTO", "GRAPH"] and after + 2 < len(found):
        graph = found[after + 2]
        after += 3
    if graph is not None and graph.kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
        return None
    if after < len(found) and found[after].text != ";":
        return None
    iri = resolved(prologue, source.text, base)
    if iri is None:
        return None
    end = (graph or source).end
    return Load(iri, silent, None if graph is None else graph.text, found[index].start, end)
