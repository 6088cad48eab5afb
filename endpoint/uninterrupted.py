"""Work of several steps that is done whole, though whoever waits for it is cancelled: by a server that stops, or a time
limit of the application around.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def uninterrupted(work: Coroutine[Any, Any, T], *, left: Callable[[], None] = lambda: None) -> T:
    """What the work gives. Who is cancelled meanwhile waits for its end, too: a lock that is held, or what is let go of
    next, is not free before.

    ``left`` is called when that happens.
    """
    working = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        left()
        while not working.done():
            # By anyio and by asyncio: neither knows of the other.
            with anyio.CancelScope(shield=True), suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        if not working.cancelled():
            working.exception()  # it is nobody's any more
        raise
