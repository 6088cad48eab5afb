"""How long a client is waited for that does not take what there is of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Patience:
    """With one client. ``lost``: it is given up, which it may not know yet. Belongs to one event loop."""

    def __init__(self) -> None:
        self.lost = False
        self._timeout: asyncio.Timeout | None = None
        self._began = 0.0

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """While the client takes something. Raises TimeoutError after so many seconds, or when patience is lost."""
        self._began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds) as self._timeout:
                yield
        finally:
            self._timeout = None

    @property
    def waited(self) -> float:
        """For how many seconds the client has taken nothing now; 0 where nothing is to be taken."""
        return 0.0 if self._timeout is None else asyncio.get_running_loop().time() - self._began

    def lose(self) -> None:
        """Give up the client that is waited for now."""
        if self._timeout is not None and not self.lost:
            self.lost = True
            self._timeout.reschedule(asyncio.get_running_loop().time())
