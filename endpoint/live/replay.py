"""A query's past evaluations, computed again from the log, in worker threads and a chunk at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterator

import anyio

from endpoint.backend import Backend, Outcome
from endpoint.live.backend_threads import BackendThreads
from endpoint.readers.errors import EndpointStopping
from protocol.errors import Unavailable
from protocol.time import BEFORE_ALL, Instant

CHUNK = 64
"""Evaluations; many small ones come with one hop to a thread."""

CHUNK_BYTES = 1024 * 1024
CHUNK_SECONDS = 0.25
"""Slow ones are not kept back to fill a chunk."""

LONG_SECONDS = 1.0
"""A replay whose chunk took longer waits for others like it from then on."""

RETRY_SECONDS = 0.5


class History:
    """The past evaluations of one query, as far back as its streams are held.

    ``clock`` gives seconds that never step back, ``sleep`` waits for so many. ``stopping`` is set when the server is
    told to stop: then nobody waits for Spark any more.
    """

    def __init__(
        self,
        backend: Backend,
        threads: BackendThreads,
        name: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        stopping: asyncio.Event | None = None,
    ) -> None:
        self.stopping = asyncio.Event() if stopping is None else stopping
        self.backend = backend
        self.threads = threads
        self.name = name
        self.clock = clock
        self.sleep = sleep

    async def retained_from(self, after: Instant | None = None) -> Instant | None:
        """As ``Backend.retained_from``. Raises NotFound."""
        return await self.threads.run(self.backend.retained_from, self.name, after)

    def replay(self, after: Instant, upto: Instant, *, before_start: bool = False) -> Replay:
        """Those in (after, upto], ``before_start`` for who has what was before the query's start."""
        return Replay(self, after, upto, before_start)


class Replay:
    """What came of a query in (after, upto], oldest first. ``close`` it, whatever happens."""

    def __init__(self, history: History, after: Instant, upto: Instant, before_start: bool) -> None:
        self._history = history
        self._after = after
        self._upto = upto
        self._before_start = before_start
        self._iterator: Iterator[Outcome] | None = None
        self._failure: BaseException | None = None
        self._exhausted = False
        self._attempts = 0
        self._abandoned = False
        self._long = False

    async def chunk(self) -> list[Outcome]:
        """What comes next; nothing: that was all. Waits while Spark is starting.

        Raises what the backend raises, and EndpointStopping.
        """
        while not self._exhausted:
            if self._history.stopping.is_set():
                raise EndpointStopping
            try:
                chunk = await self._taken()
            except Unavailable:
                self._attempts += 1
                health = await self._history.threads.run(self._history.backend.health)
                if health.state == "starting":
                    self._attempts = 0
                    await self._history.sleep(RETRY_SECONDS)
                elif health.state != "running" or self._attempts > 1:
                    raise
                # Else it may have started between the attempt and the question: one more attempt tells.
                continue
            self._attempts = 0
            if chunk:
                return chunk
        return []

    async def _taken(self) -> list[Outcome]:
        """What ``_take`` gives; but a server that stops does not wait for an evaluation that may take long."""
        taking = asyncio.ensure_future(self._history.threads.run_replay(self._take_or_leave, long=self._long))
        stopping = asyncio.ensure_future(self._history.stopping.wait())
        try:
            await asyncio.wait([taking, stopping], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            taking.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([taking])
            raise
        finally:
            stopping.cancel()
        if not taking.done():
            self._abandoned = True
            taking.add_done_callback(lambda left: left.cancelled() or left.exception())
            raise EndpointStopping
        return taking.result()

    async def close(self) -> None:
        """Let go of the backend's iterator, which the thread does that still has it where the server stops."""
        if self._abandoned:
            return
        iterator, self._iterator = self._iterator, None
        close = getattr(iterator, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await self._history.threads.run_replay(close)

    def _take_or_leave(self) -> list[Outcome]:
        began = self._history.clock()
        try:
            return self._take()
        finally:
            self._long = self._history.clock() - began > LONG_SECONDS
            if self._abandoned and isinstance(self._iterator, Generator):
                self._iterator.close()

    def _take(self) -> list[Outcome]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        chunk: list[Outcome] = []
        history, size = self._history, 0
        started = history.clock()
        try:
            if self._iterator is None:
                after = self._after if self._after > BEFORE_ALL else None
                found = history.backend.replay(history.name, after, self._upto, before_start=self._before_start)
                self._iterator = iter(found)
            for outcome in self._iterator:
                chunk.append(outcome)
                self._after = outcome.instant
                size += outcome.size
                full = len(chunk) >= CHUNK or size >= CHUNK_BYTES
                if full or history.clock() - started >= CHUNK_SECONDS:
                    return chunk
        except BaseException as error:  # a panic in Oxigraph is no Exception
            # What came before the failure goes out before it; a new attempt goes on after that.
            self._iterator = None
            if not chunk:
                raise
            self._failure = error
            return chunk
        self._exhausted = True
        return chunk
