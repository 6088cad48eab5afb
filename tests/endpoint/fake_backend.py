"""An in-memory ``endpoint.backend.Backend``: no Spark, no clock; tests push its notices by hand.

It keeps what it is told (streams, appended bodies, registered queries) and every evaluation pushed,
so that ``replay`` gives back what ``push`` gave out, less what ``forget_before`` dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from endpoint.backend import (
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
from protocol.errors import Conflict, InvalidMessage, NotFound, QuerySemanticError, Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.kafka import KafkaCluster, KafkaFeed, KafkaReading, KafkaWriter
from protocol.language.model import R2S, ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import (
    AppendReceipt,
    StreamDescription,
    StreamElement,
    StreamItem,
    StreamReach,
    StreamSettings,
    main_stream,
    side_streams,
)
from protocol.time import BEFORE_ALL, FIRST_INSTANT, Instant
from protocol.windows.spec import begins_with_query


@dataclass
class Appended:
    """One call of ``append``, as it came."""

    stream: str
    body: bytes
    content_type: str
    at: Instant | None
    key: str | None = None
    partition: int | None = None


@dataclass
class FakeFollower:
    """Gives out the elements that the test put into ``FakeBackend.followed``, in lists as they are there."""

    backend: FakeBackend
    name: str
    after: int
    incarnation: int
    watermark: Instant = BEFORE_ALL
    ended: bool = False
    closed: bool = False
    taken: StreamReach = field(default_factory=lambda: StreamReach(0, BEFORE_ALL, False))

    @property
    def retained_from(self) -> Instant | None:
        return self.backend.retained.get(self.name)

    def __post_init__(self) -> None:
        self.log = f"{self.name}.{self.incarnation}"

    def reach(self) -> StreamReach:
        self.backend.calls.append("reach")
        description = self.backend.stream(self.name)
        watermark = BEFORE_ALL if description.watermark is None else description.watermark
        return StreamReach(len(self.backend.followed), watermark, description.ended)

    def take(self) -> list[StreamItem]:
        self.backend.calls.append("take")
        description = self.backend.stream(self.name)
        self.watermark = BEFORE_ALL if description.watermark is None else description.watermark
        waiting = self.backend.followed
        found = [one for one in waiting if not isinstance(one, StreamElement) or one.number > self.after]
        self.after = max((one.number for one in found if isinstance(one, StreamElement)), default=self.after)
        self.ended = description.ended
        waiting[:] = [one for one in waiting if isinstance(one, StreamElement)]
        self.taken = StreamReach(len(waiting), self.watermark, self.ended)
        return found

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeBackend:
    """All state is public, for tests to look at and to set."""

    state: str = "running"
    detail: str = ""
    incarnation: int = 0
    """Of the streams: of those of queries that are registered from now on, and of those that are followed."""
    appended: list[Appended] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    history: dict[str, list[Outcome]] = field(default_factory=dict)
    retained: dict[str, Instant] = field(default_factory=dict)
    since: dict[str, Instant | None] = field(default_factory=dict)
    followed: list[StreamItem] = field(default_factory=list)
    limits: dict[str, EvaluationLimits] = field(default_factory=dict)
    failures: dict[str, BaseException] = field(default_factory=dict)
    """Errors to raise, by name of the method: ``failures["append"] = InvalidMessage("…")``."""
    asleep: dict[str, QueryDescription] = field(default_factory=dict)
    """The queries that are dormant."""
    placed: dict[str, dict[str, bytes]] = field(default_factory=dict)
    advanced: list[tuple[str, Instant, int | None]] = field(default_factory=list)
    _streams: dict[str, StreamDescription] = field(default_factory=dict)
    _queries: dict[str, QueryDescription] = field(default_factory=dict)
    _listener: Listener | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _asked_for_streams: threading.Event = field(default_factory=threading.Event)

    # By hand

    def push(self, *notices: Notice) -> None:
        """Give these notices to the listener, as one micro-batch, and remember what came of evaluations."""
        with self._lock:
            for notice in notices:
                self._remember(notice)
            listener = self._listener
        if listener is not None:
            listener(list(notices))

    def evaluate(self, query: str, instant: Instant, data: bytes, *, progress: bool = True) -> None:
        """Push one evaluation and, unless told otherwise, the progress that follows it."""
        there = self._queries.get(query)
        landmark = None if there is None else there.landmark
        notices: list[Notice] = [Evaluation(query, instant, data, self.incarnation, landmark)]
        if progress:
            notices.append(Progress(query, instant, instant))
        self.push(*notices)

    def await_start(self) -> None:
        """Wait for the last call that an application's start makes, in a thread: which streams have sources."""
        assert self._asked_for_streams.wait(30)

    def forget_before(self, query: str, instant: Instant) -> None:
        """Retention has passed: evaluations at or before ``instant`` can no longer be replayed."""
        with self._lock:
            self.retained[query] = instant
            self.history[query] = [past for past in self.history.get(query, []) if past.instant > instant]

    def _remember(self, notice: Notice) -> None:
        if isinstance(notice, Evaluation | Failed):
            self.history.setdefault(notice.query, []).append(notice)
        description = self._queries.get(notice.query)
        if description is None:
            return
        if isinstance(notice, Evaluation):
            description = replace(
                description, evaluations=description.evaluations + 1, evaluated=notice.instant, state="running"
            )
        elif isinstance(notice, Progress):
            description = replace(description, watermark=notice.watermark, progressed=notice.time)
        elif isinstance(notice, Ended):
            description = replace(description, state="ended")
        elif isinstance(notice, Failed):
            description = replace(description, last_error=notice.detail, evaluated=notice.instant)
        self._queries[notice.query] = description

    def _enter(self, method: str) -> None:
        with self._lock:
            self.calls.append(method)
        failure = self.failures.get(method)
        if failure is not None:
            raise failure

    # Streams

    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        self._enter("create_stream")
        with self._lock:
            existing = self._streams.get(name)
            if existing is not None:
                if existing.settings != settings:
                    raise Conflict(f"the stream {name!r} exists with other settings")
                return False
            self._streams[name] = StreamDescription(name, settings, None, None, None, 0, 0, 0, 0, False)
            return True

    def delete_stream(self, name: str) -> None:
        self._enter("delete_stream")
        with self._lock:
            iri = self.stream(name).settings.iri
            readers = [query.name for query in self._queries.values() if query.standing and iri in query.query.streams]
            if readers:
                raise Conflict(f"the stream {name!r} is read by {', '.join(readers)}")
            del self._streams[name]

    def streams(self) -> list[StreamDescription]:
        self._enter("streams")
        self._asked_for_streams.set()
        with self._lock:
            return list(self._streams.values())

    def stream(self, name: str) -> StreamDescription:
        with self._lock:
            description = self._streams.get(main_stream(name))
        if description is None:
            raise NotFound(f"there is no stream {name!r}")
        if name in side_streams(description.name):
            return StreamDescription(name, StreamSettings(f"urn:{name}"), None, None, None, 0, 0, 0, 0, False)
        return description

    def follow(self, name: str, after: int | None, *, incarnation: int | None = None) -> FakeFollower:
        """Whatever the test has put into ``followed``, from the element after that one on; all of it after one of
        another incarnation.
        """
        self.stream(name)
        foreign = incarnation not in (None, self.incarnation)
        return FakeFollower(self, name, -1 if after is None or foreign else after, self.incarnation)

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        """Counts each non-empty line as a triple and each body as one element; parses nothing."""
        self._enter("append")
        with self._lock:
            description = self.stream(name)
            if description.ended:
                raise Conflict(f"the stream {name!r} has ended")
            if body == b"not RDF":
                raise InvalidMessage("the body is not RDF", line=1, column=1)
            self.appended.append(Appended(name, body, content_type, at, key, partition))
            triples = sum(1 for line in body.splitlines() if line.strip())
            watermark = description.watermark if at is None else max(at - 1, description.watermark or at - 1)
            self._streams[name] = replace(
                description,
                elements=description.elements + 1,
                triples=description.triples + triples,
                bytes=description.bytes + len(body),
                watermark=watermark,
                first=description.first if description.first is not None else at,
                last=at if at is not None else description.last,
            )
            return AppendReceipt(1, triples, watermark)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        """Appends each message as ``append`` does, and counts those that this refuses."""
        self._enter("receive")
        rejected = 0
        with self._lock:
            for message in batch.messages:
                try:
                    self.append(name, message.body, message.content_type or "", None)
                except InvalidMessage:
                    rejected += 1
            self.placed[name] = {**self.positions(name), **batch.positions}
        return SourceReceipt(len(batch.messages) - rejected, rejected)

    def positions(self, name: str) -> dict[str, bytes]:
        self.stream(name)
        return {place: position for place, position in self.placed.get(name, {}).items() if position}

    def read_kafka(self, reading: KafkaReading) -> KafkaFeed:
        raise Unavailable("there is no Spark here to read Kafka with")

    def write_kafka(self, cluster: KafkaCluster, topic: str) -> KafkaWriter:
        raise Unavailable("there is no Spark here to write to Kafka with")

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        self._enter("advance")
        self.advanced.append((name, watermark, partition))
        with self._lock:
            description = self.stream(name)
            if description.watermark is None or watermark > description.watermark:
                description = replace(description, watermark=watermark)
            self._streams[name] = description
            return description

    def end_stream(self, name: str) -> StreamDescription:
        self._enter("end_stream")
        with self._lock:
            self._streams[name] = replace(self.stream(name), ended=True)
            return self._streams[name]

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
        self._enter("register")
        opening = landmark if landmark is not None else since if since is not None else FIRST_INSTANT
        opening = max(opening, self.retained.get(name, FIRST_INSTANT))
        begins = not standing and any(begins_with_query(window.window) for window in query.windows)
        with self._lock:
            known = {stream.settings.iri for stream in self._streams.values()}
            for window in query.windows:
                if window.stream not in known:
                    raise QuerySemanticError(
                        f"there is no stream <{window.stream}>", line=window.line, column=window.column
                    )
            new = name not in self._queries
            if not new:
                self.push(Gone(name, "the query was replaced", replaced=True))
            self.since[name] = since
            self.limits[name] = limits
            self.history[name] = []
            self._queries[name] = QueryDescription(
                name, query, standing, "waiting", since, None, None, 0, 0, None, limits=limits, lowered=limits,
                incarnation=self.incarnation, landmark=opening if begins else None,
            )  # fmt: skip
            return new

    def remove(self, name: str) -> None:
        self._enter("remove")
        if self.asleep.pop(name, None) is not None:
            return
        with self._lock:
            self.query(name)
            del self._queries[name]
        self.push(Gone(name, "the query was removed"))

    def fall_asleep(self, name: str) -> None:
        """Have the query be one that cannot be evaluated."""
        self.asleep[name] = self._queries.pop(name)

    def wake(self, name: str) -> None:
        self._queries[name] = self.asleep.pop(name)

    def fall_behind(self, name: str, lane: str, seconds: float) -> None:
        """Have an evaluation of the query be due for so long."""
        with self._lock:
            self._queries[name] = replace(self._queries[name], lane=lane, overdue=seconds)

    def overdue(self) -> Mapping[str, Sequence[float]]:
        with self._lock:
            return {
                lane: [one.overdue for one in self._queries.values() if one.lane == lane] for lane in ("common", "own")
            }

    def queries(self) -> list[QueryDescription]:
        self._enter("queries")
        with self._lock:
            return list(self._queries.values())

    def dormant(self) -> frozenset[str]:
        return frozenset(self.asleep)

    def query(self, name: str) -> QueryDescription:
        with self._lock:
            description = self._queries.get(name)
        if description is None:
            raise NotFound(f"there is no query {name!r}")
        return description

    def plan(self, name: str, *, measured: bool = False) -> str:
        self._enter("plan")
        return f"plan of {self.query(name).name}{', measured' * measured}"

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        self._enter("replay")
        self.query(name)
        if self.state != "running":
            raise Unavailable("Spark is starting")
        with self._lock:
            past: Sequence[Outcome] = list(self.history.get(name, []))
        return iter(
            sorted(
                (one for one in past if (after is None or one.instant > after) and one.instant <= upto),
                key=lambda one: one.instant,
            )
        )

    def latest(self, name: str) -> Evaluation | None:
        evaluated = self.query(name).evaluated
        if evaluated is None:
            return None
        answers = [one for one in self.replay(name, None, evaluated) if isinstance(one, Evaluation)]
        return max(answers, key=lambda one: one.instant, default=None)

    def retained_from(self, name: str, after: Instant | None = None) -> Instant | None:
        compares = self.query(name).query.operator is not R2S.RSTREAM
        held = self.retained.get(name)
        if after is None or held is None or after <= held or not compares:
            return held
        return held if any(held < one.instant <= after for one in self.history.get(name, [])) else after

    def listen(self, listener: Listener) -> None:
        self._enter("listen")
        self._listener = listener

    # Store and life

    def store_changed(self) -> None:
        self._enter("store_changed")

    def backup(self, directory: Path) -> None:
        (directory / "streams").mkdir()

    def health(self) -> Health:
        return Health(self.state, self.detail)

    def start(self) -> None:
        self._enter("start")

    def stop(self) -> None:
        self._enter("stop")
