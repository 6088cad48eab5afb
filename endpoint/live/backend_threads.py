"""The worker threads in which the event loop has the backend called: its methods may block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

_REPLAYS_AT_ONCE = 4
_APPENDS_AT_ONCE = 64


class BackendThreads:
    """Appends wait for the disk and replays compute; neither holds up what only looks something up."""

    def __init__(self) -> None:
        self._appends = anyio.CapacityLimiter(_APPENDS_AT_ONCE)
        self._replays = anyio.CapacityLimiter(_REPLAYS_AT_ONCE)

    async def run(self, method: Callable[..., T], *arguments: object) -> T:
        """Call a method of the backend."""
        return await anyio.to_thread.run_sync(lambda: method(*arguments))

    async def run_append(self, append: Callable[[], T]) -> T:
        """The same for an append."""
        return await anyio.to_thread.run_sync(append, limiter=self._appends)

    async def run_replay(self, part: Callable[[], T]) -> T:
        """The same for (a part of) a replay."""
        return await anyio.to_thread.run_sync(part, limiter=self._replays)
