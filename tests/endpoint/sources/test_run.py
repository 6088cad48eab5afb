"""A source is kept going: nothing is lost where either side fails, and its state says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from endpoint.back_off import BackOff
from endpoint.sources.connection import Surroundings
from endpoint.sources.run import SourceRun
from protocol.errors import Conflict, NotFound, Unavailable
from protocol.formats.allow_list import NOTHING
from protocol.sources import (
    SourceBatch,
    SourceDescription,
    SourceFailed,
    SourceMessage,
    SourceReceipt,
    SourceSettings,
    SourceState,
    SourceType,
)


@dataclass
class Feed:
    """The other side: numbers up to ``last``; ``faults`` are raised by the call with this number."""

    last: int
    faults: dict[int, BaseException] = field(default_factory=dict)
    calls: int = 0
    acknowledged: list[bytes] = field(default_factory=list)
    closed: int = 0
    forgotten: int = 0
    waited: list[float] = field(default_factory=list)
    stop: Callable[[], None] = lambda: None
    stop_at: int | None = None
    """It is stopped while this number is taken."""

    def fault(self) -> None:
        self.calls += 1
        if self.calls in self.faults:
            raise self.faults[self.calls]

    def connect(self, surroundings: Surroundings) -> FeedConnection:
        self.fault()
        return FeedConnection(self, int(surroundings.positions.get("at", b"0")))


@dataclass
class FeedConnection:
    feed: Feed
    place: int
    notice: str | None = None

    def take(self, seconds: float) -> SourceBatch | None:
        self.feed.fault()
        if self.place >= self.feed.last:
            self.feed.stop()
            return None
        self.place += 1
        if self.place == self.feed.stop_at:
            self.feed.stop()
        body = str(self.place).encode()
        return SourceBatch([SourceMessage(body, "text/turtle", "x:y", body)], {"at": body})

    def stored(self, batch: SourceBatch) -> None:
        self.feed.fault()
        self.feed.acknowledged += [message.body for message in batch.messages]

    def close(self) -> None:
        self.feed.closed += 1

    def forget(self) -> None:
        self.feed.forgotten += 1


@dataclass
class Log:
    """Our side."""

    feed: Feed
    bodies: list[bytes] = field(default_factory=list)
    at: dict[str, bytes] = field(default_factory=dict)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        self.feed.fault()
        self.bodies += [message.body for message in batch.messages]
        self.at.update(batch.positions)
        return SourceReceipt(len(batch.messages), 0)

    def positions(self, name: str) -> dict[str, bytes]:
        self.feed.fault()
        return self.at


class PatientBackOff(BackOff):
    """Asks for no time at all, and remembers what it would have asked for."""

    def __init__(self) -> None:
        super().__init__(chance=lambda: 0.0)
        self.asked: list[float] = []

    def failed(self) -> float:
        self.asked.append(super().failed())
        return 0.0


class Panic(BaseException):
    """As pyoxigraph's is."""


