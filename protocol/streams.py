"""What a stream is to the outside: its settings, its description, the receipt of an append
(docs/model.md, "Elements and streams"; docs/http.md, "Streams").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError
from protocol.sources import SourceSettings
from protocol.time import Instant, Milliseconds

DEFAULT_TIMESTAMP_PATH = (
    "http://www.w3.org/ns/sosa/resultTime",
    "https://www.w3.org/ns/activitystreams#published",
    "http://www.w3.org/ns/prov#generatedAtTime",
)
DEFAULT_RETENTION: Milliseconds = 7 * 24 * 60 * 60 * 1000


_NOT_IN_IRIS = re.compile(r'[\s<>"{}|\\^`]')

REJECTED = "rejected"
LATE = "late"
SIDE_STREAMS = (REJECTED, LATE)
"""What every stream has beside it: streams of the messages that were rejected and of the elements that were late."""


def side_stream(name: str, side: str) -> str:
    """The name of a stream beside another one, as it stands in its URL."""
    return f"{name}/{side}"


def side_streams(name: str) -> list[str]:
    """The names of all streams beside one."""
    return [side_stream(name, side) for side in SIDE_STREAMS]


def main_stream(name: str) -> str:
    """The name of the stream that one is beside; its own if it is beside none."""
    return name.partition("/")[0]


class TimeKind(StrEnum):
    """Whose clock stamps the elements: the server's (arrival) or the data's (event)."""

    ARRIVAL = "arrival"
    EVENT = "event"


class OnInvalid(StrEnum):
    """What becomes of a request with messages that are not right: it is refused as a whole, or these are diverted to
    the stream of rejected ones.
    """

    REJECT = "reject"
    DIVERT = "divert"


@dataclass(frozen=True)
class JsonContext:
    """A JSON-LD context by which a stream reads JSON that says none.

    ``given``: as it was sent, an IRI or the context itself, as JSON. ``document``: the context, with what its IRIs lead
    to in their place, as JSON; None where that is still to be fetched.
    """

    given: str
    document: str | None


@dataclass(frozen=True)
class StreamSettings:
    """The body of ``PUT /streams/NAME``, with defaults filled in. Durations in milliseconds.

    ``idle_timeout``: how long an event stream may pause before its watermark goes on with the server's clock; None for
    ever. ``max_ahead``: how far ahead of the server's clock an element's time may be; None: as far as it likes. Both
    say nothing in an arrival stream, whose elements and watermark go with the clock at all times. ``source``: what
    fills the stream from elsewhere. ``partitions``: how many the watermark of an event stream is the least of.
    ``shape``: the shapes graph that messages have to conform to, in Turtle, or the IRI of a graph of the store.
    ``entailment``: the regime of queries over it that ask for none; None: that of the endpoint.
    """

    iri: str
    time: TimeKind = TimeKind.ARRIVAL
    timestamp_path: tuple[str, ...] = DEFAULT_TIMESTAMP_PATH
    allowed_lateness: Milliseconds = 0
    retention: Milliseconds = DEFAULT_RETENTION
    idle_timeout: Milliseconds | None = None
    context: JsonContext | None = None
    source: SourceSettings | None = None
    on_invalid: OnInvalid = OnInvalid.REJECT
    max_ahead: Milliseconds | None = None
    partitions: int = 1
    shape: str | None = None
    entailment: Regime | None = None

    @property
    def shapes_graph(self) -> str | None:
        """The IRI of the store's graph that ``shape`` names; None where it is Turtle, or there is none."""
        return None if self.shape is None or _NOT_IN_IRIS.search(self.shape) else self.shape


class InvalidPartition(ProtocolError):
    """A partition that the stream does not have, or that is none."""

    title = "Not a partition"


@dataclass(frozen=True)
class StreamDamage:
    """Elements of a stream that cannot be read: in which file of the data directory, from which byte on, and why.

    ``elements``: how many (None: not known). ``earliest``, ``latest``: bounds of their timestamps, as far as these
    are known.
    """

    file: str
    offset: int
    what: str
    elements: int | None
    earliest: Instant | None
    latest: Instant | None

    def __str__(self) -> str:
        count = "not known" if self.elements is None else str(self.elements)
        return f"{self.file} at byte {self.offset}: {self.what} (elements lost: {count})"


@dataclass(frozen=True)
class StreamDescription:
    """A stream at a moment. ``watermark`` is None before the first element; ``ended`` once nothing more may come.

    ``query``: the name of the query whose output it is. ``damage``: what of its log is known not to be readable.
    ``rejected``: how many messages its stream of rejected ones has had; ``rejected_by``: how many of them since the
    server was started, by ``protocol.messages.rejected.Reason``.
    ``partitions``: the watermarks of those of an event stream that has some, None before there is one;
    ``waiting_for``: those that have had nothing yet, where the watermark waits for that.
    """

    name: str
    settings: StreamSettings
    watermark: Instant | None
    first: Instant | None
    last: Instant | None
    elements: int
    triples: int
    late: int
    bytes: int
    ended: bool
    query: str | None = None
    damage: tuple[StreamDamage, ...] = ()
    rejected: int = 0
    rejected_by: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[str, Instant | None] = field(default_factory=dict)
    waiting_for: tuple[str, ...] = ()


class StreamReach(NamedTuple):
    """How far a stream is: how many elements it has had, its watermark (BEFORE_ALL before there is one), and whether
    nothing more may come.
    """

    elements: int
    watermark: Instant
    ended: bool


@dataclass(frozen=True)
class AppendReceipt:
    """Said once the elements are durable. ``watermark`` is the stream's after them.

    ``rejected``: how many messages of the request were diverted.
    """

    elements: int
    triples: int
    watermark: Instant | None
    rejected: int = 0


@dataclass(frozen=True)
class StreamElement:
    """An element as it is read back: its number in the stream, from 0, its timestamp, its quads as N-Quads lines.

    Triples of the default graph are N-Triples lines, so without named graphs ``data`` is N-Triples.
    """

    number: int
    time: Instant
    data: bytes


@dataclass(frozen=True)
class StreamGap:
    """Elements are missing here, which retention has taken, or another log had: held are those after ``time``."""

    time: Instant


StreamItem = StreamElement | StreamGap | StreamDamage
"""What a stream has when it is read from some element on."""
