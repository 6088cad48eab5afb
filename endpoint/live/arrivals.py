"""Waiting for what comes next of streams: however many listen to one, one of them looks (docs/http.md, "Reading a
stream").
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import anyio

from endpoint.backend import StreamFollower
from endpoint.live.backend_threads import BackendThreads
from endpoint.live.turns import Turns
from protocol.streams import StreamReach
from protocol.time import Instant

_LOOKED_EVERY = 0.05


async def look_again(stopping: asyncio.Event) -> None:
    """Return when it is time for the next look, or the server is being stopped."""
    with anyio.move_on_after(_LOOKED_EVERY):
        await stopping.wait()


@dataclass(eq=False)
class _Listener:
    """One who waits until there is more than it has taken, or the watermark has reached ``until``."""

    follower: StreamFollower
    until: Instant | None
    woken: asyncio.Future[None]

    def wants(self, reach: StreamReach | None) -> bool:
        """Whether it is to look for itself; None: how far its stream is cannot be told, and it says why."""
        taken = self.follower.taken
        if reach is None or (reach.elements, reach.ended) != (taken.elements, taken.ended):
            return True
        return self.until is not None and reach.watermark >= self.until


class Arrivals:
    """Wakes those who have taken all that a stream has. Belongs to the event loop.

    Streams have no bell: it is looked for how far they are, all of them at once in a thread, while anybody waits.
    ``look_again`` returns when that is to be done the next time. Nobody waits any more once it is ``stopping``. Who is
    woken goes on in one of the ``turns``.
    """

    def __init__(
        self,
        threads: BackendThreads,
        stopping: asyncio.Event,
        turns: Turns,
        look_again: Callable[[asyncio.Event], Awaitable[None]] = look_again,
    ) -> None:
        self._threads = threads
        self._stopping = stopping
        self._turns = turns
        self._look_again = look_again
        self._waiting: set[_Listener] = set()
        self._looking: asyncio.Task[None] | None = None

    async def more(self, follower: StreamFollower, until: Instant | None = None) -> None:
        """Return as soon as it is worth to take from the follower, or its stream's watermark has reached ``until``."""
        loop = asyncio.get_running_loop()
        listener = _Listener(follower, until, loop.create_future())
        self._waiting.add(listener)
        if self._looking is None:
            self._looking = loop.create_task(self._look())
        try:
            await listener.woken
        finally:
            self._waiting.discard(listener)

    async def _look(self) -> None:
        try:
            while self._waiting:
                await self._look_again(self._stopping)
                followers = {one.follower.log: one.follower for one in self._waiting}
                reached = await self._threads.run_reading(partial(_reached, followers))
                # Who has come since is looked for the next time.
                found = {
                    one
                    for one in self._waiting
                    if self._stopping.is_set()
                    or (one.follower.log in followers and one.wants(reached.get(one.follower.log)))
                }
                self._waiting -= found
                self._turns.take(one.woken for one in found)
        finally:
            self._looking = None
            self._turns.take(one.woken for one in self._waiting)


def _reached(followers: dict[str, StreamFollower]) -> dict[str, StreamReach]:
    """How far the logs are, of those that say it: of the others, whoever takes from them is told why."""
    reached: dict[str, StreamReach] = {}
    for log, follower in followers.items():
        with suppress(Exception):
            reached[log] = follower.reach()
    return reached
