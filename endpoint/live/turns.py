"""Those who wait for the same event go on in turn, and not all before anything else is done in the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

_AT_ONCE = 32
"""So many go on in one turn of the loop: to write an event to each takes one or two milliseconds."""


class Turns:
    """Has those go on who wait, first come, first served, some in each turn of the event loop.

    Between any two turns the loop looks for requests and lets all others go on: to write to thousands of listeners
    takes tenths of a second, which nobody else is to wait for. Belongs to one event loop.
    """

    def __init__(self) -> None:
        self._due: deque[asyncio.Future[None]] = deque()
        self._next: asyncio.Handle | None = None

    def take(self, waiting: Iterable[asyncio.Future[None]]) -> None:
        """Have these go on, behind those who are still to."""
        self._due.extend(waiting)
        if self._due and self._next is None:
            self._next = asyncio.get_running_loop().call_soon(self._have_some_go_on)

    def _have_some_go_on(self) -> None:
        for _ in range(min(_AT_ONCE, len(self._due))):
            go_on(self._due.popleft())
        self._next = asyncio.get_running_loop().call_soon(self._have_some_go_on) if self._due else None


def go_on(waiter: asyncio.Future[None]) -> None:
    """Let the one go on who awaits this, if anybody still does."""
    if not waiter.done():
        waiter.set_result(None)