class Stopped(BackOff):
    """While it waits, this happens."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self._happens = happens

    def failed(self) -> float:
        self._happens()
        return 0.0


SETTINGS = SourceSettings(SourceType.FILE, "file:///x")


def surroundings(wait: Callable[[float], bool]) -> Surroundings:
    return Surroundings("s", SETTINGS, NOTHING, "id", 1000, wait)


def run(feed: Feed) -> tuple[SourceRun, Log, PatientBackOff]:
    log, back_off = Log(feed), PatientBackOff()
    running = SourceRun(surroundings, feed.connect, log, back_off=back_off)
    feed.stop = running.stop
    running.run()
    return running, log, back_off


def test_everything_comes_once_wherever_it_fails() -> None:
    expected = [str(number).encode() for number in range(1, 6)]
    whole = Feed(5)
    run(whole)
    for call in range(1, whole.calls + 1):
        for error in (
            SourceFailed("away"),
            OSError(111, "refused"),
            Unavailable("busy"),
            ZeroDivisionError(),
            Panic(),
        ):
            running, log, back_off = run(Feed(5, {call: error}))
            assert log.bodies == expected, (call, error)
            described = running.describe()
            assert (described.state, described.failures, described.messages) == (SourceState.STOPPED, 1, 5)
            assert back_off.asked == [0.5]
    assert whole.acknowledged == expected
    assert (whole.closed, whole.forgotten) == (1, 0)


def test_what_is_told_of_a_loss_stays_when_the_next_connection_has_nothing_to_tell() -> None:
    """Also where the connection that told it has failed before anything of it was stored."""
    feed = Feed(2, {3: SourceFailed("away")})  # the first to be taken
    told = iter(["messages 3 to 5 are lost", "a file was cut"])
    connections: list[FeedConnection] = []

    def connect(around: Surroundings) -> FeedConnection:
        connection = feed.connect(around)
        connection.notice = next(told) if not connections else None
        connections.append(connection)
        return connection

    now = [1.5]
    running = SourceRun(surroundings, connect, Log(feed), back_off=PatientBackOff(), now=lambda: now[0])

    before: list[SourceDescription] = []

    def ended() -> None:
        before.append(running.describe())
        now[0] = 2.5
        connections[-1].notice = next(told, None)
        running.stop()

    feed.stop = ended
    running.run()
    assert len(connections) == 2
    told_of = [(one.notice, one.noticed_at, one.notices) for one in (*before, running.describe())]
    assert told_of == [("messages 3 to 5 are lost", 1500, 1), ("a file was cut", 2500, 2)]


def test_it_waits_longer_after_each_failure_in_a_row_and_says_the_last() -> None:
    feed = Feed(2, {call: SourceFailed(f"away {call}") for call in range(1, 10)})
    running, log, back_off = run(feed)
    assert back_off.asked == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert log.bodies == [b"1", b"2"]
    assert running.describe().error == "away 9"
    assert (running.describe().messages, running.describe().bytes) == (2, 2)


def test_what_is_wrong_with_a_file_names_it() -> None:
    running, _, _ = run(Feed(1, {2: PermissionError(13, "Permission denied", "/srv/in/a.nt")}))
    assert running.describe().error == "/srv/in/a.nt: Permission denied"


def test_it_comes_back_no_sooner_than_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed(2, {1: SourceFailed("busy", retry_after=8), 2: SourceFailed("away")})
    waited: list[float] = []
    running = SourceRun(
        surroundings,
        feed.connect,
        Log(feed),
        back_off=PatientBackOff(),
    )
    monkeypatch.setattr(running._stopping, "wait", waited.append)
    feed.stop = running.stop
    running.run()
    assert waited == [8, 0]


def test_for_what_is_the_servers_own_it_does_not_wait_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed(2, {call: SourceFailed("Spark is starting", retry_in=1) for call in range(1, 6)})
    feed.faults[6] = SourceFailed("away")
    waited: list[float] = []
    back_off = PatientBackOff()
    running = SourceRun(surroundings, feed.connect, Log(feed), back_off=back_off)
    monkeypatch.setattr(running._stopping, "wait", waited.append)
    feed.stop = running.stop
    running.run()
    assert waited == [1, 1, 1, 1, 1, 0]
    assert back_off.asked == [0.5]
    assert (running.describe().failures, running.describe().messages) == (6, 2)


def test_it_ends_with_its_stream() -> None:
    for error in (Conflict("the stream has ended"), NotFound("there is no stream s")):
        feed = Feed(10**6, {5: error})
        running, _, back_off = run(feed)
        assert (feed.forgotten, feed.closed) == (1, 1)
        assert running.describe().state is SourceState.STOPPED
        assert running.describe().error == error.detail
        assert back_off.asked == []


def test_it_ends_with_its_stream_though_nothing_comes() -> None:
    """Connected, after two messages and nothing more; and where it cannot connect."""
    feed = Feed(2)
    log, back_off = Log(feed), PatientBackOff()
    for faults in ({}, {call: SourceFailed("away") for call in range(1, 10)}):
        feed.faults, feed.calls = dict(faults), 0
        looks = iter([False, False, True])
        running = SourceRun(
            surroundings,
            feed.connect,
            log,
            back_off=back_off,
            has_ended=lambda looks=looks: next(looks),  # type: ignore[misc]
        )
        running.run()
        described = running.describe()
        assert described.state is SourceState.STOPPED
        assert described.error == "the stream has ended: nothing can be appended to it"
        assert described.failures == (2 if faults else 0)
    assert log.bodies == [b"1", b"2"]
    assert (feed.forgotten, feed.closed) == (1, 1)


def test_the_other_side_forgets_the_client_of_a_stream_that_is_gone_before_the_source_is_told() -> None:
    gone = NotFound("there is no stream s")

    def has_ended() -> bool:
        if feed.calls:
            raise gone
        return False

    for told in (True, False):
        feed = Feed(0)
        running = SourceRun(
            surroundings,
            feed.connect,
            Log(feed),
            has_ended=has_ended,
        )
        if told:
            feed.stop = lambda running=running: running.stop(deleted=True)  # type: ignore[misc]
        running.run()
        assert (feed.forgotten, feed.closed) == (1, 1)
        assert running.describe().state is SourceState.STOPPED


def test_the_other_side_forgets_the_client_of_a_deleted_stream() -> None:
    feed = Feed(1)
    log = Log(feed)
    running = SourceRun(surroundings, feed.connect, log)
    feed.stop = lambda: running.stop(deleted=True)
    running.run()
    assert (feed.forgotten, feed.closed) == (1, 1)


def test_the_other_side_forgets_a_client_that_was_away_when_its_stream_was_deleted() -> None:
    for is_kept in (True, False):
        feed = Feed(0, {2: SourceFailed("away")})
        running = SourceRun(
            surroundings,
            feed.connect,
            Log(feed),
            back_off=Stopped(lambda: running.stop(deleted=True)),  # noqa: B023
            is_kept=is_kept,
        )
        running.run()
        assert (feed.forgotten, feed.closed) == (int(is_kept), int(is_kept))
        assert running.describe().state is SourceState.STOPPED


def test_a_client_is_taken_over_when_the_one_before_has_ended() -> None:
    feed = Feed(1)
    log = Log(feed)
    first = SourceRun(surroundings, feed.connect, log)
    feed.stop = lambda: first.stop(deleted=True)
    seen: list[int] = []

    def connect(surroundings: Surroundings) -> FeedConnection:
        seen.append(feed.forgotten)
        second.stop()
        return feed.connect(surroundings)

    second = SourceRun(surroundings, connect, Log(feed), before=first)
    first.start()
    second.run()
    assert seen == [1]


def test_what_was_taken_while_the_stream_was_deleted_goes_into_no_stream_of_its_name() -> None:
    for deleted, stored in ((True, [b"1"]), (False, [b"1", b"2"])):
        feed = Feed(3, stop_at=2)
        log = Log(feed)
        running = SourceRun(surroundings, feed.connect, log)
        feed.stop = lambda running=running, deleted=deleted: running.stop(deleted=deleted)  # type: ignore[misc]
        running.run()
        assert log.bodies == feed.acknowledged == stored, "what a source has taken when the server ends is stored"
        assert (feed.forgotten, feed.closed) == (int(deleted), 1)
