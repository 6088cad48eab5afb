"""Bodies of several messages divided by ``# @message`` comment lines (``protocol/messages/markers.py``).

A marker stands where a statement may stand, so neither inside a statement nor inside a graph block.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END
from protocol.messages.markers import MARKER, MARKER_COMMENT, find_markers, is_preamble, message_bounds
from spark_backend.ingest.parsing.documents import Parser
from spark_backend.ingest.statement_lines import read_statement_lines
from spark_backend.ingest.statements import (
    Statements,
    statement_error,
)

_MARKER_ROW = f"^(?:{MARKER_COMMENT})$"
_USUAL_MARKER = pa.scalar(MARKER.decode(), pa.string())


def read_marked(body: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements:
    """The messages of a body with markers. Raises InvalidMessage for the first that is not RDF."""
    statements = None
    if format.has_a_statement_a_line:
        statements = _read_by_lines(body, format, base, parser)
    return statements or _read_with_delimiters(body, format, base, parser)


def _read_by_lines(body: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements | None:
    """The messages of a body in a line format, else None."""
    lines = read_statement_lines(body, format, base, parser)
    if lines is None:
        return None
    at_markers = lines.before.filter(_are_markers(lines.comments)).to_pylist()
    counts = [after - before for before, after in pairwise([0, *at_markers, len(lines.quads)])]
    first, last = message_bounds(counts)
    return Statements(lines.quads, counts[first:last], _Segments(body, format, first).line_of)


def _are_markers(comments: pa.StringArray) -> pa.BooleanArray:
    """Which of these comments, from ``#`` to the end of the line, are markers."""
    usual = pc.equal(comments, _USUAL_MARKER)
    return usual if pc.all(usual).as_py() else pc.match_substring_regex(comments, _MARKER_ROW)


def _read_with_delimiters(body: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements:
    """Any body: each marker is replaced by a statement of its own, which then divides the parser's output.

    So the parser sees one document: prefixes carry over, and lines keep their numbers.
    """
    segments = _Segments(body, format)
    markers = segments.markers
    # Nobody can know it, so no statement has it. It is short, for it is parsed once a message.
    term = f"<m:{secrets.token_urlsafe(16)}>"
    delimiter = f"{term} {term} {term} .".encode()
    pieces: list[bytes] = []
    position = 0
    for start, end in markers:
        pieces += (body[position:start], delimiter)
        position = end
    pieces.append(body[position:])
    try:
        quads = parser.statements(b"".join(pieces), format, base)
    except SyntaxError as error:
        segments.guess_first()
        raise _locate(error, segments, term) from error
    at_markers = pc.indices_nonzero(pc.equal(quads.s.indices, pc.index(quads.s.dictionary, term)))
    in_blocks = pc.index(quads.g.take(at_markers).is_valid(), True).as_py()
    if in_blocks >= 0:
        segments.guess_first()
        raise _inside_graph_block(in_blocks, segments)
    is_statement = np.ones(len(quads), np.bool_)
    is_statement[at_markers] = False
    counts = (np.diff(at_markers, prepend=-1, append=len(quads)) - 1).tolist()
    segments.first, last = message_bounds(counts)
    return Statements(quads.filter(pa.array(is_statement)), counts[segments.first : last], segments.line_of)


class _Segments:
    """The parts of a body between its markers, and the lines they start on.

    ``first`` is the segment of the first message: 1 where no statement precedes the first marker.
    """

    def __init__(self, body: bytes, format: RdfSyntax, first: int = 0) -> None:
        self._body = body
        self._format = format
        self.first = first

    @cached_property
    def markers(self) -> list[tuple[int, int]]:
        return find_markers(self._body, self._format)

    def guess_first(self) -> None:
        """Set ``first`` by what the lines look like, where no parser has counted statements."""
        self.first = int(bool(self.markers) and is_preamble(self._body, self.markers[0][0]))

    def marker_line(self, marker: int) -> int:
        """The line (from 1) of a marker (from 0)."""
        return self._line_at(self.markers[marker][0])

    def line_of(self, message: int) -> int:
        """The line (from 1) a message (from 0) starts on: the one after its marker."""
        segment = message + self.first
        return self.marker_line(segment - 1) + 1 if segment else 1

    def message_at(self, line: int) -> int:
        """The message (from 0) a line (from 1) belongs to; a marker's line belongs to the message before it."""
        before = bisect_left(self.markers, line, key=lambda span: self._line_at(span[0]))
        return max(before - self.first, 0)

    def _line_at(self, position: int) -> int:
        return len(LINE_END.findall(self._body, 0, position)) + 1


def _locate(error: SyntaxError, segments: _Segments, term: str) -> InvalidMessage:
    if error.lineno is None:
        return statement_error(error, 0, None, None)
    if term[1:-1] in error.msg:
        error.msg = "a message marker cannot stand inside a statement; end the statement with '.' before it"
    return statement_error(error, segments.message_at(error.lineno), error.lineno, error.offset)


def _inside_graph_block(marker: int, segments: _Segments) -> InvalidMessage:
    """In TriG the delimiter parses inside a graph block too: as a quad of that graph."""
    line = segments.marker_line(marker)
    message = segments.message_at(line) + 1
    return InvalidMessage(
        f"message {message}, line {line}: a message marker cannot stand inside a graph block; "
        "close the block with '}' before it",
        line=line,
        extra={"message": message},
    )
