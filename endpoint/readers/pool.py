"""The readers of one endpoint: lent out one query at a time, ended when a query must end, and replaced."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread

from endpoint.readers.answer import Answer
from endpoint.readers.errors import Overloaded
from endpoint.readers.exchange import Asked, Kind, Question, Release
from endpoint.readers.limits import MOST_WAITING, WAITING_SECONDS, QueryLimits
from endpoint.readers.process import ReaderProcess
from endpoint.readers.snapshot import Snapshot, Snapshots
from endpoint.store import GraphStore
from protocol.errors import ProtocolError, Unavailable

logger = logging.getLogger(__name__)

_START_SECONDS = 60.0


class ReaderPool:
    """At most ``size`` queries are evaluated at once; further ones wait in turn.

    Processes are started as they are needed, with always one in reserve, so that there are at most ``size`` + 1.
    Belongs to the event loop that calls ``start``; ``end`` is for when that loop is gone.
    """

    def __init__(
        self,
        store: GraphStore,
        directory: Path,
        size: int,
        *,
        waiting_seconds: float = WAITING_SECONDS,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """``directory`` is for the snapshots, see Snapshots."""
        self._executor = ThreadPoolExecutor(2, "readers")
        self._snapshots = Snapshots(store, directory, self._executor)
        self._size = size
        self._waiting_seconds = waiting_seconds
        self._most_waiting = most_waiting
        self._waiting: deque[asyncio.Future[ReaderProcess]] = deque()
        self._idle: list[ReaderProcess] = []
        self._lent: set[ReaderProcess] = set()
        self._coming = 0
        self._tasks: set[asyncio.Task[None]] = set()
        # Every process that has not been reaped; also added to from the executor's threads.
        self._processes: set[ReaderProcess] = set()
        self._ended = False

    # Life

    async def start(self) -> None:
        """Begin to start the first reader; does not wait for it."""
        self._replenish()

    async def stop(self) -> None:
        """End every reader, whatever it is doing."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refuse(_stopping())
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

    # Questions

    @asynccontextmanager
    async def answer(self, question: Question, limits: QueryLimits) -> AsyncGenerator[Answer, None]:
        """An answer that has begun. Left before its end, its evaluation is ended too, by ending the process.

        It sees every change acknowledged before the call, and one state of the store. Raises ProtocolError: Overloaded,
        QueryTimeout, ReaderEnded, or what is wrong with the question.
        """
        reader = await self._take()
        try:
            snapshot = await self._snapshots.newest()
            self._free_old(snapshot)
            if snapshot not in reader.snapshots:
                self._snapshots.use(snapshot)
                reader.snapshots.append(snapshot)
            answer = Answer(reader, limits)
            await answer.begin(Asked(question, str(snapshot.directory), limits.seconds, limits.most_bytes))
            yield answer
        finally:
            self._give_back(reader)

    async def _take(self) -> ReaderProcess:
        if self._ended:
            raise _stopping()
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
        if reader.idle and not self._ended:
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
        while self._waiting and self._idle and len(self._lent) < self._size:
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
            waiting.set_result(reader)
        self._replenish()

    def _replenish(self) -> None:
        """Start what those who wait and may go on need, and one in reserve."""
        wanted = min(len(self._waiting), self._size - len(self._lent)) + 1
        missing = min(wanted - len(self._idle) - self._coming, self._size + 1 - self._there)
        for _ in range(0 if self._ended else missing):
            self._coming += 1
            self._run(self._supply())

    @property
    def _there(self) -> int:
        return len(self._lent) + len(self._idle) + self._coming

    async def _supply(self) -> None:
        reader: ReaderProcess | None = None
        try:
            reader = await asyncio.get_running_loop().run_in_executor(self._executor, self._started)
            async with asyncio.timeout(_START_SECONDS):
                await reader.ready()
        except (OSError, ProtocolError, TimeoutError) as error:
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
        reader = ReaderProcess()
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

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _stopping() -> Unavailable:
    return Unavailable("the endpoint is being stopped: ask again when it is back")
