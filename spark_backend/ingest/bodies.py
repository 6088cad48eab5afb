"""Request bodies of every format become statements divided into messages (docs/http.md, "Appending")."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from io import BytesIO
from itertools import islice

import pyarrow.compute as pc

from protocol.errors import InvalidMessage
from protocol.formats.json.depth import check_json_depth
from protocol.formats.media_types import RdfSyntax
from protocol.formats.version_lines import without_version_lines
from protocol.formats.xml.documents import without_encoding
from protocol.messages.body_type import BodyType, Grouping
from protocol.messages.delimiters import LONGEST_DELIMITER, delimiter_problem
from protocol.messages.division import DELIMITERS, MARKERS, Division
from protocol.messages.json_lines import JsonLine, read_lines
from protocol.messages.message import MOST_MESSAGES
from protocol.messages.preambles import announces_messages
from spark_backend.ingest.marked_bodies import read_marked
from spark_backend.ingest.parsing.documents import IN_PROCESS, Parser, WrongDocument
from spark_backend.ingest.statement_lines import SHORT, are_notes, read_statement_lines
from spark_backend.ingest.statements import Statements, position_of, require_few, statement_error
from spark_backend.ingest.turtle_statements import read_turtle_statements


def read_statements(
    body: bytes, body_type: BodyType, base: str, parser: Parser = IN_PROCESS, context: str | None = None
) -> Statements:
    """The statements of all messages of the body. ``base`` resolves relative IRIs (RFC 3986 section 5.1).

    ``context``: the stream's, as JSON, for a body that takes it.

    Raises InvalidMessage for the first message that is not RDF, with its number, line and column.
    """
    if body_type.grouping is Grouping.FRAMES:
        return _read_frames(body, parser)
    document = _utf8(body, body_type.charset)
    stream_context = context.encode() if body_type.takes_context and context is not None else None
    if body_type.grouping is Grouping.LINES:
        return _read_lines(document, base, parser, stream_context)
    if stream_context is not None:
        return _read_json(document, base, parser, stream_context)
    division = _division(document, body_type)
    if division is not None:
        return read_marked(document, body_type.format, division, base, parser)
    if body_type.format is RdfSyntax.RDF_XML and body_type.charset is not None:
        document = without_encoding(document)  # the header has the last word (RFC 7303 section 3.2)
    return _read_single(document, body_type.format, base, parser)


def _read_frames(body: bytes, parser: Parser) -> Statements:
    """Jelly (``protocol/messages/jelly_frames.py``)."""
    try:
        quads, counts = parser.frames(body)
    except WrongDocument as wrong:
        raise statement_error(wrong.error, wrong.number, None, None) from wrong
    return Statements(quads, counts, lambda message: None)


def _division(document: bytes, body_type: BodyType) -> Division | None:
    """What divides the document, by what its Content-Type or its text says; None: nothing."""
    if body_type.grouping is Grouping.DELIMITERS:
        return DELIMITERS
    announced = body_type.format.has_comments and announces_messages(document)
    if body_type.grouping is Grouping.MARKERS:
        if announced:
            raise InvalidMessage(
                "the text says with VERSION that MESSAGE divides it, and the Content-Type with messages=rdfm that "
                "'# @message' does: leave one out"
            )
        return MARKERS
    return DELIMITERS if announced else None


def read_documents(
    bodies: Sequence[bytes], body_type: BodyType, base: str, parser: Parser = IN_PROCESS, context: str | None = None
) -> Statements:
    """The statements of bodies of one message each, as if they were one body. Raises InvalidMessage.

    ``body_type`` is one whose bodies are one message; ``context``: see ``read_statements``.
    """
    documents = [_utf8(body, body_type.charset) for body in bodies]
    if body_type.takes_context and context is not None:
        for document in documents:
            try:
                _check_json(document)
            except SyntaxError as error:
                raise statement_error(error, 0, error.lineno, error.offset) from error
        documents = [JsonLine(1, document, 0, context.encode()).document for document in documents]
    if body_type.format is RdfSyntax.RDF_XML and body_type.charset is not None:
        documents = [without_encoding(document) for document in documents]
    try:
        quads, counts = parser.all_statements(documents, body_type.format, base)
    except WrongDocument as wrong:
        raise statement_error(wrong.error, wrong.number, wrong.error.lineno, wrong.error.offset) from wrong.error
    return Statements(quads, counts, lambda message: 1)


def _utf8(body: bytes, charset: str | None) -> bytes:
    try:
        if charset is not None and charset != "utf-8":
            return body.decode(charset).removeprefix("\ufeff").encode()
        if not body.isascii():
            body.decode()
    except UnicodeDecodeError as error:
        raise _undecodable(body, error) from None
    except UnicodeEncodeError:
        raise InvalidMessage(f"the body has a surrogate code point, so it is not text in {charset}") from None
    return body.removeprefix(BOM_UTF8)


def _undecodable(body: bytes, error: UnicodeDecodeError) -> InvalidMessage:
    before = body[: error.start]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode(error.encoding, "replace")) + 1
    return InvalidMessage(
        f"line {line}, column {column}: the body is not {error.encoding.upper()} ({error.reason}); "
        "send UTF-8, or name the encoding in Content-Type: …; charset=…",
        line=line,
        column=column,
    )


def _read_single(document: bytes, format: RdfSyntax, base: str, parser: Parser) -> Statements:
    by_lines = format.has_a_statement_a_line and len(document) >= SHORT
    lines = read_statement_lines(document, format, base, parser) if by_lines else None
    if lines is not None and pc.all(are_notes(lines.others), min_count=0).as_py():
        quads = lines.quads
    elif (statements := read_turtle_statements(document, format, base)) is not None:
        quads = statements.quads
    else:
        text = without_version_lines(document) if format.has_a_statement_a_line else document
        try:
            quads = parser.statements(text, format, base)
        except SyntaxError as error:
            if format.has_comments and error.lineno is not None and error.offset is not None:
                place = position_of(text, error.lineno, error.offset)
                rest = text[place : place + LONGEST_DELIMITER]
                error.msg = delimiter_problem(rest, format, announced=False) or error.msg
            raise statement_error(error, 0, error.lineno, error.offset) from error
    return Statements(quads, [len(quads)], lambda message: 1)


def _read_json(document: bytes, base: str, parser: Parser, context: bytes) -> Statements:
    """One JSON document, which is a message of the stream's context."""
    try:
        _check_json(document)
    except SyntaxError as error:
        raise statement_error(error, 0, error.lineno, error.offset) from error
    message = JsonLine(1, document, 0, context)
    try:
        quads = parser.statements(message.document, RdfSyntax.JSON_LD, base)
    except SyntaxError as error:
        column = error.offset
        if column is not None and error.lineno == 1:
            column = max(column + message.shift, 1)
        raise statement_error(error, 0, error.lineno, column) from error
    return Statements(quads, [len(quads)], lambda message: 1)


