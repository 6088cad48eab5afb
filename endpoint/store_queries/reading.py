"""Live queries are evaluated in processes of their own, as one-shot queries are, and behind them."""

from __future__ import annotations

from collections.abc import Callable

from endpoint.readers.exchange import LinesQuestion
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from protocol.time import Instant


class LiveReaders:
    """Asks a pool, whose first process is started when the first question comes."""

    def __init__(self, pool: ReaderPool) -> None:
        self._pool = pool
        self._started = False

    async def ask(
        self, question: Callable[[Instant], LinesQuestion], limits: QueryLimits, least: Instant
    ) -> tuple[Instant, bytes]:
        """Which state of the store was read, not before ``least``, and the lines. Raises ProtocolError."""
        if not self._started:
            self._started = True
            await self._pool.start()
        async with self._pool.answer(question, limits, least=least) as answer:
            parts = [answer.first]
            async for part in answer.rest():
                parts.append(part)
            return answer.version, b"".join(parts)
