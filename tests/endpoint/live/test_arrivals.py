"""Waiting for what comes next of streams."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from endpoint.live.arrivals import Arrivals
from endpoint.live.backend_threads import BackendThreads
from endpoint.live.turns import Turns
from protocol.errors import NotFound
from protocol.streams import StreamItem, StreamReach
from protocol.time import BEFORE_ALL, Instant
from tests.endpoint.live.live_side import run, settle, until


class Log:
    """A stream that the test appends to; counts who looks."""

    def __init__(self, name: str, looked: Counter[str]) -> None:
        self.name = name
        self.looked = looked
        self.reach = StreamReach(0, BEFORE_ALL, False)
        self.deleted = False

    def follow(self) -> Follower:
        return Follower(self)

    def append(self) -> None:
        self.reach = self.reach._replace(elements=self.reach.elements + 1)


class Follower:
    incarnation = 0
    watermark = BEFORE_ALL
    ended = False
    retained_from = None

    def __init__(self, of: Log) -> None:
        self.log = of.name
        self.taken = of.reach
        self._of = of

    def reach(self) -> StreamReach:
        self._of.looked[self.log] += 1
        if self._of.deleted:
            raise NotFound("the stream was deleted")
        return self._of.reach

    def take(self) -> list[StreamItem]:
        self.taken = self._of.reach
        return []

    def close(self) -> None: ...


class Looks:
    """Has a look made when the test says so."""

    def __init__(self) -> None:
        self.looked: Counter[str] = Counter()
        self.begun = 0
        self.stopping = asyncio.Event()
        self.arrivals = Arrivals(BackendThreads(), self.stopping, Turns(), self._again)
        self._allowed = asyncio.Semaphore(0)
        self._tasks: list[asyncio.Task[None]] = []

    async def _again(self, stopping: asyncio.Event) -> None:
        self.begun += 1
        await self._allowed.acquire()

    async def look(self) -> None:
        """Allow one, and wait until it is over."""
        begun = self.begun
        self._allowed.release()
        # Either another one is waited for, or there is nobody to look for.
        await until(lambda: self.begun > begun or not self.listening)

    async def listen(self, *followers: Follower, upto: Instant | None = None) -> list[asyncio.Task[None]]:
        tasks = [asyncio.ensure_future(self.arrivals.more(one, upto)) for one in followers]
        self._tasks += tasks
        await settle()
        return tasks

    @property
    def listening(self) -> int:
        return sum(not task.done() for task in self._tasks)


def test_one_of_those_who_listen_to_a_stream_looks_for_all_of_them() -> None:
    async def test() -> None:
        looks = Looks()
        one, other = Log("one", looks.looked), Log("other", looks.looked)
        listeners = await looks.listen(*(one.follow() for _ in range(200)))
        others = await looks.listen(*(other.follow() for _ in range(3)))
        for _ in range(4):
            await looks.look()
        assert looks.looked == {"one": 4, "other": 4}
        assert looks.listening == 203
        one.append()
        await looks.look()
        await settle()
        assert all(task.done() for task in listeners)
        assert not any(task.done() for task in others)
        other.append()
        await looks.look()
        await settle()
        assert looks.listening == 0
        assert looks.looked == {"one": 5, "other": 6}

    run(test())


def test_nobody_is_woken_by_a_clock_unless_it_is_waited_for() -> None:
    async def test() -> None:
        looks = Looks()
        log = Log("one", looks.looked)
        (listener,) = await looks.listen(log.follow())
        (until_then,) = await looks.listen(log.follow(), upto=7)
        for watermark, reached in ((6, False), (7, True), (8, True)):
            log.reach = log.reach._replace(watermark=watermark)
            await looks.look()
            await settle()
            assert (listener.done(), until_then.done()) == (False, reached)
        log.reach = log.reach._replace(ended=True)
        await looks.look()
        await settle()
        assert listener.done()

    run(test())


def test_what_was_appended_before_somebody_waits_wakes_it_all_the_same() -> None:
    async def test() -> None:
        looks = Looks()
        log = Log("one", looks.looked)
        follower = log.follow()
        log.append()
        await looks.listen(follower)
        await looks.look()
        await until(lambda: not looks.listening)

    run(test())


def test_who_cannot_be_told_is_woken_to_see_why_and_others_wait() -> None:
    async def test() -> None:
        looks = Looks()
        gone, there = Log("gone", looks.looked), Log("there", looks.looked)
        listeners = await looks.listen(gone.follow(), gone.follow())
        (other,) = await looks.listen(there.follow())
        gone.deleted = True
        await looks.look()
        await settle()
        assert all(task.done() for task in listeners)
        assert not other.done()
        other.cancel()
        with suppress(asyncio.CancelledError):
            await other
        await looks.look()
        assert looks.looked == {"gone": 1, "there": 1}  # nobody waits: nobody looks

    run(test())


def test_nobody_waits_any_more_for_a_server_that_stops() -> None:
    async def test() -> None:
        looks = Looks()
        await looks.listen(*(Log("one", looks.looked).follow() for _ in range(3)))
        looks.stopping.set()
        await looks.look()
        await until(lambda: not looks.listening)

    run(test())
