"""Files of RDF messages taken apart, message by message, and put together into request bodies
(docs/http.md, "Appending").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pyoxigraph import Literal, parse

from protocol.errors import ProtocolError
from protocol.formats.media_types import JSON_LINES, RDF_EXTENSIONS, RDF_TYPES, RdfSyntax
from protocol.messages import division, json_lines
from protocol.messages.message import Message
from protocol.messages.preambles import is_preamble
from protocol.time import Instant, parse_instant

CONTENT_TYPES: dict[str, str] = {
    **{f".{extension}": syntax.value for extension, syntax in RDF_EXTENSIONS.items()},
    ".ndjson": JSON_LINES,
    ".ndjsonld": JSON_LINES,
    ".jsonl": JSON_LINES,
}
"""Content types by the end of a file's name."""


def divisible(content_type: str) -> bool:
    """Whether files of this type may hold several messages."""
    return content_type == JSON_LINES or RDF_TYPES[content_type].has_comments


def divide(lines: Iterable[bytes], content_type: str) -> Iterator[Message]:
    """The messages of a file, given as lines (with their ends): as they come, except for Turtle and TriG."""
    if content_type == JSON_LINES:
        return json_lines.divide(lines)
    syntax = RDF_TYPES[content_type]
    return division.divide(lines, syntax) if syntax.has_comments else iter([Message(b"".join(lines))])


def join(messages: Sequence[Message], content_type: str) -> tuple[bytes, str]:
    """A request body of these messages, and its content type."""
    if content_type == JSON_LINES:
        return json_lines.join(messages), content_type
    # What says nothing, and perhaps that there may be several messages, would be none.
    if len(messages) == 1 and (not divisible(content_type) or not is_preamble(messages[0].body)):
        return messages[0].alone, content_type
    return division.join(messages), f"{content_type}; version={division.VERSION}"


def timestamp(message: Message, content_type: str, path: Sequence[str]) -> Instant | None:
    """The time in a message by the stream's ``timestampPath``: the first property found with a time. None: none.

    Raises ValueError for what is not RDF.
    """
    if content_type == JSON_LINES:
        (line,) = json_lines.read_lines(message.alone.split(b"\n"))
        document, syntax = line.document, RdfSyntax.JSON_LD
    else:
        document, syntax = message.alone, RDF_TYPES[content_type]
    found: dict[str, Instant] = {}
    try:
        for quad in parse(document, syntax.oxigraph, base_iri="http://localhost/"):
            predicate = quad.predicate.value
            if predicate in path and predicate not in found and isinstance(quad.object, Literal):
                found[predicate] = parse_instant(quad.object.value)
    except (SyntaxError, ProtocolError) as error:
        raise ValueError(str(error)) from None
    return next((found[predicate] for predicate in path if predicate in found), None)
