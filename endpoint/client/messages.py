"""Files of RDF messages taken apart, message by message, and put together into request bodies
(docs/http.md, "Appending").
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pyoxigraph import Literal, Quad, parse

from protocol.errors import ProtocolError
from protocol.formats.media_types import JELLY, JSON_LINES, RDF_EXTENSIONS, RdfSyntax
from protocol.formats.version_lines import without_version_lines
from protocol.messages import division, json_lines
from protocol.messages.body_type import Grouping, parse_content_type
from protocol.messages.message import Message
from protocol.messages.preambles import announces_messages, is_preamble
from protocol.time import Instant, parse_instant

CONTENT_TYPES: dict[str, str] = {
    **{f".{extension}": syntax.value for extension, syntax in RDF_EXTENSIONS.items()},
    ".ndjson": JSON_LINES,
    ".ndjsonld": JSON_LINES,
    ".jsonl": JSON_LINES,
    ".jelly": JELLY,
}
"""Content types by the end of a file's name."""

_NOTHING_IN_JSON = re.compile(rb"\{\s*\}|\[\s*\]")


def divide(lines: Iterable[bytes], content_type: str) -> Iterator[Message]:
    """The messages of a file, given as lines (with their ends): as they come, except for Turtle, TriG and Jelly.

    Those of Jelly are in N-Quads. Raises ValueError for what is not Jelly.
    """
    body_type = parse_content_type(content_type)
    if body_type.grouping is Grouping.LINES:
        return json_lines.divide(lines)
    if body_type.grouping is Grouping.FRAMES:
        return _frames(b"".join(lines))
    if not body_type.format.has_comments:
        return iter([Message(b"".join(lines))])
    return division.divide(lines, body_type.format, announced=body_type.grouping is Grouping.DELIMITERS)


def _frames(document: bytes) -> Iterator[Message]:
    # Protobuf takes longer to import than all of the other formats, and few read Jelly.
    from protocol.messages.jelly_frames import WrongFrame, read_frames

    try:
        text, counts = read_frames(document)
    except WrongFrame as wrong:
        raise ValueError(f"message {wrong.number + 1}: {wrong.problem}") from None
    lines = iter(text.splitlines(keepends=True))
    return (Message(b"".join(islice(lines, count))) for count in counts)


def join(messages: Sequence[Message], content_type: str) -> tuple[bytes, str]:
    """A request body of these messages, which are of a file of this type, and the content type of the body."""
    body_type = parse_content_type(content_type)
    if body_type.grouping is Grouping.LINES:
        return json_lines.join(messages), JSON_LINES
    syntax = body_type.format
    # What says nothing, and perhaps that there may be several messages, would be none.
    if len(messages) == 1 and (not syntax.has_comments or not is_preamble(messages[0].body)):
        return division.with_declarations(messages[0].preamble, messages[0].body), syntax.value
    return division.join(messages, announced=True), f"{syntax}; version={division.VERSION}"


def whole_type(document: bytes, content_type: str) -> str:
    """The content type of a request body that is such a file as it is: of the messages that ``divide`` finds in it."""
    body_type = parse_content_type(content_type)
    by_markers = body_type.grouping is Grouping.SINGLE and body_type.format.has_comments
    if by_markers and not announces_messages(document.removeprefix(BOM_UTF8)):
        return f"{body_type.format}; messages={Grouping.MARKERS}"
    return content_type


def is_empty(message: Message, content_type: str) -> bool:
    """Whether the message has no triples, and so no time of its own. What is not RDF is not empty."""
    if parse_content_type(content_type).grouping is Grouping.LINES:
        # What a line of plain JSON says is known by the stream's context alone.
        return _NOTHING_IN_JSON.fullmatch(message.body) is not None
    try:
        return next(_quads(message, content_type), None) is None
    except SyntaxError:
        return False


def timestamp(message: Message, content_type: str, path: Sequence[str]) -> Instant | None:
    """The time in a message by the stream's ``timestampPath``: the first property found with a time. None: none.

    Raises ValueError for what is not RDF.
    """
    found: dict[str, Instant] = {}
    try:
        for quad in _quads(message, content_type):
            predicate = quad.predicate.value
            if predicate in path and predicate not in found and isinstance(quad.object, Literal):
                found[predicate] = parse_instant(quad.object.value)
    except (SyntaxError, ProtocolError) as error:
        raise ValueError(str(error)) from None
    return next((found[predicate] for predicate in path if predicate in found), None)


def _quads(message: Message, content_type: str) -> Iterator[Quad]:
    """What the message says, as it is parsed. Raises SyntaxError."""
    body_type = parse_content_type(content_type)
    if body_type.grouping is Grouping.LINES:
        (line,) = json_lines.read_lines(message.alone.split(b"\n"))
        document, syntax = line.document, RdfSyntax.JSON_LD
    else:
        document, syntax = message.alone, body_type.format
        if syntax.has_a_statement_a_line:
            document = without_version_lines(document)
    return parse(document, syntax.oxigraph, base_iri="http://localhost/")
