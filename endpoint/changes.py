"""Changes of the graphs as requests ask for them: one after another, and so few waiting that none waits for long."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from endpoint.backend import Backend
from endpoint.graphs.change import Change
from endpoint.graphs.store import GraphStore
from endpoint.graphs.writer_process import WriterEnded
from endpoint.threads import WorkerThreads
from protocol.errors import ProtocolError, StorageFull, Unavailable

logger = logging.getLogger(__name__)

WAITING_SECONDS = 30.0
"""A change that waits so long for its turn is turned away."""

MOST_WAITING = 64
"""As many changes, each as long as a body may be, may wait for their turn."""


class TooManyChanges(Unavailable):
    """More changes wait for their turn, or wait longer, than the endpoint lets them."""

    title = "Too many updates"
    refusal = "updates"


class Changes:
    """The turns of those who change the graphs. Belongs to one event loop; works in a thread of its own."""

    def __init__(
        self,
        store: GraphStore,
        backend: Backend,
        *,
        most_waiting: int = MOST_WAITING,
        waiting_seconds: float = WAITING_SECONDS,
    ) -> None:
        self._store = store
        self._backend = backend
        self._most_waiting = most_waiting
        self._waiting_seconds = waiting_seconds
        self._turn = asyncio.Lock()
        self._thread = WorkerThreads(1)
        self.waiting = 0

    async def make(self, change: Change) -> bool:
        """Make the change and tell the backend; whether the graph that it names was there before.

        A client that leaves before its turn changes nothing. Raises ProtocolError: TooManyChanges, or that of
        ``GraphStore.change``.
        """
        if self.waiting >= self._most_waiting:
            raise TooManyChanges(f"{self.waiting} updates are waiting for their turn already: send it again later")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._waiting_seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise TooManyChanges(
                f"the updates before this one did not end within {self._waiting_seconds:g} s; it was not begun: "
                "send it again later"
            ) from None
        finally:
            self.waiting -= 1
        # Whoever leaves now does not take the turn along.
        making = asyncio.ensure_future(self._thread.run(self._make, change))
        making.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(making)

    def _make(self, change: Change) -> bool:
        try:
            there = self._store.change(change)
        except WriterEnded:
            # It may have been made.
            with suppress(Unavailable):  # which would say that it was
                self._tell()
            raise
        self._tell()
        return there

    def _tell(self) -> None:
        """Raises Unavailable where that cannot be now; then the backend reads the graphs again by itself."""
        try:
            self._backend.store_changed()
        except BaseException as error:  # a panic in Oxigraph is no Exception
            logger.warning("continuous queries could not be told of a change of the graphs", exc_info=error)
            raise Unavailable(f"stored, but continuous queries could not be told yet: {_reason(error)}") from error

    def stop(self) -> None:
        """Let the thread end when its work is done; does not wait for it."""
        self._thread.stop()


def _reason(error: BaseException) -> str:
    if isinstance(error, ProtocolError):
        return error.detail
    if isinstance(error, OSError):
        full = StorageFull.of(error, "what continuous queries read of the graphs")
        return "the storage is full" if full is not None else error.strerror or str(error)
    return f"an unexpected {type(error).__name__}; the server's log has more"
