"""Bodies of several messages divided by ``# @message`` comment lines (``protocol/messages/markers.py``).

A marker stands where a statement may stand, so neither inside a statement nor inside a graph block.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END
from protocol.messages.markers import MARKER, MARKER_COMMENT, find_markers, is_preamble, message_bounds
from spark_backend.ingest.canonical_lines import read_canonical_lines
from spark_backend.ingest.parsing.documents import Parser
from spark_backend.ingest.quads import Quads
from spark_backend.ingest.statements import (
    Statements,
    as_text,
    quads_of,
    statement_error,
)

_MARKER_ROW = f"^(?:{MARKER_COMMENT})$"
_USUAL_MARKER = pa.scalar(MARKER.decode(), pa.string())
_NOTHING = pa.scalar("", pa.string())


def read_marked(body: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements:
    """The messages of a body with markers. Raises InvalidMessage for the first that is not RDF."""
    statements = None
    if format.has_a_statement_a_line:
        statements = _read_canonical(body, format) or _read_by_lines(body, format, base, parser)
    return statements or _read_with_delimiters(body, format, base, parser)


def _read_canonical(body: bytes, format: RdfSyntax) -> Statements | None:
    """The messages of a body of canonical lines, else None."""
    canonical = read_canonical_lines(body, graphs=format.names_graphs)
    if canonical is None:
        return None
    at_markers = canonical.before.filter(_are_markers(canonical.comments))
    return _divide(canonical.quads, at_markers, body, format)


def _read_by_lines(body: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements | None:
    """The messages of a line format by counting lines. None where that will not do.

    A line holds one statement at most, a blank line or a comment none. So when there are as many
    statements as other lines, each of these is one.
    """
    text = body.replace(b"\r\n", b"\n") if b"\r" in body else body
    if b"\r" in text:
        return None
    rows = pc.split_pattern(as_text(text), "\n").flatten()
    try:
        quads = quads_of(parser.statements(body, format, base), format)
    except SyntaxError:
        return None  # to be located with care
    statements, at_markers = _statements_by_line(rows)
    return _divide(quads, at_markers, body, format) if len(quads) == statements else None


def _statements_by_line(rows: pa.StringArray) -> tuple[int, pa.Int32Array]:
    """How many rows are neither blank nor comments: in all, and before each marker."""
    if pc.any(pc.or_(pc.starts_with(rows, " "), pc.starts_with(rows, "\t"))).as_py():
        rows = pc.ascii_trim_whitespace(rows)
    comment = pc.starts_with(rows, "#")
    statement = pc.invert(pc.or_(comment, pc.equal(rows, _NOTHING)))
    so_far = pc.cumulative_sum(statement.cast(pa.int32()))
    return so_far[-1].as_py(), so_far.filter(comment).filter(_are_markers(rows.filter(comment)))


def _are_markers(comments: pa.StringArray) -> pa.BooleanArray:
    """Which of these comments, from ``#`` to the end of the line, are markers."""
    usual = pc.equal(comments, _USUAL_MARKER)
    return usual if pc.all(usual).as_py() else pc.match_substring_regex(comments, _MARKER_ROW)


def _divide(quads: Quads, at_markers: pa.IntegerArray, body: bytes, format: RdfSyntax) -> Statements:
    """The messages of statements that are divided by markers; ``at_markers``: how many stand before each."""
    counts = [after - before for before, after in pairwise([0, *at_markers.to_pylist(), len(quads)])]
    first, last = message_bounds(counts)
    return Statements(quads, counts[first:last], _Segments(body, format, first).line_of)


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
        canonical = parser.statements(b"".join(pieces), format, base)
    except SyntaxError as error:
        segments.guess_first()
        raise _locate(error, segments, term) from error
    chunks = canonical.split(delimiter + b"\n")
    if len(chunks) != len(markers) + 1:
        segments.guess_first()
        raise _inside_graph_block(canonical, segments, delimiter)
    counts = [chunk.count(b"\n") for chunk in chunks]
    segments.first, last = message_bounds(counts)
    return Statements(quads_of(b"".join(chunks), format), counts[segments.first : last], segments.line_of)


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


def _inside_graph_block(canonical: bytes, segments: _Segments, delimiter: bytes) -> InvalidMessage:
    """In TriG the delimiter parses inside a graph block too: as a quad of that graph."""
    start = delimiter[: delimiter.index(b" ") + 1]
    delimiters = [row for row in canonical.split(b"\n") if row.startswith(start)]
    line = segments.marker_line(next(index for index, row in enumerate(delimiters) if row != delimiter))
    message = segments.message_at(line) + 1
    return InvalidMessage(
        f"message {message}, line {line}: a message marker cannot stand inside a graph block; "
        "close the block with '}' before it",
        line=line,
        extra={"message": message},
    )
