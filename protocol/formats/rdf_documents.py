"""RDF documents that are read as wholes: as requests send them, and as they are found at addresses."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

import pyoxigraph as ox

from protocol.formats.document_checks import checked, errors_placed
from protocol.formats.media_types import RdfSyntax
from protocol.formats.version_lines import without_version_lines


def read_quads(document: bytes, syntax: RdfSyntax, base: str | None) -> Iterator[ox.Quad]:
    """What a document in UTF-8 says, a byte order mark before it or not. ``base`` resolves relative IRIs.

    Raises SyntaxError, with line and column where there are any, for what is not RDF, and ValueError for a base that is
    no IRI.
    """
    yield from _parsed(document, syntax, base, of_one_graph=False)


def read_graph(document: bytes, syntax: RdfSyntax, base: str | None) -> Iterator[ox.Triple]:
    """As ``read_quads``, of a document that has no named graph: its triples, with blank nodes that are nowhere else."""
    return (quad.triple for quad in _parsed(document, syntax, base, of_one_graph=True))


def _parsed(document: bytes, syntax: RdfSyntax, base: str | None, *, of_one_graph: bool) -> Iterator[ox.Quad]:
    text = document.removeprefix(BOM_UTF8)
    if syntax.has_a_statement_a_line:
        text = without_version_lines(text)
    text = checked(text, syntax)
    with errors_placed(text, syntax):
        yield from ox.parse(
            text, format=syntax.oxigraph, base_iri=base, without_named_graphs=of_one_graph,
            rename_blank_nodes=of_one_graph,
        )  # fmt: skip
