"""Readers under each entailment regime: those of the store itself, and for the others pools that start when asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from endpoint.entailment.entailed_store import EntailedStore
from endpoint.readers.pool import ReaderPool
from protocol.entailment.regimes import Regime


class RegimeReaders:
    """Belongs to the event loop; ``end`` is for when that is gone."""

    def __init__(
        self,
        simple: ReaderPool,
        stores: Mapping[Regime, EntailedStore],
        make_pool: Callable[[Regime, EntailedStore], ReaderPool],
    ) -> None:
        """``simple`` are those of the store itself, started and ended by others; ``stores`` what follows from it."""
        self._simple = simple
        self._stores = stores
        self._make_pool = make_pool
        self._pools: dict[Regime, ReaderPool] = {}

    async def under(self, regime: Regime) -> ReaderPool:
        """The pool whose answers are those of the regime."""
        if regime is Regime.NONE:
            return self._simple
        pool = self._pools.get(regime)
        if pool is None:
            pool = self._pools[regime] = self._make_pool(regime, self._stores[regime])
            await pool.start()
        return pool

    @property
    def warnings(self) -> list[str]:
        """What there is to say of what follows from the graphs, a sentence each."""
        return [warning for store in self._stores.values() for warning in store.warnings]

    async def stop(self) -> None:
        """End every reader, whatever it is doing. What is being inferred is given up."""
        for store in self._stores.values():
            await asyncio.get_running_loop().run_in_executor(None, store.end)
        for pool in self._pools.values():
            await pool.stop()

    def end(self) -> None:
        """As ``stop``, without an event loop."""
        for store in self._stores.values():
            store.end()
        for pool in self._pools.values():
            pool.end()
