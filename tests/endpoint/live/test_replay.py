from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio
import pytest

from endpoint.backend import Outcome
from endpoint.live.backend_threads import BackendThreads
from endpoint.live.replay import CHUNK, CHUNK_BYTES, CHUNK_SECONDS, LONG_SECONDS, RETRY_SECONDS, History
from endpoint.readers.errors import EndpointStopping
from endpoint.threads import Panic
from protocol.errors import Unavailable
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL, Instant
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, continuous, run, until


class Panicking(BaseException):
    """As pyoxigraph's is."""


@dataclass
class Log(FakeBackend):
    """A backend whose replays take ``seconds`` an evaluation, and fail where ``broken`` says so."""

    seconds: float = 0
    now: float = 0
    broken: dict[Instant, BaseException] = field(default_factory=dict)
    """Errors to raise, once each, in place of the evaluation at this instant."""
    asked: list[tuple[Instant | None, Instant]] = field(default_factory=list)
    closed: int = 0

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        self.asked.append((after, upto))
        return self._replayed(super().replay(name, after, upto))

    def _replayed(self, evaluations: Iterator[Outcome]) -> Iterator[Outcome]:
        try:
            for evaluation in evaluations:
                failure = self.broken.pop(evaluation.instant, None)
                if failure is not None:
                    raise failure
                self.now += self.seconds
                yield evaluation
        finally:
            self.closed += 1


def log(count: int, size: int = 2) -> Log:
    """A log with the evaluations of ``q`` at 1, 2, …"""
    backend = Log()
    backend.create_stream("s", StreamSettings(STREAM))
    backend.register("q", continuous(), standing=True)
    for instant in range(1, count + 1):
        backend.evaluate("q", instant, b"x" * size)
    return backend


def history(backend: Log, naps: list[float] | None = None) -> History:
    """The history of ``q``, by the log's own clock; where it would sleep, the backend starts."""

    async def sleep(seconds: float) -> None:
        if naps is not None:
            naps.append(seconds)
        backend.state = "running"

    return History(backend, BackendThreads(), "q", clock=lambda: backend.now, sleep=sleep)


async def chunks(backend: Log, after: Instant = 0, upto: Instant = 10**6) -> list[list[int]]:
    """The instants of a replay, chunk by chunk."""
    replay = history(backend).replay(after, upto)
    found: list[list[int]] = []
    while chunk := await replay.chunk():
        found.append([evaluation.instant for evaluation in chunk])
    await replay.close()
    return found


@pytest.mark.parametrize(("after", "upto", "expected"), [(0, 10, range(1, 6)), (2, 4, (3, 4)), (5, 10, ())])
def test_it_gives_what_was_after_one_instant_and_up_to_another(after: int, upto: int, expected: range) -> None:
    async def check() -> None:
        assert [one for chunk in await chunks(log(5), after, upto) for one in chunk] == list(expected)

    run(check())


def test_before_all_instants_is_the_backends_beginning() -> None:
    async def check() -> None:
        backend = log(3)
        assert await chunks(backend, BEFORE_ALL, 3) == [[1, 2, 3]]
        assert backend.asked == [(None, 3)]

    run(check())


