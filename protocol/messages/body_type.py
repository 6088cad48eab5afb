"""Media types of request bodies that carry RDF messages (docs/http.md, "Appending").

One message a body: Turtle, TriG, N-Triples, N-Quads, JSON-LD, RDF/XML. Several: a version of the first four that has
messages (W3C RSP CG, *RDF Messages*: ``version=1.2-messages``, and ``MESSAGE`` between them), the older parameter
``messages=rdfm`` (a ``# @message`` comment between them), newline-delimited JSON-LD, one document a line, or Jelly, a
frame of which is a message. JSON that is no JSON-LD, ``application/json`` and what is based on it, is one message of a
stream that has a context for it.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

from protocol.formats.media_types import JELLY, JSON_LINES, RDF_TYPES, RdfSyntax
from protocol.formats.negotiation import UnsupportedMediaType
from protocol.messages.preambles import VERSIONS_WITH_MESSAGES


class Grouping(StrEnum):
    """How a body is divided into messages."""

    SINGLE = "single"  # the body is one message, unless its text announces that it may be several
    DELIMITERS = "messages"  # ``MESSAGE`` or ``@message .`` stands between messages
    MARKERS = "rdfm"  # ``# @message`` comment lines stand between messages
    FRAMES = "frames"  # the body is Jelly, which says N-Quads: a frame is a message
    LINES = "lines"  # every line that is not blank is a document


@dataclass(frozen=True)
class BodyType:
    """What a Content-Type says of a body. ``charset`` is a codec name Python knows; None where none is named.

    ``takes_context``: whether it is JSON that is read with the stream's context.
    """

    format: RdfSyntax
    grouping: Grouping = Grouping.SINGLE
    charset: str | None = None
    takes_context: bool = False


LINES = frozenset({JSON_LINES, "application/ndjson", "application/x-ld+ndjson"})
"""The media types of newline-delimited JSON-LD."""
_LINES_OF_PLAIN_JSON = LINES - {"application/x-ld+ndjson"}
"""Those of them that do not say that it is JSON-LD."""
ACCEPTED = (*(syntax.value for syntax in RdfSyntax), JSON_LINES, JELLY)
"""The media types to name in an ``Accept-Post`` header or an error."""

# Not werkzeug's parser: that passes over what is no parameter, and for `messages = rdfm`, or `messages` alone, a body
# would silently be one message. Whatever stands in this header is read, or refused.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE = re.compile(rf"\s*({_TOKEN}/{_TOKEN})\s*")
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape"})
"""What Python's codecs have beside charsets."""
_PARAMETER = re.compile(rf';\s*(?:({_TOKEN})=(?:({_TOKEN})|"((?:[^"\\]|\\.)*)")\s*)?')


def parse_content_type(content_type: str, *, has_context: bool = False) -> BodyType:
    """What the value of a Content-Type header (RFC 9110 section 8.3) says of the body.

    ``has_context``: whether the stream has a context with which it reads JSON that is no JSON-LD.

    Raises UnsupportedMediaType for anything a stream cannot read, saying what it can.
    """
    media_type, parameters = _parse_header(content_type)
    charset = _codec(parameters.get("charset"))
    messages = parameters.get("messages")
    if media_type in LINES:
        if messages is not None:
            raise UnsupportedMediaType(f"{media_type} has no parameter messages: each line is a message already")
        return BodyType(RdfSyntax.JSON_LD, Grouping.LINES, charset, has_context and media_type in _LINES_OF_PLAIN_JSON)
    if media_type == JELLY:
        if charset is not None or messages is not None:
            raise UnsupportedMediaType(f"{media_type} has no parameters charset and messages: its frames are messages")
        return BodyType(RdfSyntax.N_QUADS, Grouping.FRAMES)
    if _is_plain_json(media_type):
        if not has_context:
            raise UnsupportedMediaType(
                f"{media_type} says nothing of what its members mean: give the stream a JSON-LD context when it is "
                'created (PUT /streams/NAME with {"context": {…}}), or send application/ld+json'
            )
        return BodyType(RdfSyntax.JSON_LD, Grouping.SINGLE, charset, takes_context=True)
    format = RDF_TYPES.get(media_type)
    if format is None:
        raise UnsupportedMediaType(f"messages cannot be read from {media_type}; send one of {', '.join(ACCEPTED)}")
    return BodyType(format, _grouping(format, parameters), charset)


def _grouping(format: RdfSyntax, parameters: dict[str, str]) -> Grouping:
    """How a body of this format is divided, by the parameters of its Content-Type."""
    version, messages = parameters.get("version", "").lower(), parameters.get("messages")
    if version.endswith("messages"):
        if version not in VERSIONS_WITH_MESSAGES:
            known = ", ".join(VERSIONS_WITH_MESSAGES)
            raise UnsupportedMediaType(f"version={version} is not known; versions with messages are {known}")
        if messages is not None:
            raise UnsupportedMediaType(f"version={version} and messages={messages} divide a body in two ways: say one")
        _require_comments(format, f"version={version}", "MESSAGE directives")
        return Grouping.DELIMITERS
    if messages is None:
        return Grouping.SINGLE
    if messages.lower() != Grouping.MARKERS:
        raise UnsupportedMediaType(f"messages={messages} is not known; say version={VERSIONS_WITH_MESSAGES[0]}")
    _require_comments(format, "messages=rdfm", "'# @message' comments")
    return Grouping.MARKERS


def _require_comments(format: RdfSyntax, parameter: str, what: str) -> None:
    if not format.has_comments:
        divisible = ", ".join(sorted(syntax for syntax in RdfSyntax if syntax.has_comments))
        raise UnsupportedMediaType(
            f"{format} has no {what}; {parameter} goes with {divisible}, "
            "and several JSON-LD messages are sent as application/x-ndjson"
        )


def _is_plain_json(media_type: str) -> bool:
    """Whether it is JSON, or something in JSON (RFC 6839 section 3.1) that is no RDF."""
    return media_type not in RDF_TYPES and (media_type == "application/json" or media_type.endswith("+json"))


def _parse_header(content_type: str) -> tuple[str, dict[str, str]]:
    if not content_type.strip():
        raise UnsupportedMediaType(f"the request has no Content-Type; say one of {', '.join(ACCEPTED)}")
    match = _MEDIA_TYPE.match(content_type)
    parameters: dict[str, str] = {}
    position = match.end() if match else 0
    while match is not None and position < len(content_type):
        parameter = _PARAMETER.match(content_type, position)
        if parameter is None:
            match = None
            break
        position = parameter.end()
        name, token, quoted = parameter.groups()
        if name is not None:
            value = token if token is not None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(name.lower(), value)
    if match is None:
        raise UnsupportedMediaType(
            f"{content_type!r} is not a media type; write for example application/n-triples; version=1.2-messages"
        )
    return match[1].lower(), parameters


def _codec(charset: str | None) -> str | None:
    if charset is None:
        return None
    try:
        codec = codecs.lookup(charset)
        "".encode(codec.name)
        if codec.name in _NO_CHARSETS:
            raise LookupError
    except (LookupError, ValueError):
        raise UnsupportedMediaType(f"charset {charset!r} is not known; send UTF-8") from None
    return codec.name
