"""A query's past evaluations, computed in worker threads a chunk at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import anyio

from endpoint.backend import Evaluation
from protocol.errors import Unavailable
from protocol.time import BEFORE_ALL, Instant

if TYPE_CHECKING:
    from endpoint.live.hub import Hub

_CHUNK = 64  # evaluations; many small ones come with one hop to a thread
_CHUNK_BYTES = 1024 * 1024
_CHUNK_SECONDS = 0.25  # slow ones are not kept back to fill a chunk
_RETRY_SECONDS = 0.5


class Replay:
    """The evaluations of a query in (after, upto], oldest first. ``close`` it, whatever happens."""

    def __init__(self, hub: Hub, name: str, after: Instant, upto: Instant) -> None:
        self._hub = hub
        self._name = name
        self._after = after
        self._upto = upto
        self._iterator: Iterator[Evaluation] | None = None
        self._failure: Exception | None = None
        self._exhausted = False
        self._attempts = 0

    async def chunk(self) -> list[Evaluation]:
        """The next evaluations; none: that was all. Waits while Spark is starting; raises what the backend raises."""
        while not self._exhausted:
            try:
                chunk = await self._hub.replayed(self._take)
            except Unavailable:
                self._attempts += 1
                health = await self._hub.call(self._hub.backend.health)
                if health.state == "starting":
                    self._attempts = 0
                    await self._hub.sleep(_RETRY_SECONDS)
                elif health.state != "running" or self._attempts > 1:
                    raise
                # Else it may have started between the attempt and the question: one more attempt tells.
                continue
            self._attempts = 0
            if chunk:
                return chunk
        return []

    async def close(self) -> None:
        """Let go of the backend's iterator."""
        iterator, self._iterator = self._iterator, None
        close = getattr(iterator, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await self._hub.replayed(close)

    def _take(self) -> list[Evaluation]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        chunk: list[Evaluation] = []
        size, started = 0, time.monotonic()
        try:
            if self._iterator is None:
                after = self._after if self._after > BEFORE_ALL else None
                self._iterator = iter(self._hub.backend.replay(self._name, after, self._upto))
            for evaluation in self._iterator:
                chunk.append(evaluation)
                self._after = evaluation.instant
                size += len(evaluation.data)
                full = len(chunk) >= _CHUNK or size >= _CHUNK_BYTES
                if full or time.monotonic() - started >= _CHUNK_SECONDS:
                    return chunk
        except Exception as error:
            # What came before the failure goes out before it; a new attempt goes on after that.
            self._iterator = None
            if not chunk:
                raise
            self._failure = error
            return chunk
        self._exhausted = True
        return chunk
