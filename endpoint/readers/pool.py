"""The readers of one endpoint: lent out one query at a time, ended when a query must end, and replaced."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread

from endpoint.processes.frames import Frame, Kind
from endpoint.processes.watchdog import FROZEN_SECONDS, Watchdog
from endpoint.readers.answer import ReaderAnswer
from endpoint.readers.errors import EndpointStopping, Overloaded
from endpoint.readers.exchange import COPIED, Asked, Copy, Question, Release
from endpoint.readers.limits import (
    LONG_SECONDS,
    MOST_WAITING,
    REST,
    SETTLED_SECONDS,
    STALLED_BEFORE_OTHERS_SECONDS,
    WAITING_SECONDS,
    QueryLimits,
)
from endpoint.readers.process import ReaderProcess
from endpoint.readers.snapshot import Snapshot, Snapshots, SnapshotSource
from protocol.errors import ProtocolError, Unavailable
from protocol.processes.standstill import LOOK_SECONDS

logger = logging.getLogger(__name__)

_START_SECONDS = 60.0
_COPY_SECONDS = 60.0


class ReaderPool:
    """At most ``size`` queries are evaluated at once; further ones wait in turn.

    A query that has run for a second counts no more, so that a few long ones do not keep all others waiting; with
    these, there are at most ``most`` at once. If there are, and more wait, clients that take nothing of their answers
    are given up, one for each that waits. Processes are started as they are needed, with always one in reserve, so that
    there are at most ``most`` + 1, and few more than ``size`` are kept.

    A store that is small and has not changed for a second is copied into the memory of the readers in use, one at a
    time, while the reserve stands in for the one that copies: no query waits for it.

    Belongs to the event loop that calls ``start``; ``end`` is for when that loop is gone.
    """

    def __init__(
        self,
        store: SnapshotSource,
        directory: Path,
        size: int,
        *,
        most: int | None = None,
        long_seconds: float = LONG_SECONDS,
        memory_quads: int,
        settled_seconds: float = SETTLED_SECONDS,
        waiting_seconds: float = WAITING_SECONDS,
        most_waiting: int = MOST_WAITING,
        frozen_after: float = FROZEN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        start_process: Callable[[], ReaderProcess] = ReaderProcess,
    ) -> None:
        """``directory`` is for the snapshots, see Snapshots. ``most`` None is ``size``.

        A store with more than ``memory_quads`` is not copied into memory. ``clock`` gives seconds that never step back.
        A reader that is stopped (SIGSTOP) is ended after ``frozen_after`` seconds.
        """
        self._executor = ThreadPoolExecutor(2, "readers")
        self._snapshots = Snapshots(store, directory, self._executor)
        self._store = store
        self._size = size
        self._most = size if most is None else max(size, most)
        self._long_seconds = long_seconds
        self._memory_quads = memory_quads
        self._settled_seconds = settled_seconds
        self._waiting_seconds = waiting_seconds
        self._most_waiting = most_waiting
        self._watchdog: Watchdog[ReaderProcess] = Watchdog("a process for queries", frozen_after, clock)
        self._clock = clock
        self._start_process = start_process
        self._waiting: deque[asyncio.Future[ReaderProcess]] = deque()
        self._idle: list[ReaderProcess] = []
        self._lent: set[ReaderProcess] = set()
        self._answers: list[ReaderAnswer] = []
        # Those of the lent that have been so for long, and for the others, what will count them among these.
        self._long: set[ReaderProcess] = set()
        self._until_long: dict[ReaderProcess, asyncio.TimerHandle] = {}
        # The snapshot that may be copied, from which time on, and the reader that is copying now.
        self._settling: Snapshot | None = None
        self._settled_at = math.inf
        self._copying: ReaderProcess | None = None
        self._copy_took = 0.0
        self._coming = 0
        self._tasks: set[asyncio.Task[None]] = set()
        # Every process that has not been reaped; also added to from the executor's threads.
        self._processes: set[ReaderProcess] = set()
        self._ended = False

    # Life

    async def start(self) -> None:
        """Begin to start the first reader; does not wait for it."""
        self._replenish()
        self._run(self._watch())

    async def stop(self) -> None:
        """End every reader, whatever it is doing."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refuse(EndpointStopping())
        self._idle.clear()
        # Not the loop's own executor, which takes nothing any more while the interpreter ends.
        await anyio.to_thread.run_sync(self.end)
        # Those that are lent are closed by whoever was waiting for their answer.
        for reader in self._processes - self._lent:
            reader.close()
        self._processes.clear()

    def end(self) -> None:
        """End every process and wait for that. Those who wait for an answer, if any still do, get an error."""
        self._ended = True
        self._executor.shutdown(wait=True)
        for reader in self._processes:
            reader.kill()
        for reader in self._processes:
            reader.reap()
        self._snapshots.remove()

    @property
    def processes(self) -> list[int]:
        """The process ids of the readers there are."""
        return sorted(reader.pid for reader in self._processes if reader.alive)

    @property
    def answering(self) -> list[int]:
        """The process ids of those to which a question has been put that is not answered to its end."""
        return sorted(reader.pid for reader in self._lent if not reader.idle)

    @property
    def idle(self) -> list[int]:
        """Those that stand ready for a question, the one that gets the next at the end."""
        return [reader.pid for reader in self._idle]

    @property
    def long(self) -> list[int]:
        """Those that were lent so long ago that they count no more among the ``size``."""
        return sorted(reader.pid for reader in self._long)

    @property
    def waiting(self) -> int:
        """How many questions wait for their turn."""
        return len(self._waiting)

    @property
    def copying(self) -> int | None:
        """The one that copies the store into its memory now."""
        return None if self._copying is None else self._copying.pid

    @property
    def copied(self) -> list[int]:
        """Those that have the newest snapshot asked for in their memory."""
        return sorted(
            reader.pid for reader in self._processes if reader.copied is not None and reader.copied is self._settling
        )

    @property
    def stalled(self) -> str | None:
        """Which readers stand still, for a person, as ``look`` has seen it; None while none does."""
        return self._watchdog.said

    def look(self) -> None:
        """End the readers that have stood still for too long. Others take their place."""
        for reader in self._watchdog.look(tuple(self._processes)):
            reader.kill(frozen=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()
            self._make_room()

    # Questions

    @asynccontextmanager
    async def answer(
        self, question: Question | Callable[[int], Question], limits: QueryLimits, *, least: int | None = None
    ) -> AsyncGenerator[ReaderAnswer, None]:
        """An answer that has begun. Left before its end, its evaluation is ended too, by ending the process.

        It sees every change acknowledged before the call, or (``least``) those up to this version, and one state of the
        store, by whose version the ``question`` may be made. Raises ProtocolError: Overloaded, QueryTimeout,
        ReaderEnded, or what is wrong with the question.
        """
        reader = await self._take()
        answer: ReaderAnswer | None = None
        try:
            snapshot = await self._snapshots.newest(least)
            self._free_old(snapshot)
            self._await_settling(snapshot)
            if snapshot not in reader.snapshots:
                self._snapshots.use(snapshot)
                reader.snapshots.append(snapshot)
            answer = ReaderAnswer(reader, limits, snapshot.version)
            self._answers.append(answer)
            asked = question(snapshot.version) if callable(question) else question
            await answer.begin(Asked(asked, str(snapshot.directory), limits.seconds, limits.most_bytes))
            yield answer
        except ProtocolError as error:
            self._store.report(error)
            raise
        finally:
            if answer is not None:
                self._answers.remove(answer)
            self._give_back(reader)

    async def _take(self) -> ReaderProcess:
        if self._ended:
            raise EndpointStopping
        if len(self._waiting) >= self._most_waiting:
            raise Overloaded(f"{self._most_waiting} queries are waiting for their turn already: ask again later")
        waiting: asyncio.Future[ReaderProcess] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._dispatch()
        try:
            async with asyncio.timeout(self._waiting_seconds):
                return await asyncio.shield(waiting)
        except BaseException as error:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._give_back(waiting.result())
            elif not waiting.done():
                waiting.cancel()
                self._waiting.remove(waiting)
            if isinstance(error, TimeoutError):
                raise Overloaded(
                    f"no query before this one ended within {self._waiting_seconds:g} s: ask again later"
                ) from None
            raise

    def _give_back(self, reader: ReaderProcess) -> None:
        self._lent.discard(reader)
        self._long.discard(reader)
        if (timer := self._until_long.pop(reader, None)) is not None:
            timer.cancel()
        # As many as may be needed at once, the reserve, and one that copies; not all that long queries needed.
        if reader.idle and not self._ended and self._there <= self._size + len(self._long) + 1:
            # It has closed what it had open before it opened the last one.
            self._let_go(reader, 1)
            self._idle.append(reader)
        else:
            self._dismiss(reader)
        self._dispatch()

    def _dismiss(self, reader: ReaderProcess) -> None:
        """End a reader for good."""
        reader.close()
        if not self._ended:
            self._run(self._bury(reader))

    async def _bury(self, reader: ReaderProcess) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, reader.reap)
        self._processes.discard(reader)
        self._let_go(reader, 0)

    def _let_go(self, reader: ReaderProcess, kept: int) -> None:
        """Count the reader as a user of its last ``kept`` snapshots only."""
        while len(reader.snapshots) > kept:
            self._snapshots.let_go(reader.snapshots.pop(0))

    # Supply

    def _dispatch(self) -> None:
        # First, for where there is always someone who waits it would never have its turn.
        self._copy_if_settled()
        while self._waiting and self._idle and self._places > 0:
            waiting = self._waiting.popleft()
            if waiting.done():
                continue
            # The one used last most likely has the newest snapshot open.
            reader = self._idle.pop()
            if not reader.alive:
                self._waiting.appendleft(waiting)
                self._dismiss(reader)
                continue
            self._lent.add(reader)
            self._until_long[reader] = asyncio.get_running_loop().call_later(self._long_seconds, self._is_long, reader)
            waiting.set_result(reader)
        self._make_room()
        self._replenish()

    def _make_room(self) -> None:
        """Where all places are taken, give up clients that take nothing of their answers, one for each that waits."""
        if len(self._lent) < self._most:
            return
        coming = sum(answer.patience.lost for answer in self._answers)
        stalled = [
            answer.patience
            for answer in self._answers
            if not answer.patience.lost and answer.patience.waited >= STALLED_BEFORE_OTHERS_SECONDS
        ]
        stalled.sort(key=lambda patience: patience.waited, reverse=True)
        for patience in stalled[: max(0, len(self._waiting) - coming)]:
            patience.lose()

    @property
    def _places(self) -> int:
        """How many more queries may be evaluated now."""
        return min(self._size - len(self._lent) + len(self._long), self._most - len(self._lent))

    def _is_long(self, reader: ReaderProcess) -> None:
        del self._until_long[reader]
        self._long.add(reader)
        self._dispatch()

    def _replenish(self) -> None:
        """Start what those who wait and may go on need, and one in reserve."""
        wanted = min(len(self._waiting), self._places) + 1
        missing = min(wanted - len(self._idle) - self._coming, self._most + 1 - self._there)
        for _ in range(0 if self._ended else missing):
            self._coming += 1
            self._run(self._supply())

    @property
    def _there(self) -> int:
        return len(self._lent) + len(self._idle) + self._coming + (self._copying is not None)

    async def _supply(self) -> None:
        reader: ReaderProcess | None = None
        try:
            reader = await asyncio.get_running_loop().run_in_executor(self._executor, self._started)
            async with asyncio.timeout(_START_SECONDS):
                await reader.ready()
        except Exception as error:  # whatever it is, its place is not to stay taken
            logger.error("a process for queries could not be started: %s", str(error) or type(error).__name__)
            self._coming -= 1
            if reader is not None:
                self._dismiss(reader)
            if not self._there:
                # Nobody would serve those who wait; the next query tries again.
                self._refuse(Unavailable("no process could be started for the query: ask again later"))
        else:
            self._coming -= 1
            self._idle.append(reader)
            self._dispatch()

    def _refuse(self, error: ProtocolError) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(error)
        self._waiting.clear()

    def _started(self) -> ReaderProcess:
        reader = self._start_process()
        self._processes.add(reader)
        return reader

    def _free_old(self, newest: Snapshot) -> None:
        """Have idle readers let go of snapshots that are not the newest, so that they can be removed."""
        for reader in [one for one in self._idle if one.snapshots not in ([], [newest])]:
            self._idle.remove(reader)
            self._coming += 1
            self._run(self._freed(reader))

    async def _freed(self, reader: ReaderProcess) -> None:
        closed = False
        try:
            async with asyncio.timeout(_START_SECONDS):
                await reader.ask(Asked(Release(), "", _START_SECONDS, 0))
                closed = (await reader.receive()).kind is Kind.LAST
        except (ProtocolError, TimeoutError):
            logger.warning("an idle process for queries ended: process %d", reader.pid)
        self._coming -= 1
        if not closed:
            self._dismiss(reader)
        else:
            self._let_go(reader, 0)
            # Behind those that have a snapshot open.
            self._idle.insert(0, reader)
        self._dispatch()

    # Copies in memory

    def _await_settling(self, newest: Snapshot) -> None:
        """A snapshot is being used: if it is a new one, see about copying it when it has been the newest for long."""
        if newest is self._settling or not self._memory_quads:
            return
        wait = max(self._settled_seconds, REST * self._copy_took)
        self._settling, self._settled_at = newest, self._clock() + wait
        # A little later than that: timers may be early by the clock's resolution.
        asyncio.get_running_loop().call_later(wait + 0.01, self._dispatch)

    def _copy_if_settled(self) -> None:
        """Let an idle reader that has the newest snapshot open copy it, if others stand ready for queries."""
        settled = self._settling
        if (
            settled is None
            or self._ended
            or self._copying is not None
            or len(self._idle) <= max(1, min(len(self._waiting), self._places))
            or settled.version != self._store.version
            or self._clock() < self._settled_at
        ):
            return
        for reader in reversed(self._idle):
            if settled in reader.snapshots and reader.copied is not settled:
                self._idle.remove(reader)
                self._copying = reader
                self._run(self._copied(reader, settled))
                return

    async def _copied(self, reader: ReaderProcess, snapshot: Snapshot) -> None:
        began = self._clock()
        answer: Frame | None = None
        try:
            async with asyncio.timeout(_COPY_SECONDS):
                await reader.ask(Asked(Copy(self._memory_quads), str(snapshot.directory), _COPY_SECONDS, 100))
                answer = await reader.receive()
        except (ProtocolError, TimeoutError) as error:
            logger.warning("a store was not copied into memory: %s", str(error) or type(error).__name__)
        self._copy_took = self._clock() - began
        self._copying = None
        if answer is None or answer.kind is not Kind.LAST:
            self._settled_at = math.inf
            self._dismiss(reader)
        else:
            if answer.content == COPIED:
                reader.copied = snapshot
            elif snapshot is self._settling:
                # It is too large, for the others as well.
                self._settled_at = math.inf
            # At the end: the next query is for the one that has the copy.
            self._idle.append(reader)
        self._dispatch()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
