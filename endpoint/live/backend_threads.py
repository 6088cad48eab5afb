"""The worker threads in which the event loop has the backend called: its methods may block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from endpoint.threads import LONG, without_panic
from endpoint.uninterrupted import uninterrupted

T = TypeVar("T")

_REPLAYS_AT_ONCE = 4
_LONG_REPLAYS_AT_ONCE = 2
_READINGS_AT_ONCE = 4
_APPENDS_AT_ONCE = 64
_REGISTRATIONS_AT_ONCE = 8


class BackendThreads:
    """Appends wait for the disk, replays compute, elements are read, queries are compiled: none of these holds up
    another, or what only looks something up.

    What has begun is waited for to its end, by who is cancelled, too: a lock that they hold, or what they let go of
    next, is not free before. What has not begun by then is not called.
    """

    def __init__(self) -> None:
        self._appends = anyio.CapacityLimiter(_APPENDS_AT_ONCE)
        self._replays = anyio.CapacityLimiter(_REPLAYS_AT_ONCE)
        self._long_replays = anyio.CapacityLimiter(_LONG_REPLAYS_AT_ONCE)
        self._readings = anyio.CapacityLimiter(_READINGS_AT_ONCE)
        self._registrations = anyio.CapacityLimiter(_REGISTRATIONS_AT_ONCE)

    async def run(self, method: Callable[..., T], *arguments: object) -> T:
        """Call a method of the backend."""
        return await to_end(lambda: method(*arguments), None)

    async def run_if_long(self, size: int, function: Callable[..., T], *arguments: object) -> T:
        """Call the function here, or in a thread where it has so much to work through."""
        return await self.run(function, *arguments) if size > LONG else without_panic(function, *arguments)

    async def run_append(self, append: Callable[[], T]) -> T:
        """The same for an append."""
        return await to_end(append, self._appends)

    async def run_registration(self, register: Callable[[], T]) -> T:
        """The same for a registration."""
        return await to_end(register, self._registrations)

    async def run_replay(self, part: Callable[[], T], *, long: bool = False) -> T:
        """The same for (a part of) a replay; ``long``: of one that the others are not to wait for."""
        return await to_end(part, self._long_replays if long else self._replays)

    async def run_reading(self, take: Callable[[], T]) -> T:
        """The same for elements of a stream."""
        return await to_end(take, self._readings)


async def to_end(part: Callable[[], T], limiter: anyio.CapacityLimiter | None) -> T:
    """Call it in a thread, and wait for its end, also when cancelled; what has not begun by then is not called."""
    wanted = True

    def run() -> T:
        if not wanted:
            raise asyncio.CancelledError
        return without_panic(part)

    def leave() -> None:
        nonlocal wanted
        wanted = False

    return await uninterrupted(anyio.to_thread.run_sync(run, limiter=limiter), left=leave)
