"""Requests that are cancelled in the middle of what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from endpoint.live.backend_threads import BackendThreads
from endpoint.live.hub import Hub

T = TypeVar("T")

MOMENTS = [(call, begun) for call in range(1, 7) for begun in (False, True)]
"""More calls than any request makes."""


class CancellingThreads(BackendThreads):
    """Cancels ``asking`` when the call with this number is to be made, or (``begun``) while it is."""

    def __init__(self, number: int, *, begun: bool) -> None:
        super().__init__()
        self.asking: asyncio.Task[Any] | None = None
        self._number = number
        self._begun = begun

    async def run(self, method: Callable[..., T], *arguments: object) -> T:
        asking = self.asking
        if asking is None:
            return await super().run(method, *arguments)
        self._number -= 1
        if self._number != 0:
            return await super().run(method, *arguments)
        if not self._begun:
            asking.cancel()
            return await super().run(method, *arguments)
        loop = asyncio.get_running_loop()

        def called() -> T:
            # Before it is known there what comes of the call.
            loop.call_soon_threadsafe(asking.cancel)
            return method(*arguments)

        return await super().run(called)


async def cancelled(hub: Hub, moment: tuple[int, bool], work: Coroutine[Any, Any, Any] | asyncio.Task[Any]) -> None:
    """Begin this, cancel it at one of the ``MOMENTS``, and wait for its end."""
    number, begun = moment
    before, hub.threads = hub.threads, CancellingThreads(number, begun=begun)
    hub.threads.asking = asyncio.ensure_future(work)
    await asyncio.wait([hub.threads.asking])
    hub.threads = before