def _check_json(document: bytes, what: str = "body") -> None:
    """Raise SyntaxError for what is not one object or array of JSON: beside a context, two could pass for one."""
    check_json_depth(document)
    try:
        value = json.loads(document)
    except json.JSONDecodeError as error:
        raise SyntaxError(f"the {what} is not JSON: {error.msg}", (None, error.lineno, error.colno, None)) from None
    except ValueError as error:  # a number of thousands of digits
        raise SyntaxError(f"the {what} is JSON that is not read here: {error}", (None, 1, 1, None)) from None
    if not isinstance(value, dict | list):
        bare = f"the {what} is a bare value, without a member that a context could give a meaning: send an object"
        raise SyntaxError(bare, (None, 1, 1, None))


def _read_lines(document: bytes, base: str, parser: Parser, context: bytes | None) -> Statements:
    """Newline-delimited JSON-LD (``protocol/messages/json_lines.py``)."""
    # An object for each line, before anything of it is parsed: a body of ``{}`` alone would have millions of them.
    lines = list(islice(read_lines(BytesIO(document), context), MOST_MESSAGES + 1))
    require_few(len(lines))
    unreadable = _first_unreadable(lines)
    readable = lines if unreadable is None else lines[: unreadable[0]]
    try:
        quads, counts = parser.all_statements([line.document for line in readable], RdfSyntax.JSON_LD, base)
    except WrongDocument as wrong:
        error, line = wrong.error, lines[wrong.number]
        column = None if error.offset is None else max(error.offset + line.shift, 1)
        raise statement_error(error, wrong.number, line.number, column) from error
    if unreadable is not None:
        number, error = unreadable
        line = lines[number]
        raise statement_error(error, number, line.number, (error.offset or 1) + line.indent) from error
    return Statements(quads, counts, lambda message: lines[message].number)


def _first_unreadable(lines: Sequence[JsonLine]) -> tuple[int, SyntaxError] | None:
    """The first line that the parser of JSON-LD would take for something else, and what is wrong with it.

    That is a bare value, which would say nothing, and what has a context put before it though it is not one value.
    """
    for number, line in enumerate(lines):
        if line.context is not None or not line.text.startswith((b"{", b"[")):
            try:
                _check_json(line.text, "line")
            except SyntaxError as error:
                return number, error
    return None
