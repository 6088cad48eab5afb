"""What tasks need of a query: its plan for the store as it is, in a file with what it reads."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from protocol.entailment.regimes import Regime
from protocol.functions.python_functions import PythonFunctions
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.sparql.dataset import RequestedGraphs
from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from spark_backend.compiler.conditions import compile_conditions
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.queries.registration.facts import with_facts
from spark_backend.queries.running_queries import RunningQuery
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.tables import StaticTables
from spark_backend.streams.catalogue import QueryEntry
from spark_backend.streams.statistics import StreamStatistics

log = logging.getLogger(__name__)


class Preparation:
    """Compiles queries and writes them. ``base``: what relative IRIs of those registered now are resolved against."""

    def __init__(
        self,
        registry: Registry,
        statics: StaticTables,
        statistics: StreamStatistics,
        functions: PythonFunctions,
        base: str,
    ) -> None:
        self._registry = registry
        self._statics = statics
        self._statistics = statistics
        self._functions = functions
        self.base = base

    def entry_of(self, running: RunningQuery) -> QueryEntry:
        """What the catalogue keeps of a standing query."""
        query, limits = running.query, running.limits
        return QueryEntry(
            running.name,
            running.registered.key,
            query.text,
            running.registered.start,
            [member.stream for member in query.windows],
            (limits.seconds, limits.memory),
            facts=list(running.reads),
            graphs=(query.requested.default, query.requested.named),
            entailment=query.entailment.value,
            base=self.base,
        )

    def read(self, entry: QueryEntry, entries: Mapping[str, QueryEntry]) -> tuple[ContinuousQuery, tuple[str, ...]]:
        """The query that an entry of the catalogue is of, and whose facts it reads, of all ``entries``.

        It is as it was registered, wherever the endpoint listens today. Raises ProtocolError.
        """
        others = {name: self._parse(entries[name]) for name in entry.facts if name in entries}
        query, reads = with_facts(self._parse(entry), others)
        # The streams' IRIs as they were found at registration, whatever address it came by.
        members = zip(query.windows, entry.streams, strict=True)
        windows = tuple(replace(member, stream=stream) for member, stream in members)
        return replace(query, entailment=Regime(entry.entailment), windows=windows), reads

    def _parse(self, entry: QueryEntry) -> ContinuousQuery:
        base = self.base if entry.base is None else entry.base
        query = parse(entry.text, base=base, requested=RequestedGraphs(*map(tuple, entry.graphs)))
        assert isinstance(query, ContinuousQuery)
        return query

    def compile(self, query: ContinuousQuery, windows: tuple[StreamWindow, ...]) -> Plan:
        """The query's plan for the store as it is; ``windows`` have the logs of its streams. Raises ProtocolError."""
        compile_conditions(windows, self._functions)  # to be refused where they are
        logs = [window.stream for window in windows]
        return compile_query(
            query,
            base=self.base,
            present=self._is_present,
            statistics=lambda: self._statistics.of(logs),
            functions=self._functions,
        )

    def write(
        self, key: str, query: ContinuousQuery, windows: tuple[StreamWindow, ...], plan: Plan, start: Instant | None
    ) -> tuple[Plan, str]:
        """Write what the tasks need, under a name of its content: all of it for one version of the store, and by
        another plan where this one leaves out what has matches now, or reads what has none.

        Raises OSError, and ProtocolError for a schema under which the query is not answered.
        """
        while True:
            version = self._statics.version
            # Other triples for the same patterns are other files; only what is left out makes another plan.
            if frozenset(filter(self._is_present, plan.statics)) != plan.present:
                plan = self.compile(query, windows)
            prepared = self._write(key, plan, windows, start)
            if self._statics.version == version:
                return plan, prepared

    def _write(self, key: str, plan: Plan, windows: tuple[StreamWindow, ...], start: Instant | None) -> str:
        conditions = compile_conditions(windows, self._functions)

        def write(one: Plan, bindings: Sequence[str | None]) -> str:
            files = {pattern.table: self._statics.file(pattern) for pattern in one.statics}
            there = {table: file for table, file in files.items() if file is not None}
            prepared = PreparedQuery(
                one, windows, there, start, conditions, key if one.services else "", tuple(bindings)
            )
            return self._registry.write_prepared(key, prepared)

        given = [service.bindings for service in plan.services]
        return write(plan, [None if one is None else write(one, ()) for one in given])

    def without_start(self, key: str, prepared: str) -> str:
        """The file of a prepared query that has no start: what is new at an instant is so beside all before it.

        It is of no query in the registry, so it is kept while it is evaluated. Raises OSError.
        """
        return self._registry.write_prepared(key, replace(self._registry.read_prepared(prepared), start=None))

    def discard(self, running: RunningQuery) -> None:
        """Delete what the tasks had of a query that is no more; where that cannot be, it is swept later."""
        try:
            for file in self.files(running.plan, running.registered.prepared):
                self._registry.remove_prepared(file)
        except OSError as error:
            log.warning("what the query %s was prepared as is deleted later: %s", running.name, error)

    def files(self, plan: Plan, prepared: str) -> list[str]:
        """The files of what the tasks need: a query's own, and those of the terms that services are given."""
        if not plan.services:
            return [prepared]
        return [prepared, *(file for file in self._registry.read_prepared(prepared).bindings if file is not None)]

    def _is_present(self, pattern: StaticPattern) -> bool:
        return self._statics.file(pattern) is not None
