"""Bodies of several messages with something between them (``protocol/messages/division.py``).

It stands where a statement may stand, so neither inside a statement nor inside a graph block.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END
from protocol.formats.version_lines import without_version_lines
from protocol.messages.delimiters import LONGEST_DELIMITER, delimiter_problem
from protocol.messages.division import DELIMITERS, Division
from protocol.messages.message import MOST_MESSAGES
from protocol.messages.preambles import is_preamble
from spark_backend.ingest.parsing.documents import Parser
from spark_backend.ingest.statement_lines import are_notes, read_statement_lines
from spark_backend.ingest.statements import Statements, position_of, require_few, statement_error
from spark_backend.ingest.terms.quads import Quads
from spark_backend.ingest.terms.texts import Positions
from spark_backend.ingest.turtle_statements import read_turtle_statements

_FOLLOWED = re.compile(rb"[ \t]*+[^ \t\r\n#]")
"""What stands behind a delimiter on its line."""


def read_marked(body: bytes, format: RdfSyntax, division: Division, base: str, parser: Parser) -> Statements:
    """The messages of a body divided in this way. Raises InvalidMessage for the first that is not RDF."""
    statements = None
    if format.has_a_statement_a_line:
        statements = _read_by_lines(body, format, division, base, parser)
    elif division is DELIMITERS:
        statements = _read_by_tokens(body, format, base)
    return statements or _read_as_one(body, format, division, base, parser)


def _read_by_lines(body: bytes, format: RdfSyntax, division: Division, base: str, parser: Parser) -> Statements | None:
    """The messages of a body in a line format, else None."""
    lines = read_statement_lines(body, format, base, parser)
    if lines is None:
        return None
    divides = _divide(lines.others, division)
    if not pc.all(are_notes(lines.others.filter(pc.invert(divides))), min_count=0).as_py():
        return None
    return _divided(lines.quads, lines.before.filter(divides).to_numpy(), _Segments(body, format, division))


def _read_by_tokens(body: bytes, format: RdfSyntax, base: str) -> Statements | None:
    """The messages of a body in Turtle or TriG that is read by columns, else None."""
    found = read_turtle_statements(body, format, base, delimited=True)
    return None if found is None else _divided(found.quads, found.before, _Segments(body, format, DELIMITERS))


def _divided(quads: Quads, before: Positions, segments: _Segments) -> Statements:
    """The messages of statements, given how many of these stand before each that divides them."""
    require_few(len(before))
    counts = np.diff(before, prepend=0, append=len(quads)).tolist()
    segments.first, last = segments.division.bounds(counts)
    return Statements(quads, counts[segments.first : last], segments.line_of)


def _divide(lines: pa.StringArray, division: Division) -> pa.BooleanArray:
    """Which of these lines stand between messages."""
    usual = pc.equal(lines, pa.scalar(division.usual.decode(), pa.string()))
    if pc.all(usual, min_count=0).as_py():
        return usual
    return pc.or_(usual, pc.match_substring_regex(lines, f"^(?:{division.line})$"))


def _read_as_one(body: bytes, format: RdfSyntax, division: Division, base: str, parser: Parser) -> Statements:
    """Any body: what divides it is replaced by a statement of its own, which then divides the parser's output.

    So the parser sees one document: prefixes carry over, and lines keep their numbers.
    """
    segments = _Segments(body, format, division)
    if body.lower().count(division.word) > MOST_MESSAGES:  # nearly never; what is a word of a text does not divide
        require_few(len(segments.between))
    # Nobody can know it, so no statement has it. It is short, for it is parsed once a message.
    term = f"<m:{secrets.token_urlsafe(9)}>"
    replaced = _Replaced(segments, term)
    try:
        quads = parser.statements(replaced.document, format, base)
    except SyntaxError as error:
        segments.guess_first()
        raise _locate(error, segments, replaced) from error
    at = pc.indices_nonzero(pc.equal(quads.s.indices, pc.index(quads.s.dictionary, term))).to_numpy().astype(np.int64)
    is_statement = np.ones(len(quads), np.bool_)
    is_statement[at] = False
    return _divided(quads.filter(pa.array(is_statement)), at - np.arange(len(at)), segments)


class _Replaced:
    """A document in which a statement stands instead of all that divides a body."""

    def __init__(self, segments: _Segments, term: str) -> None:
        self._segments = segments
        self._statement = f"{term} {term} {term} .".encode()
        if segments.format is RdfSyntax.TRIG:
            self._statement += b"{}"  # which may not stand inside another block, as the statement may

    @cached_property
    def document(self) -> bytes:
        by_lines = self._segments.format.has_a_statement_a_line
        body = without_version_lines(self._segments.body) if by_lines else self._segments.body
        plain = None if by_lines else self._segments.division.plain_segments(body)
        if plain is not None:
            return (b"\n" + self._statement + b"\n").join(plain)
        parts = (body[end:start] for (_, end), (start, _) in pairwise([(0, 0), *self._between, (len(body), 0)]))
        return b"".join(chain.from_iterable(zip(parts, [*self._statements, b""], strict=True)))

    @cached_property
    def _statements(self) -> list[bytes]:
        statements = [self._statement] * len(self._between)
        for number, (start, end) in enumerate(self._between):
            # '@message' and its full stop may be on two lines.
            if end - start > LONGEST_DELIMITER:
                statements[number] += b"\n" * len(LINE_END.findall(self._segments.body, start, end))
        return statements

    @property
    def _between(self) -> list[tuple[int, int]]:
        return self._segments.between

    @cached_property
    def _shifts(self) -> list[int]:
        """What each of the statements made a place behind it move by."""
        pairs = zip(self._statements, self._between, strict=True)
        return list(accumulate(len(statement) - (end - start) for statement, (start, end) in pairs))

    @cached_property
    def _starts(self) -> list[int]:
        """Where each of the statements begins in the document."""
        return [start + shift for (start, _), shift in zip(self._between, chain((0,), self._shifts), strict=False)]

    def original(self, line: int, column: int | None) -> tuple[int, int | None]:
        """What stands there: a place of the body in bytes, or at least its line, and which of the statements."""
        position = position_of(self.document, line, column)
        before = bisect_right(self._starts, position) - 1
        if before < 0:
            return position, None
        if position < self._starts[before] + len(self._statements[before]):
            return self._between[before][0], before
        return position - self._shifts[before], None


class _Segments:
    """The parts of a body between what divides it, and the lines they start on.

    ``first`` is the segment of the first message.
    """

    def __init__(self, body: bytes, format: RdfSyntax, division: Division) -> None:
        self.body = body
        self.format = format
        self.division = division
        self.first = 0

    @cached_property
    def between(self) -> list[tuple[int, int]]:
        """Start and end of all that divides the body, in bytes."""
        return self.division.find(self.body, self.format)

    def guess_first(self) -> None:
        """Set ``first`` by what the lines look like, where no parser has counted statements."""
        counts = [int(not is_preamble(self.body, self.between[0][0])), 1] if self.between else [1]
        self.first, _ = self.division.bounds(counts)

    def line_of(self, message: int) -> int:
        """The line (from 1) a message (from 0) starts on: the one after what divides it from the message before."""
        segment = message + self.first
        if not segment:
            return 1
        end = self.between[segment - 1][1]
        line, _ = self.place(end)
        return line if _FOLLOWED.match(self.body, end) else line + 1

    def message_at(self, position: int) -> int:
        """The message (from 0) a place in the body belongs to; what divides two belongs to the one before it."""
        return max(bisect_right(self.between, position, key=lambda span: span[1]) - self.first, 0)

    def place(self, position: int) -> tuple[int, int]:
        """Line and column (both from 1) of a place in the body."""
        start = max(self.body.rfind(b"\n", 0, position), self.body.rfind(b"\r", 0, position)) + 1
        return len(LINE_END.findall(self.body, 0, position)) + 1, len(self.body[start:position].decode()) + 1


def _locate(error: SyntaxError, segments: _Segments, replaced: _Replaced) -> InvalidMessage:
    if error.lineno is None:
        return statement_error(error, 0, None, None)
    position, misplaced = replaced.original(error.lineno, error.offset)
    if misplaced is not None:
        return _misplaced(misplaced, segments)
    line, column = segments.place(position)
    announced = segments.division is DELIMITERS
    rest = segments.body[position : position + LONGEST_DELIMITER]
    error.msg = delimiter_problem(rest, segments.format, announced=announced) or error.msg
    return statement_error(error, segments.message_at(position), line, None if error.offset is None else column)


def _misplaced(number: int, segments: _Segments) -> InvalidMessage:
    start, _ = segments.between[number]
    line, column = segments.place(start)
    message = segments.message_at(start) + 1
    return InvalidMessage(
        f"message {message}, line {line}, column {column}: "
        f"a message {segments.division.name} cannot stand inside a statement or a graph block: "
        "end it with '.' or '}' before",
        line=line,
        column=column,
        extra={"message": message},
    )