def test_a_chunk_is_full_by_number_by_size_and_by_time() -> None:
    async def check() -> None:
        assert [len(one) for one in await chunks(log(2 * CHUNK + 1))] == [CHUNK, CHUNK, 1]
        assert [len(one) for one in await chunks(log(5, CHUNK_BYTES // 2))] == [2, 2, 1]
        slow = log(5)
        slow.seconds = CHUNK_SECONDS / 2
        assert [len(one) for one in await chunks(slow)] == [2, 2, 1]

    run(check())


def test_it_waits_while_the_backend_starts() -> None:
    async def check() -> None:
        backend = log(3)
        backend.state = "starting"
        naps: list[float] = []
        replay = history(backend, naps).replay(0, 3)
        assert [one.instant for one in await replay.chunk()] == [1, 2, 3]
        assert naps == [RETRY_SECONDS]

    run(check())


def test_a_server_that_stops_waits_for_no_evaluation_that_is_under_way() -> None:
    async def check() -> None:
        backend, began, go_on, closed = log(3), threading.Event(), threading.Event(), threading.Event()

        def slow(*asked: object, **options: object) -> Iterator[Outcome]:
            try:
                began.set()
                go_on.wait(20)
                yield from ()
            finally:
                closed.set()

        backend.replay = slow  # type: ignore[method-assign]  # of this one object
        of = history(backend)
        replay = of.replay(0, 3)
        asked = asyncio.ensure_future(replay.chunk())
        await until(began.is_set)
        of.stopping.set()
        with pytest.raises(EndpointStopping):
            await asked
        await replay.close()
        assert not closed.is_set()
        go_on.set()
        await until(closed.is_set)

    run(check())


def test_replays_that_take_long_hold_up_no_others_and_nobody_who_reads_elements() -> None:
    async def check() -> None:
        go_on = threading.Event()
        backend, light = log(3), history(log(3))
        backend.seconds, replayed = 2 * LONG_SECONDS, backend._replayed

        def held_up(evaluations: Iterator[Outcome]) -> Iterator[Outcome]:
            for evaluation in replayed(evaluations):
                yield evaluation
                go_on.wait(20)

        backend._replayed = held_up  # type: ignore[method-assign]  # of this one object
        heavy = [History(backend, light.threads, "q", clock=lambda: backend.now).replay(0, 3) for _ in range(5)]
        assert [len(await one.chunk()) for one in heavy] == [1] * 5
        waiting = [asyncio.ensure_future(one.chunk()) for one in heavy]
        assert [one.instant for one in await light.replay(0, 3).chunk()] == [1, 2, 3]
        assert await light.threads.run_reading(lambda: "an element") == "an element"
        go_on.set()
        assert [len(one) for one in await asyncio.gather(*waiting)] == [1] * 5

    run(check())


def test_a_backend_that_is_not_coming_back_is_said_to_be_unavailable() -> None:
    async def check() -> None:
        backend = log(3)
        backend.state = "failed"
        with pytest.raises(Unavailable):
            await history(backend).replay(0, 3).chunk()

    run(check())


def test_what_came_before_a_failure_goes_out_before_it() -> None:
    async def check() -> None:
        backend = log(5)
        backend.broken[4] = OSError("the disk is gone")
        replay = history(backend).replay(0, 5)
        assert [one.instant for one in await replay.chunk()] == [1, 2, 3]
        with pytest.raises(OSError, match="the disk is gone"):
            await replay.chunk()
        await replay.close()
        assert backend.closed == len(backend.asked)

    run(check())


def test_after_a_panic_nothing_is_left_out() -> None:
    async def check() -> None:
        backend = log(5)
        backend.broken |= {1: Panicking(), 4: Panicking()}
        replay = history(backend).replay(0, 5)
        with pytest.raises(Panic):
            await replay.chunk()
        assert [one.instant for one in await replay.chunk()] == [1, 2, 3]
        with pytest.raises(Panic):
            await replay.chunk()
        assert [one.instant for one in await replay.chunk()] == [4, 5]
        await replay.close()

    run(check())


def test_after_an_interruption_it_goes_on_where_it_was() -> None:
    async def check() -> None:
        backend = log(5)
        backend.broken[4] = Unavailable("Spark is started again")
        assert await chunks(backend, 0, 5) == [[1, 2, 3], [4, 5]]
        assert backend.asked == [(0, 5), (3, 5)]

    run(check())


def test_one_that_is_closed_early_lets_go_of_the_backend() -> None:
    async def check() -> None:
        backend = log(2 * CHUNK)
        replay = history(backend).replay(0, 2 * CHUNK)
        await replay.chunk()
        assert backend.closed == 0
        with anyio.CancelScope() as leaving:
            leaving.cancel()
            await replay.close()
        assert backend.closed == 1
        await replay.close()

    run(check())


def test_how_far_back_it_reaches_is_asked_of_the_backend() -> None:
    async def check() -> None:
        backend = log(5)
        assert await history(backend).retained_from() is None
        backend.forget_before("q", 3)
        assert await history(backend).retained_from() == 3

    run(check())
