"""Jelly (``application/x-jelly-rdf``): a frame is a message (W3C RSP CG, *RDF Messages*). Read and written by pyjelly.

What is read becomes N-Quads, a statement a line, so that a parser has the last word on what is RDF: whatever a term
holds, it does not leave its line. What a few bytes may become is bounded, for frames name by number what was said once.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pyjelly import jelly
from pyjelly.parse.decode import Adapter, Decoder
from pyjelly.parse.ioutils import delimited_jelly_hint, get_options_and_frames
from pyjelly.serialize.encode import HasGraph, Rows, Slot, Statement, TermEncoder
from pyjelly.serialize.flows import ManualFrameFlow
from pyjelly.serialize.ioutils import write_delimited
from pyjelly.serialize.streams import QuadStream, SerializerOptions
from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad

from protocol.formats.xml.text import NotExpressible
from protocol.messages.message import MOST_MESSAGES

LONGEST_FRAME = 16 * 2**20
"""Bytes of a frame, which is held as a whole."""

LONGEST_TEXT = 256 * 2**20
"""Bytes of what all frames say, written in N-Quads, with what each statement and each frame takes beside its text."""

_BESIDE_TEXT = 64

_NOT_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LABEL = re.compile(r"[0-9A-Za-z]+")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[0-9A-Za-z]+)*(?:--(?:ltr|rtl))?")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


class WrongFrame(Exception):
    """A frame (from 0) that is not Jelly, or no RDF; ``problem`` says what is wrong with it."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(number, problem)
        self.number = number
        self.problem = problem


def read_frames(document: bytes) -> tuple[bytes, list[int]]:
    """The statements of all frames as lines of N-Quads, and how many each frame has. Raises WrongFrame."""
    counts: list[int] = []
    texts: list[bytes] = []
    if not document:
        return b"", []  # a stream of no frames, as ``write_frames`` has it of no messages
    try:
        _check_sizes(document)
        options, frames = get_options_and_frames(io.BytesIO(document))
        adapter = _Lines(options)
        decoder = Decoder(adapter)
        for frame in frames:
            for _ in decoder.iter_rows(frame):
                pass
            counts.append(len(adapter.lines))
            texts.append(adapter.taken())
    except MemoryError:
        raise
    except Exception as error:
        # Whatever pyjelly, and protobuf below it, come across in bytes that are no Jelly, or other than they announce.
        raise WrongFrame(len(counts), f"the body is not Jelly that is read here: {_told(error)}") from error
    return b"".join(texts), counts


def _told(error: Exception) -> str:
    """What an error of pyjelly says, also where that is nothing."""
    if isinstance(error, KeyError):
        return "it repeats a term that was not there"
    return str(error) or "its rows do not agree with its options"


def _check_sizes(document: bytes) -> None:
    """Raise ValueError for a frame that is too long, or not there as a whole, and for too many of them."""
    if not delimited_jelly_hint(document[:3]):
        _check_size(len(document))
        return
    position = frames = 0
    while position < len(document):
        frames += 1
        if frames > MOST_MESSAGES:
            raise ValueError(f"it has more than {MOST_MESSAGES:,} frames, the most that are taken at once")
        size = shift = 0
        while True:
            if position == len(document) or shift > 63:
                raise ValueError("it ends within the size of a frame")
            byte = document[position]
            size |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if byte < 0x80:
                break
        _check_size(size)
        position += size
    if position > len(document):
        raise ValueError("it ends within a frame")


def _check_size(size: int) -> None:
    if size > LONGEST_FRAME:
        raise ValueError(
            f"a frame of {size} bytes is longer than {LONGEST_FRAME // 2**20} MiB, the most that a message may have"
        )


