"""What fills a stream from elsewhere: its settings, its state, and what it hands over (docs/sources.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from protocol.errors import ProtocolError, size_text
from protocol.login import NOBODY, Login
from protocol.time import Instant

BEGINNING_BYTES = 64 * 1024
"""How much is kept of a message that is too long: it says which it was, and nothing waits for it."""


class SourceType(StrEnum):
    """What a source is a client of."""

    FILE = "file"
    KAFKA = "kafka"
    LDES = "ldes"
    MQTT = "mqtt"
    SSE = "sse"
    WEBSOCKET = "websocket"


@dataclass(frozen=True)
class SourceSettings:
    """The member ``source`` of a stream's settings.

    ``content_type``: of the messages, where the transport does not say it. ``version``: of the protocol, None for the
    newest.
    """

    type: SourceType
    url: str
    topics: tuple[str, ...] = ()
    content_type: str | None = None
    version: str | None = None
    login: Login = NOBODY


@dataclass(frozen=True)
class SourceMessage:
    """A message as it came: one body, of one message or of several.

    ``content_type`` is None where nobody has said it. ``origin``: the IRI of where it came from. ``key``: what tells it
    from all others of its source, the same when it comes again. ``refused``: why it is rejected unread, where it is;
    then ``body`` may be its beginning.
    """

    body: bytes
    content_type: str | None
    origin: str
    key: bytes
    refused: str | None = None


def bounded_message(
    body: bytes, length: int, largest: int, content_type: str | None, origin: str, key: bytes
) -> SourceMessage:
    """A message of ``length`` bytes, refused with its beginning where that is more than ``largest``; then ``body`` is
    as much of it as there is.
    """
    if length <= largest:
        return SourceMessage(body, content_type, origin, key)
    kept = _whole_characters(body[:BEGINNING_BYTES])
    reason = (
        f"the message has {length} bytes, and --max-request-bytes is {size_text(largest)}: "
        f"its first {len(kept)} bytes are kept"
    )
    return SourceMessage(kept, content_type, origin, key, refused=reason)


def _whole_characters(cut: bytes) -> bytes:
    """Without the half of a character at the end, for which a text would be kept as bytes."""
    try:
        cut.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return cut[: error.start]
    return cut


class ParsedMessages(Protocol):
    """Messages that the backend has read and parsed itself: so many, of so many bytes together."""

    @property
    def count(self) -> int: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class SourceBatch:
    """Messages in their order, and how far the source is read after them: stored together, or not at all.

    ``positions`` has what changed, by name; empty bytes take a name away. There may be no message. ``partition``: the
    one of the stream that all of the messages are of; None: they speak for all of them. Those in ``parsed`` come
    instead of ``messages``.
    """

    messages: Sequence[SourceMessage]
    positions: Mapping[str, bytes]
    partition: str | None = None
    parsed: ParsedMessages | None = None

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self.messages) if self.parsed is None else self.parsed.count

    @property
    def size(self) -> int:
        """Their bytes, together."""
        return sum(len(message.body) for message in self.messages) if self.parsed is None else self.parsed.size


@dataclass(frozen=True)
class SourceReceipt:
    """What became of a batch, said once it is durable: elements stored, and messages that were not taken."""

    elements: int
    rejected: int


class SourceState(StrEnum):
    """Whether messages come: ``failing`` from the first failure until they can come again."""

    CONNECTING = "connecting"
    RUNNING = "running"
    FAILING = "failing"
    STOPPED = "stopped"


@dataclass(frozen=True)
class SourceDescription:
    """A source at a moment. What it counts, it counts since the server started.

    ``error``: the last one, also after it is over. ``notice``: the last of what else is to be known, such as that a
    file was cut, told at the time ``noticed_at``; ``notices`` counts them.
    """

    state: SourceState
    error: str | None = None
    notice: str | None = None
    noticed_at: Instant | None = None
    notices: int = 0
    messages: int = 0
    bytes: int = 0
    rejected: int = 0
    failures: int = 0


class SourceFailed(ProtocolError):
    """A source cannot be read: it is tried again later, not before ``retry_after`` seconds are over.

    ``retry_in``: it is tried again after just so many, since it is the server itself that is not ready yet.
    """

    status = 502
    title = "The source cannot be read"

    def __init__(self, detail: str, *, retry_after: float = 0, retry_in: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        self.retry_in = retry_in


class SourceRefused(ProtocolError):
    """The address of a source is none that the server may use."""

    status = 403
    title = "The source is not allowed"
    refusal = "fetch"
