"""Long documents are cut into pieces that can be parsed at the same time, each by itself.

A place to cut is guessed at from its line and the next one, which is right for nearly all that programs write. The
parser then proves it: a grammar that is read from left to right, without looking ahead across a line end, is between
two statements wherever what stands before the place is a document by itself. So if all pieces are documents, and none
but the last declares anything behind the preamble, which stands before each, together they say what the whole says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyoxigraph

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
    pattern = _PLACES.get(format)
    if count < 2 or pattern is None:
        return None
    preamble, names = b"", None
    if not format.has_a_statement_a_line:
        preamble = document[: preamble_end(document)]
        names = _declared(preamble, format, base)
        if names is None:
            return None
    bounds = [len(preamble)]
    for number in range(1, count):
        near = number * len(document) // count
        found = pattern.search(document, max(near, bounds[-1]), min(near + _REACH, len(document)))
        if found is not None and bounds[-1] < found.end() < len(document):
            bounds.append(found.end())
    if len(bounds) == 1:
        return None
    bounds.append(len(document))
    return Pieces([preamble + document[begin:end] for begin, end in pairwise(bounds)], names)


def _declared(preamble: bytes, format: RdfSyntax, base: str) -> Names | None:
    """What a preamble declares; None if it is none."""
    parser = pyoxigraph.parse(preamble, format.oxigraph, base_iri=base)
    try:
        return None if list(parser) else Names(parser.prefixes, parser.base_iri)
    except SyntaxError:
        return None
