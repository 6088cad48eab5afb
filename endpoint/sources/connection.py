"""What a source is to the thread that keeps it going."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from protocol.errors import Unavailable
from protocol.formats.allow_list import AllowList
from protocol.kafka import KafkaFeed, KafkaReading
from protocol.sources import SourceBatch, SourceSettings

MOST_MESSAGES = 10_000
MOST_BYTES = 8 * 1024 * 1024
"""A batch takes no more messages, and none after so many bytes: they are in memory at once."""


class Connection(Protocol):
    """A source that is read, from a position on. Used by one thread.

    Whatever raises OSError or ProtocolError ends the connection: another is made later, from the positions that are
    durable then.
    """

    notice: str | None
    """What else is to be known, for a person."""

    def take(self, seconds: float) -> SourceBatch | None:
        """What has come, in its order, at most a batch; None if nothing comes within ``seconds``, or on ``stopping``.

        ``positions`` are those after all of its messages. What was taken may be stored or not: see ``stored``.
        """

    def stored(self, batch: SourceBatch) -> None:
        """The batch is durable: acknowledge it."""

    def close(self) -> None:
        """Let go of everything. Again: does nothing."""

    def forget(self) -> None:
        """The stream is deleted or has ended: whoever keeps something for this client need not, as far as can be said
        to it. Raises OSError, ProtocolError.
        """


ReadKafka = Callable[[KafkaReading], KafkaFeed]


def _no_kafka(reading: KafkaReading) -> KafkaFeed:
    raise Unavailable("nothing here reads Kafka")


@dataclass(frozen=True)
class Surroundings:
    """What a connection works with.

    ``identity``: of this stream in this data directory, the same after a restart, ASCII letters and digits.
    ``wait`` waits for so many seconds, or until the source is stopped, and says whether it is. ``largest`` is the
    most bytes that a message may have. ``read_kafka`` begins to read topics: the backend does that. ``breaking``: see
    ``Stopping.breaking``. ``memory`` is what connections leave to those after them while the server runs.
    """

    stream: str
    settings: SourceSettings
    allowed: AllowList
    identity: str
    largest: int
    wait: Callable[[float], bool]
    positions: Mapping[str, bytes] = field(default_factory=dict)
    read_kafka: ReadKafka = _no_kafka
    breaking: Callable[[Callable[[], None]], AbstractContextManager[None]] = lambda break_off: nullcontext()
    memory: dict[str, Any] = field(default_factory=dict)


Connect = Callable[[Surroundings], Connection]
"""Makes a connection that goes on after ``positions``. Raises OSError or ProtocolError if that cannot be."""


class Connector(Protocol):
    """``Connect`` for one type of source: a class of connections."""

    is_kept: bool
    """Whether the other side keeps something for a client while it is away."""

    def __call__(self, surroundings: Surroundings) -> Connection:
        """As ``Connect``."""