class _Lines(Adapter):
    """Makes a line of N-Quads of each statement, without a base: what is relative is left to the parser to refuse."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.lines: list[str] = []
        self._size = 0
        self._graph: str | None = None
        physical = options.stream_types.physical_type
        self._has_quads = physical == jelly.PHYSICAL_STREAM_TYPE_QUADS
        self._has_graphs = physical == jelly.PHYSICAL_STREAM_TYPE_GRAPHS
        if physical == jelly.PHYSICAL_STREAM_TYPE_UNSPECIFIED:
            raise ValueError("its options do not say whether it is of triples, quads or graphs")

    def taken(self) -> bytes:
        """The lines since the last call."""
        self._grow(_BESIDE_TEXT)
        text = "".join(self.lines).encode()
        self.lines = []
        return text

    def iri(self, iri: str) -> str:
        self._grow(len(iri))
        if _NOT_IN_IRIS.search(iri) is not None:
            raise ValueError(f"{iri[:100]!r} is not an IRI")
        return f"<{iri}>"

    def bnode(self, bnode: str) -> str:
        # Any text may be a label. The two forms differ in their first letter.
        return f"_:b{bnode}" if _LABEL.fullmatch(bnode) else f"_:h{bnode.encode().hex()}"

    def default_graph(self) -> str:
        return ""

    def literal(self, lex: str, language: str | None = None, datatype: str | None = None) -> str:
        text = f'"{lex.translate(_ESCAPES)}"'
        if language is not None:
            if _LANGUAGE.fullmatch(language) is None:
                raise ValueError(f"{language[:100]!r} is not a language tag")
            return f"{text}@{language}"
        return text if datatype is None else f"{text}^^{self.iri(datatype)}"

    def quoted_triple(self, terms: Iterable[str]) -> str:
        raise ValueError("quoted triples of Jelly are those of RDF-star, and no triple terms (RDF 1.2): send N-Quads")

    def triple(self, terms: Iterable[str]) -> None:
        if self._has_quads or (self._has_graphs and self._graph is None):
            raise ValueError("there is a triple where a quad or a graph has to be")
        self._add((*terms, self._graph or ""))

    def quad(self, terms: Iterable[str]) -> None:
        if not self._has_quads:
            raise ValueError("there is a quad in a stream of triples or graphs")
        self._add(terms)

    def graph_start(self, graph_id: str) -> None:
        if not self._has_graphs:
            raise ValueError("there is a graph in a stream of triples or quads")
        self._graph = graph_id

    def graph_end(self) -> None:
        self._graph = None

    def namespace_declaration(self, name: str, iri: str) -> None:
        """Prefixes say nothing of the data."""

    def _add(self, terms: Iterable[str]) -> None:
        line = f"{' '.join(terms)} .\n"
        self._grow(len(line) + _BESIDE_TEXT)
        self.lines.append(line)

    def _grow(self, size: int) -> None:
        """Count what was written, also where it is not kept."""
        self._size += size
        if self._size > LONGEST_TEXT:
            raise ValueError(
                f"it says more than {LONGEST_TEXT // 2**20} MiB in N-Quads, the most that is read at once: "
                "send it in several requests"
            )


class FrameWriter:
    """Writes a stream of datasets, a frame a message."""

    def __init__(self) -> None:
        self._flow = ManualFrameFlow(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS)
        self._stream = QuadStream(encoder=_Terms(), options=SerializerOptions(flow=self._flow))
        self._stream.enroll()

    def frame(self, message: Iterable[Quad]) -> bytes:
        """The next message, with its size before it. It is read after those before it. Raises NotExpressible for
        triple terms.
        """
        for quad in message:
            self._stream.quad((quad.subject, quad.predicate, quad.object, quad.graph_name))
        frame = io.BytesIO()
        write_delimited(self._flow.to_stream_frame() or jelly.RdfStreamFrame(), frame)
        return frame.getvalue()


def write_frames(messages: Iterable[Iterable[Quad]]) -> Iterator[bytes]:
    """The frames of a stream of these messages, as they come."""
    writer = FrameWriter()
    return (writer.frame(message) for message in messages)


def _language(literal: Literal) -> str | None:
    if literal.direction is None:
        return literal.language
    return f"{literal.language}--{'ltr' if literal.direction == BaseDirection.LTR else 'rtl'}"


class _Terms(TermEncoder):
    def encode_spo(self, term: object, slot: Slot, statement: Statement) -> Rows:
        if isinstance(term, NamedNode):
            return self.encode_iri(term.value, self.get_iri_field(statement, slot))
        if isinstance(term, BlankNode):
            self.set_bnode_field(statement, slot, term.value)
            return ()
        if isinstance(term, Literal):
            return self.encode_literal(
                lex=term.value,
                language=_language(term),
                datatype=None if term.language else term.datatype.value,
                literal=self.get_literal_field(statement, slot),
            )
        raise NotExpressible("Jelly has no way to write triple terms (RDF 1.2): ask for N-Quads")

    def encode_graph(self, term: object, statement: HasGraph) -> Rows:
        if isinstance(term, DefaultGraph):
            return self.encode_default_graph(statement.g_default_graph)
        if isinstance(term, NamedNode):
            return self.encode_iri(term.value, statement.g_iri)
        if isinstance(term, BlankNode):
            statement.g_bnode = term.value
            return ()
        return super().encode_graph(term, statement)
