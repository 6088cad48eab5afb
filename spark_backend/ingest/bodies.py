"""Request bodies of every format become statements divided into messages (docs/http.md, "Appending")."""

from __future__ import annotations

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.formats.xml_documents import without_encoding
from protocol.messages.body_type import BodyType, Grouping
from protocol.messages.json_lines import read_lines
from spark_backend.ingest.marked_bodies import read_marked
from spark_backend.ingest.parsing.documents import IN_PROCESS, Parser, WrongDocument
from spark_backend.ingest.statement_lines import SHORT, read_statement_lines
from spark_backend.ingest.statements import Statements, statement_error

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_statements(body: bytes, body_type: BodyType, base: str, parser: Parser = IN_PROCESS) -> Statements:
    """The statements of all messages of the body. ``base`` resolves relative IRIs (RFC 3986 section 5.1).

    Raises InvalidMessage for the first message that is not RDF, with its number, line and column.
    """
    document = _utf8(body, body_type.charset)
    if body_type.grouping is Grouping.LINES:
        return _read_lines(document, base, parser)
    if body_type.grouping is Grouping.MARKERS:
        return read_marked(document, body_type.format, base, parser)
    if body_type.format is RdfSyntax.RDF_XML and body_type.charset is not None:
        document = without_encoding(document)  # the header has the last word (RFC 7303 section 3.2)
    return _read_single(document, body_type.format, base, parser)


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
    return body.removeprefix(_BYTE_ORDER_MARK)


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
    if lines is not None:
        quads = lines.quads
    else:
        try:
            quads = parser.statements(document, format, base)
        except SyntaxError as error:
            raise statement_error(error, 0, error.lineno, error.offset) from error
    return Statements(quads, [len(quads)], lambda message: 1)


def _read_lines(document: bytes, base: str, parser: Parser) -> Statements:
    """Newline-delimited JSON-LD (``protocol/messages/json_lines.py``)."""
    lines = list(read_lines(document.split(b"\n")))
    try:
        quads, counts = parser.all_statements([line.document for line in lines], RdfSyntax.JSON_LD, base)
    except WrongDocument as wrong:
        error, line = wrong.error, lines[wrong.number]
        column = None if error.offset is None else max(error.offset + line.shift, 1)
        raise statement_error(error, wrong.number, line.number, column) from error
    return Statements(quads, counts, lambda message: lines[message].number)
