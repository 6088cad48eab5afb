"""Bodies of which the messages that are right are taken, and the others told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from protocol.errors import InvalidMessage
from protocol.messages.body_type import parse_content_type
from protocol.messages.rejected import Rejected
from spark_backend.ingest.messages.parts import MessageParts
from spark_backend.log.format.columns import REQUEST

Read = Callable[[bytes, str], pa.RecordBatch]
"""What makes elements (columns of REQUEST) of a body of a content type. Raises InvalidMessage."""


class DividedBody(NamedTuple):
    """The elements of a body's messages that are right (columns of REQUEST), and the others."""

    elements: pa.RecordBatch
    rejected: list[Rejected]


def divide_body(
    body: bytes,
    content_type: str,
    read: Read,
    *,
    has_context: bool,
    source: str | None = None,
    key: bytes | None = None,
) -> DividedBody:
    """Divide a body by whether ``read``, which makes elements of one, raises InvalidMessage.

    ``has_context``: whether the stream reads plain JSON. What is right is read together, as if it had come alone.
    ``source`` and ``key``: those of what is rejected.
    """
    try:
        return DividedBody(read(body, content_type), [])
    except InvalidMessage as error:
        parts = MessageParts.of(body, content_type, parse_content_type(content_type, has_context=has_context))
        wrong = {0: error} if len(parts.parts) == 1 else parts.wrong(read)
    rejected = [
        Rejected.by(error, parts.alone(number), parts.content_type, source, key, number)
        for number, error in sorted(wrong.items())
    ]
    rest = parts.without(list(wrong))
    nothing = pa.RecordBatch.from_pylist([], REQUEST)
    return DividedBody(nothing if rest is None else read(*rest), rejected)


def is_divided(body: bytes, content_type: str, *, has_context: bool) -> bool:
    """Whether a body is divided into several messages. Raises ProtocolError for a content type that is none."""
    body_type = parse_content_type(content_type, has_context=has_context)
    return len(MessageParts.of(body, content_type, body_type).parts) > 1
