"""Queries by name, whoever evaluates them: the backend those over streams, the readers those of the store alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from endpoint.backend import Backend, QueryDescription
from endpoint.store_queries.question import refuse_past
from endpoint.store_queries.store_queries import StoreQueries
from protocol.errors import Conflict, NotFound, UnsupportedFeature
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.time import Instant


class AllQueries:
    """Both kinds. Methods are those of the backend, for worker threads; a name is one query's.

    ``replaced`` is told the name as soon as another query has it, where the backend does not tell of that.
    """

    def __init__(
        self, backend: Backend, of_store: StoreQueries, replaced: Callable[[str], None] = lambda name: None
    ) -> None:
        self._backend = backend
        self.of_store = of_store
        self._replaced = replaced

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> None:
        """Start evaluating the query under this name, in place of any other of that name.

        Raises what the backend raises, with nothing changed; of a query of the store UnsupportedFeature for ``since``
        and a limit of memory, and StorageFull. The new one is durable before the old one goes: a crash in between
        leaves both, of which ``keep_one_of_each`` keeps one.
        """
        if query.one_shot is None:
            self._backend.register(name, query, standing=standing, since=since, landmark=landmark, limits=limits)
            if self.of_store.remove(name):
                self._replaced(name)
            return
        refuse_past(query, since)
        if limits.memory is not None:
            raise UnsupportedFeature("memory: a query that reads no stream has the memory of a one-shot query")
        new = self.of_store.find(name) is None
        self.of_store.register(name, query, standing=standing, limits=limits)
        if not new:
            self._replaced(name)
        elif standing:
            # There may be one over streams.
            try:
                with suppress(NotFound):
                    self._backend.remove(name)
                    self._replaced(name)
            except BaseException:
                self.of_store.remove(name)
                raise

    def remove(self, name: str) -> None:
        """Stop evaluating and forget the query. NotFound."""
        if not self.of_store.remove(name):
            self._backend.remove(name)

    def keep_one_of_each(self, names: Iterable[str]) -> list[str]:
        """Of each of these names, keep the query of the store where there are both; which of them went all the same.

        It is the other one that stays where queries read its results. Raises what the backend raises.
        """
        gone: list[str] = []
        for name in names:
            try:
                self._backend.remove(name)
            except NotFound:
                continue
            except Conflict:
                self.of_store.remove(name)
                gone.append(name)
        return gone

    def queries(self) -> list[QueryDescription]:
        """All there are."""
        of_store = self.of_store.queries()
        names = {one.name for one in of_store}
        return [*(one for one in self._backend.queries() if one.name not in names), *of_store]

    def query(self, name: str) -> QueryDescription:
        """NotFound if there is none."""
        return self.of_store.query(name) or self._backend.query(name)

    def plan(self, name: str, *, measured: bool = False) -> str:
        """As ``Backend.plan``. NotFound."""
        if self.of_store.find(name) is None:
            return self._backend.plan(name, measured=measured)
        return self.of_store.plan(name, measured=measured)
