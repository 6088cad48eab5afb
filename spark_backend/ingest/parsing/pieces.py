"""Long documents are cut into pieces that can be parsed at the same time, each by itself.

A place to cut is guessed at from its line and the next one, which is right for nearly all that programs write. The
parser then proves it: a grammar that is read from left to right, without looking ahead across a line end, is between
two statements wherever what stands before the place is a document by itself. So if all pieces are documents, and none
but the last declares anything behind the preamble, which stands before each, together they say what the whole says.
So do the members of ``@graph`` in JSON-LD, some with its context at a time, where the object has no other member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyoxigraph

from protocol.formats.document_checks import errors_placed
from protocol.formats.json.depth import brackets
from protocol.formats.media_types import RdfSyntax
from protocol.messages.preambles import preamble_end
from spark_backend.ingest.parsing.documents import Names

PIECE = 128 * 1024
"""A piece has so many bytes at least: for less, another process is not worth while."""

_REACH = 64 * 1024
"""A place to cut is looked for in so many bytes."""

_PLACES = {
    RdfSyntax.N_TRIPLES: re.compile(rb"\n"),
    RdfSyntax.N_QUADS: re.compile(rb"\n"),
    RdfSyntax.TURTLE: re.compile(rb"\.[ \t]*\r?\n(?=[^ \t\r\n])"),
    RdfSyntax.TRIG: re.compile(rb"\}[ \t]*\r?\n(?=[^ \t\r\n])"),
}


_SPACE = r"[ \t\r\n]*"
"""All that is white space to JSON."""
_MEMBER_CLOSED = re.compile(rf"\}}{_SPACE},(?={_SPACE}\{{)".encode())
_GRAPH_CLOSED = re.compile(rf"\]{_SPACE}\}}{_SPACE}\Z".encode())
_CONTEXT = re.compile(rf'{_SPACE}\{{{_SPACE}"@context"{_SPACE}:{_SPACE}')
_GRAPH_OPENED = re.compile(rf'{_SPACE}\{{{_SPACE}"@graph"{_SPACE}:{_SPACE}\[')
_GRAPH_FOLLOWS = re.compile(rf'{_SPACE},{_SPACE}"@graph"{_SPACE}:{_SPACE}\[')
_OPENING = b"[{"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Pieces:
    """``documents``: the pieces, each with the preamble; ``names``: what that declares, None where nothing can be."""

    documents: Sequence[bytes]
    names: Names | None

    def are_whole(self, ends: Sequence[Names]) -> bool:
        """Whether together they say what the whole document says, given what each has declared at its end."""
        return self.names is None or all(end == self.names for end in ends[:-1])


def cut(document: bytes, format: RdfSyntax, base: str, most: int) -> Pieces | None:
    """At most so many pieces of the document, in order; None if it is not to be cut."""
    count = min(most, len(document) // PIECE)
    if format is RdfSyntax.JSON_LD and count > 1:
        return _cut_graph(document, count)
    pattern = _PLACES.get(format)
    if count < 2 or pattern is None:
        return None
    preamble, names = b"", None
    if not format.has_a_statement_a_line:
        preamble = document[: preamble_end(document)]
        names = declared(preamble, format, base)
        if names is None:
            return None
    bounds = _bounds(document, len(preamble), len(document), pattern, count)
    return None if len(bounds) == 2 else Pieces([preamble + document[one:two] for one, two in pairwise(bounds)], names)


def _bounds(document: bytes, begin: int, end: int, place: re.Pattern[bytes], count: int) -> list[int]:
    """Where pieces of a part of the document begin, at most so many, behind places to cut, and where the last ends."""
    bounds = [begin]
    for number in range(1, count):
        near = begin + number * (end - begin) // count
        found = place.search(document, max(near, bounds[-1]), min(near + _REACH, end))
        if found is not None and bounds[-1] < found.end() < end:
            bounds.append(found.end())
    return [*bounds, end]


def _cut_graph(document: bytes, count: int) -> Pieces | None:
    """Pieces of a document in JSON-LD that is an object of ``@graph``, an array, and perhaps ``@context`` before it.

    It is if all pieces are JSON: brackets are closed in each as they are opened.
    """
    opened, closed = _graph_opened(document), _GRAPH_CLOSED.search(document, max(0, len(document) - _REACH))
    if opened is None or closed is None:
        return None
    bounds = _bounds(document, opened, closed.start(), _MEMBER_CLOSED, count)
    parts = [document[one:two] for one, two in pairwise(bounds)]
    parts[:-1] = [part.removesuffix(b",") for part in parts[:-1]]
    if len(parts) == 1 or not all(map(_is_balanced, parts)):
        return None
    return Pieces([document[:opened] + part + b"]}" for part in parts], None)


def _graph_opened(document: bytes) -> int | None:
    """Where the array of ``@graph`` begins, if nothing but a context stands before it."""
    text = document[:_REACH].decode(errors="ignore")
    end, context = 0, _CONTEXT.match(text)
    if context is not None:
        try:
            _, end = _DECODER.raw_decode(text, context.end())
        except (ValueError, RecursionError):
            return None
    found = (_GRAPH_OPENED if context is None else _GRAPH_FOLLOWS).match(text, end)
    return None if found is None else len(text[: found.end()].encode())


def _is_balanced(part: bytes) -> bool:
    """Whether brackets are closed in a part of a document of JSON as they are opened, if it is cut inside no string."""
    found = np.frombuffer(brackets(part), np.uint8)
    depth = np.cumsum(np.where((found == _OPENING[0]) | (found == _OPENING[1]), 1, -1))
    return len(depth) > 0 and depth.min() >= 0 and depth[-1] == 0


def declared(preamble: bytes, format: RdfSyntax, base: str) -> Names | None:
    """What a preamble declares; None if it is none."""
    parser = pyoxigraph.parse(preamble, format.oxigraph, base_iri=base)
    try:
        with errors_placed(preamble, format):
            return None if list(parser) else Names(parser.prefixes, parser.base_iri)
    except SyntaxError:
        return None
