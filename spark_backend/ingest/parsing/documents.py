"""Documents are validated and become columns of terms, by way of canonical N-Quads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import pyoxigraph

from protocol.formats.document_checks import checked, errors_placed
from protocol.formats.media_types import RdfSyntax
from spark_backend.ingest.terms.quads import Quads, quads_of


class Names(NamedTuple):
    """What a document of Turtle or TriG has declared at its end: prefixes, and the base."""

    prefixes: dict[str, str]
    base: str | None


class WrongDocument(Exception):
    """One of several documents is not RDF: which (from 0), and what is wrong with it."""

    def __init__(self, number: int, error: SyntaxError) -> None:
        super().__init__(number, error)
        self.number = number
        self.error = error


class Parsed(NamedTuple):
    """The statements of documents, how many each has, and what the last one has declared at its end."""

    quads: Quads
    counts: Sequence[int]
    end: Names


class Parser(Protocol):
    """What makes statements of documents: this process, or others, of which one may be lost (Unavailable)."""

    def statements(self, document: bytes, format: RdfSyntax, base: str) -> Quads:
        """The document's statements. Raises SyntaxError for what is not RDF, with line and column.

        ``base`` resolves relative IRIs.
        """

    def all_statements(self, documents: Sequence[bytes], format: RdfSyntax, base: str) -> tuple[Quads, list[int]]:
        """The statements of all documents, and how many each has.

        Raises WrongDocument for the first that is not RDF.
        """

    def frames(self, document: bytes) -> tuple[Quads, list[int]]:
        """The statements of a document in Jelly, and how many each of its frames has.

        Raises WrongDocument for the first frame that is not RDF.
        """


class InProcess:
    """Parses in this process, in the thread that asks."""

    def statements(self, document: bytes, format: RdfSyntax, base: str) -> Quads:
        return quads_of(canonical_statements(document, format, base)[0], format)

    def all_statements(self, documents: Sequence[bytes], format: RdfSyntax, base: str) -> tuple[Quads, list[int]]:
        parsed = parse_documents(documents, format, base)
        return parsed.quads, list(parsed.counts)

    def frames(self, document: bytes) -> tuple[Quads, list[int]]:
        parsed = parse_frames(document)
        return parsed.quads, list(parsed.counts)


IN_PROCESS = InProcess()


def parse_documents(documents: Sequence[bytes], format: RdfSyntax, base: str) -> Parsed:
    """Parse documents. Raises WrongDocument for the first that is not RDF."""
    texts: list[bytes] = []
    end = Names({}, base)
    for number, document in enumerate(documents):
        try:
            text, end = canonical_statements(document, format, base)
        except SyntaxError as error:
            raise WrongDocument(number, error) from error
        texts.append(text)
    return Parsed(quads_of(b"".join(texts), format), [text.count(b"\n") for text in texts], end)


def parse_frames(document: bytes) -> Parsed:
    """Parse a document in Jelly. Raises WrongDocument for the first frame that is not RDF."""
    # Protobuf takes longer to import than all of the other formats, and few read Jelly.
    from protocol.messages.jelly_frames import WrongFrame, read_frames

    try:
        lines, counts = read_frames(document)
    except WrongFrame as wrong:
        raise WrongDocument(wrong.number, SyntaxError(wrong.problem)) from wrong
    try:
        text, end = canonical_statements(lines, RdfSyntax.N_QUADS, "http://localhost/")
    except SyntaxError as error:
        # A line is a statement, and has no place in the frame.
        frame = bisect_left(list(accumulate(counts)), error.lineno or 1)
        raise WrongDocument(frame, SyntaxError(error.msg)) from error
    return Parsed(quads_of(text, RdfSyntax.N_QUADS), counts, end)


def canonical_statements(document: bytes, format: RdfSyntax, base: str) -> tuple[bytes, Names]:
    """The document's statements as N-Quads, and what it has declared at its end.

    Raises SyntaxError for what is not RDF, with line and column.
    """
    document = checked(document, format)
    with errors_placed(document, format):
        parser = pyoxigraph.parse(document, format.oxigraph, base_iri=base)
        serialised = pyoxigraph.serialize(parser, format=pyoxigraph.RdfFormat.N_QUADS)
    assert serialised is not None  # no output was named, so the bytes are returned
    return serialised, Names(parser.prefixes, parser.base_iri)
