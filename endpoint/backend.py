"""The one interface between what listens (endpoint) and what computes (spark_backend).

All methods are synchronous, thread-safe and may block on disk or on Spark: the endpoint calls them
from worker threads. Errors a client can act on are ``protocol.errors.ProtocolError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import (
    Ended,
    Evaluation,
    Failed,
    Gone,
    Health,
    Listener,
    Notice,
    Outcome,
    Progress,
    QueryDescription,
)
from protocol.kafka import KafkaCluster, KafkaFeed, KafkaReading, KafkaWriter
from protocol.language.model import ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import AppendReceipt, StreamDescription, StreamItem, StreamReach, StreamSettings
from protocol.time import Instant

__all__ = [
    "Backend",
    "Ended",
    "Evaluation",
    "Failed",
    "Gone",
    "Health",
    "Listener",
    "Notice",
    "Outcome",
    "Progress",
    "QueryDescription",
]


class StreamFollower(Protocol):
    """A stream's elements in the order in which they came. Its methods may block."""

    incarnation: int
    """What tells the stream from others that had its name before: 0 until one is deleted."""
    log: str
    """What those who follow the same stream have in common, and nobody else has."""
    watermark: Instant
    """The stream's, as of the last ``take``."""
    ended: bool
    """Whether nothing comes after what was taken."""

    @property
    def retained_from(self) -> Instant | None:
        """All elements after this are held, as of the last ``take``; None: all there ever were."""

    @property
    def taken(self) -> StreamReach:
        """How far the stream was at the last ``take``; before the first, when it was opened."""

    def reach(self) -> StreamReach:
        """How far the stream is by now; cheap, and for any thread. NotFound when it is deleted."""

    def take(self) -> list[StreamItem]:
        """What comes next, some at once; none if there is none yet. NotFound when the stream is deleted."""

    def close(self) -> None: ...


class Backend(Protocol):
    """Streams, continuous queries and their answers."""

    # Streams
    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        """Create the stream; True if it is new. The same settings again: False. Other settings: Conflict."""

    def delete_stream(self, name: str) -> None:
        """End the stream and drop its log. NotFound; Conflict while a standing query reads it."""

    def streams(self) -> list[StreamDescription]: ...

    def stream(self, name: str) -> StreamDescription:
        """NotFound if there is none."""

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        """Append all messages of the body, or none (InvalidMessage). Returns once they are durable.

        The same request with the same idempotency ``key`` again is answered as the first was, another one is KeyReused.
        ``partition``: the one of the stream's that its elements are of; None: they speak for all of them.
        InvalidPartition if the stream has no such one.
        """

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        """Append the messages of a stream's source that are right, together with the positions after all of them.

        Those that are not right are in the stream's ``rejected`` before. Returns once that is durable: the same batch
        again, after a crash between the two, rejects nothing twice. Conflict once the stream has ended, NotFound.
        """

    def positions(self, name: str) -> dict[str, bytes]:
        """How far the source of a stream was read, by name, as ``receive`` was told last."""

    def read_kafka(self, reading: KafkaReading) -> KafkaFeed:
        """Begin to read topics for a stream, whose settings say how messages are parsed; ``receive`` takes what comes.

        Raises KafkaFailed where that cannot be, Unavailable while Spark is not there.
        """

    def write_kafka(self, cluster: KafkaCluster, topic: str) -> KafkaWriter:
        """What writes to a topic. Raises KafkaFailed where that cannot be, Unavailable while Spark is not there."""

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        """Nothing at or before ``watermark`` is coming, of that partition or (None) at all.

        A watermark never steps back: a lower one changes nothing. InvalidPartition as for ``append``; ProtocolError
        for a stream of arrival time, and further ahead of the clock than ``max_ahead``.
        """

    def end_stream(self, name: str) -> StreamDescription:
        """Nothing at all is coming: every window closes."""

    def follow(self, name: str, after: int | None, *, incarnation: int | None = None) -> StreamFollower:
        """The stream's elements after the one with this number (-1: all that are held); None: those that come next.

        ``incarnation``: of which stream of that name that element was; None: of this one. After one of another, all
        that are held follow a gap.
        """

    # Queries
    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> bool:
        """Start evaluating the query under this name; True if it is new, False if it replaced another.

        ``standing`` queries are kept across restarts. ``since`` moves the start back; None starts at
        the watermark its streams have now. ``landmark``: where windows begin that begin with the query, None for its
        start; only for those that are not ``standing``. Both are as far back as retention reaches. One evaluation may
        take what the ``limits`` say, or the settings if that is less. Raises for an unknown stream
        (QuerySemanticError) and for whatever cannot be compiled (UnsupportedFeature), with nothing changed.
        """

    def remove(self, name: str) -> None:
        """Stop evaluating and forget the query. NotFound."""

    def queries(self) -> list[QueryDescription]: ...

    def dormant(self) -> frozenset[str]:
        """Standing queries that are kept and cannot be evaluated as it was started now: a function is gone, say."""

    def overdue(self) -> Mapping[str, Sequence[float]]:
        """Of each lane ("common", "own", "new"), for how many seconds each query's oldest evaluation has been due."""

    def query(self, name: str) -> QueryDescription:
        """NotFound if there is none."""

    def plan(self, name: str, *, measured: bool = False) -> str:
        """How the query is evaluated, for a person; ``measured``: with rows and times of each operator of an evaluation
        that is made for this, within the query's limits. NotFound; Unavailable while there is another one to measure.
        """

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        """What came of the query in (after, upto] once more, oldest first, computed from the log.

        None for ``after`` means from the first there could be. Of the first after the query's start ISTREAM and DSTREAM
        compare with nothing, as when it was live; but with the one before for who has that, which is so where ``after``
        is before the start, and where ``before_start`` says it. Raises Unavailable while Spark is starting, and
        HeldNoMore where retention takes meanwhile what is asked for.
        """

    def latest(self, name: str) -> Evaluation | None:
        """The query's latest evaluation that is out, computed from the log; None if there is none.

        Raises Unavailable while Spark is starting.
        """

    def retained_from(self, name: str, after: Instant | None = None) -> Instant | None:
        """Evaluations at instants after this can be replayed; None: all of them.

        Where the first one after ``after`` is compared with an answer that is held no more, it is ``after`` itself.
        """

    def listen(self, listener: Listener) -> None:
        """Set the one receiver of notices, before ``start``."""

    # Store and life
    def store_changed(self) -> None:
        """The endpoint's dataset was changed: evaluations planned from now on see it. Returns once that is so."""

    def backup(self, directory: Path) -> None:
        """Copy streams, standing queries and positions, as they are at one moment, into an empty directory."""

    def health(self) -> Health:
        """How it is, at once: this alone is asked in the event loop, so that no work can keep it waiting."""

    def start(self) -> None:
        """Start Spark behind the caller's back; returns at once."""

    def stop(self) -> None:
        """Stop evaluating and end every process started. What is durable stays."""
