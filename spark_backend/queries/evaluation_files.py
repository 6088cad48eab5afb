"""Which prepared queries and static tables are kept: all that an evaluation may still read.

Whenever a query is replaced, or the store changes where it reads it, there are files of other names. Who evaluates goes
on with the ones that it began with: a batch with those of the registry that it was planned by, what is evaluated apart
with those that it was given.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.evaluation.step import Due
from spark_backend.registry import Registry
from spark_backend.spark.pipeline import Answering
from spark_backend.statics.tables import StaticTables

KEPT_SECONDS = 10.0
"""So long a file stays that nothing needs: who is about to evaluate has its name already, who registers a query has
written it already.
"""


class EvaluationFiles:
    """Evaluates as ``evaluations`` do, and keeps the files of what is evaluated."""

    def __init__(
        self,
        evaluations: Answering,
        registry: Registry,
        statics: StaticTables,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._evaluations = evaluations
        self._registry = registry
        self._statics = statics
        self._clock = clock
        self._counting = threading.Lock()
        self._in_use: Counter[str] = Counter()
        self._read: dict[str, tuple[list[str], set[str]]] = {}
        self._unneeded: dict[str, tuple[float, int]] = {}
        """Since when, and since which version of the registry, nothing needs a file."""

    def answers(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        with self.in_use([prepared]):
            yield from self._evaluations.answers(key, prepared, instants, budget)

    def tried(self, due: Sequence[Due]) -> list[tuple[str, Answer]]:
        with self.in_use([prepared for _, prepared, _ in due]):
            return self._evaluations.tried(due)

    @contextmanager
    def in_use(self, prepared: Collection[str]) -> Iterator[None]:
        """Keep the files of these prepared queries as long as the context lasts."""
        with self._counting:
            self._in_use.update(prepared)
        try:
            yield
        finally:
            with self._counting:
                self._in_use.subtract(prepared)
                self._in_use = +self._in_use

    def sweep(self, prepared: Iterable[str], patterns: Collection[StaticPattern], *, at_once: bool = False) -> None:
        """Delete what nothing needs any more. Not while a query is prepared.

        ``prepared``, ``patterns``: those of the queries that run, as the registry has them. ``at_once``: nobody
        evaluates yet.
        """
        with self._counting:
            needed = self._needed([*prepared, *self._in_use])
        queries, tables = self._registry.prepared(), self._statics.files()
        now, version, planned = self._clock(), self._registry.version, self._registry.planned
        self._unneeded = {file: self._unneeded.get(file, (now, version)) for file in (queries | tables) - needed}
        gone = {
            file
            for file, (since, without) in self._unneeded.items()
            if at_once or (now - since >= KEPT_SECONDS and planned is not None and planned >= without)
        }
        for file in queries & gone:
            self._registry.remove_prepared(file)
        self._statics.forget(tables & gone, patterns)

    def _needed(self, prepared: list[str]) -> set[str]:
        """These prepared queries, those of the terms that services are given, and the static tables that all read."""
        read: dict[str, tuple[list[str], set[str]]] = {}
        needed = set(prepared)
        while prepared:
            name = prepared.pop()
            if name in read:
                continue
            try:
                read[name] = self._read.get(name) or self._references(name)
            except FileNotFoundError:
                continue  # of a query that was removed while it is replayed
            bindings, statics = read[name]
            prepared += bindings
            needed.update(bindings, statics)
        self._read = read
        return needed

    def _references(self, name: str) -> tuple[list[str], set[str]]:
        query = self._registry.read_prepared(name)
        return [file for file in query.bindings if file is not None], set(query.statics.values())
