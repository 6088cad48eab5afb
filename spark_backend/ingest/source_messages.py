"""Messages of a source become elements, many at once; those that are wrong are told apart."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

import pyarrow as pa

from protocol.errors import InvalidMessage, ProtocolError
from protocol.messages.body_type import Grouping, parse_content_type
from protocol.messages.rejected import Rejected
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.sources import SourceMessage
from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.ingest.bodies import read_documents, read_statements
from spark_backend.ingest.columns import element_columns, joined, read_elements
from spark_backend.ingest.divided_body import DividedBody, divide_body, is_divided
from spark_backend.ingest.halves import read_by_halves
from spark_backend.ingest.parsed_file import Parsed
from spark_backend.ingest.parsing.documents import IN_PROCESS, Parser

_VERSION = re.compile(rb"version\s", re.IGNORECASE)
_UNTOLD = "nobody has said what the message is: say the source's contentType"


def read_messages(
    messages: Sequence[SourceMessage],
    settings: StreamSettings,
    parser: Parser = IN_PROCESS,
    now: Instant | None = None,
    shapes: ShapesGraph | None = None,
    before: Mapping[bytes, Instant] | None = None,
) -> Parsed:
    """Read messages of a source: what is said of each does not depend on which others come with it.

    ``now``, ``shapes``: see ``read_elements``. ``before``: the clock by which messages with these keys are judged. One
    that is several is divided as a request is. Raises Unavailable where a process that parses is lost.
    """
    batches: list[pa.RecordBatch] = []
    rejected = [_rejected(one, InvalidMessage(one.refused)) for one in messages if one.refused is not None]
    clocks = before or {}
    readable = (message for message in messages if message.refused is None)

    for (content_type, clock), group in groupby(
        readable, key=lambda message: (message.content_type, clocks.get(message.key, now))
    ):
        read = partial(_read, content_type, settings=settings, parser=parser, now=clock, shapes=shapes)
        right, others = read_by_halves(list(group), read, ProtocolError)
        for one in right:
            batches.append(one.batch)
            rejected += one.rejected
        rejected += [_rejected(message, error) for message, error in others]
    order = {message.key: place for place, message in enumerate(messages)}
    return Parsed(joined(batches), sorted(rejected, key=lambda one: order[one.key or b""]))


def comes_in_parts(message: SourceMessage, settings: StreamSettings) -> bool:
    """Whether it is several, of which some may be rejected and others not."""
    if message.content_type is None or message.refused is not None:
        return False
    try:
        return is_divided(message.body, message.content_type, has_context=settings.context is not None)
    except ProtocolError:
        return False


def _rejected(message: SourceMessage, error: ProtocolError) -> Rejected:
    """A message that is wrong, as it is kept: under its key, so that it is there once however often it comes."""
    return Rejected.by(error, message.body, message.content_type or "", message.origin, message.key)


def _read(
    content_type: str | None,
    messages: Sequence[SourceMessage],
    settings: StreamSettings,
    parser: Parser,
    now: Instant | None,
    shapes: ShapesGraph | None,
) -> Parsed:
    """Messages of one type. Raises ProtocolError where one of them is wrong, unless each is read by itself."""
    if content_type is None:
        raise InvalidMessage(_UNTOLD)
    # Blank nodes of messages without times are told apart by what they came with, as those of requests are.
    scope = uuid.uuid4().hex if settings.time is TimeKind.ARRIVAL else None
    context = None if settings.context is None else settings.context.document
    body_type = parse_content_type(content_type, has_context=context is not None)
    bodies = [message.body for message in messages]
    alone = body_type.grouping is not Grouping.SINGLE or any(map(_says_version, bodies))
    if body_type.grouping is Grouping.LINES and all(map(_is_plain_line, bodies)):
        statements = read_statements(b"\n".join(bodies), body_type, settings.iri, parser, context)
    elif len(messages) == 1 or alone:
        each: list[DividedBody] = []
        for number, message in enumerate(messages):
            read = partial(
                read_elements, settings=settings, at=None,
                blank_scope=None if scope is None else f"{scope}{number}", now=now, parser=parser, shapes=shapes,
            )  # fmt: skip
            each.append(
                divide_body(
                    message.body, content_type, read, has_context=context is not None,
                    source=message.origin, key=message.key,
                )
            )  # fmt: skip
        return Parsed(joined([one.elements for one in each]), [bad for one in each for bad in one.rejected])
    else:
        statements = read_documents(bodies, body_type, settings.iri, parser, context)
    if settings.time is TimeKind.EVENT and len(messages) > 1 and not all(statements.counts):
        raise InvalidMessage("an empty message has no time")  # alone, too: it would have that of the one before it
    return Parsed(element_columns(statements, settings=settings, blank_scope=scope, now=now, shapes=shapes), [])


def _says_version(body: bytes) -> bool:
    """Whether it may say by its text that it is several messages."""
    return _VERSION.search(body) is not None


def _is_plain_line(body: bytes) -> bool:
    """Whether it is one line of JSON, which is no context for others."""
    return bool(body.strip()) and b"\n" not in body and b'"@context"' not in body
