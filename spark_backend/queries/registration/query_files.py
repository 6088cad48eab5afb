"""The files that say which queries are evaluated, and which are kept: registry and catalogue, always together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spark_backend.budget import Lane
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.registry import RegisteredQuery, Registry
from spark_backend.streams.catalogue import Catalogue, QueryEntry


class QueryFiles:
    """Writes down how the queries are. ``follow`` is called when others may be evaluated than before."""

    def __init__(
        self, running: RunningQueries, catalogue: Catalogue, registry: Registry, follow: Callable[[], None]
    ) -> None:
        self._running = running
        self._catalogue = catalogue
        self._registry = registry
        self._follow = follow

    def save(self, name: str, entry: QueryEntry | None, running: RunningQuery | None) -> None:
        """Have the files say that this query runs and is kept, or not (None): all of them or none. Raises OSError."""
        others = self._registered(without=name)
        queries = self._entries()
        queries.pop(name, None)
        if entry is not None:
            queries[name] = entry
        self._write(queries, [*others, running.registered] if running is not None else others)

    def keep(self) -> None:
        """Have the files say, durably, which queries are in lanes of their own or have failed. Raises OSError."""
        with self._running.lock:
            self._write(self._entries(), self._registered(), durable=True)
            self._follow()

    def publish(self) -> None:
        """Have the tasks know which queries are evaluated, and how they are prepared. Raises OSError."""
        if self._running.unwritten:
            self.keep()
            return
        self._write(self._catalogue.queries, self._registered())
        self._follow()

    def write_again(self) -> None:
        """Write what could not be written before. Raises OSError where that can still not be."""
        with self._running.lock:
            if self._running.unwritten:
                self.keep()

    def _registered(self, without: str | None = None) -> list[RegisteredQuery]:
        """What is evaluated, but for the query of that name."""
        return [one.registered for one in self._running if one.evaluable and one.name != without]

    def _entries(self) -> dict[str, QueryEntry]:
        """The standing queries by name, as they are."""
        return {name: self._as_it_is(entry) for name, entry in self._catalogue.queries.items()}

    def _as_it_is(self, entry: QueryEntry) -> QueryEntry:
        """The entry of a query with its lane and whether it has failed; the same one where it says so already."""
        running = self._running.get(entry.name)
        if running is None:
            return entry
        own_lane = running.registered.lane is Lane.OWN
        if (own_lane, running.failed) == (entry.own_lane, entry.failed):
            return entry
        return replace(entry, own_lane=own_lane, failed=running.failed)

    def _write(
        self, queries: dict[str, QueryEntry], registered: list[RegisteredQuery], *, durable: bool = False
    ) -> None:
        """Write the registry, and the catalogue if it is to have other queries: both or none. Raises OSError; what runs
        is written down by ``write_again`` then.
        """
        kept, again = self._catalogue.queries, self._running.unwritten
        self._running.unwritten = True
        if queries == kept and not again:
            self._registry.write(registered, durable=durable)
        else:
            self._catalogue.queries = queries
            try:
                self._catalogue.save(self._registry.content(registered, durable=durable))
            except BaseException:
                self._catalogue.queries = kept
                raise
        self._running.unwritten = False
