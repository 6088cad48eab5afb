"""What a change of the store means for the queries that read it: other files, seldom another plan."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from protocol.errors import ProtocolError
from protocol.evaluations import Ended
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.queries.registration.query_files import QueryFiles
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.statics.tables import StaticTables

_ATTEMPTS = 3
"""One change may be made while it is looked for what a query reads, and one while others are waited for."""


class StoreChanges:
    """Has the queries read the store as it is. ``unread``: a change has not reached all queries that read it."""

    def __init__(
        self, running: RunningQueries, statics: StaticTables, preparation: Preparation, files: QueryFiles
    ) -> None:
        self._running = running
        self._statics = statics
        self._preparation = preparation
        self._files = files
        self._finding = threading.Lock()
        self.unread = False

    def read(self) -> None:
        """Raises OSError; then they may read it as it was, and ``unread`` says so."""
        with self._finding:
            self.unread = False
            try:
                self._read()
            except BaseException:
                self.unread = True
                raise

    @contextmanager
    def found(self, patterns: Collection[StaticPattern]) -> Iterator[None]:
        """``telling`` and ``lock`` of the running queries, as soon as it is known what the patterns match in the store.

        What takes long to find keeps changes of the store waiting, which are not read meanwhile, and no query.
        """
        running_queries = self._running
        with ExitStack() as waiting:
            if patterns:
                waiting.enter_context(self._finding)
            for attempt in range(_ATTEMPTS):
                for pattern in patterns:
                    self._statics.file(pattern)
                with running_queries.telling, running_queries.lock:
                    if all(map(self._statics.is_found, patterns)) or attempt == _ATTEMPTS - 1:
                        yield
                        return

    def _read(self) -> None:
        running_queries = self._running
        with running_queries.lock:
            read = {pattern for one in running_queries if one.evaluable for pattern in one.plan.statics}
        # What takes long is found, and kept for this version of the store, before others have to wait.
        for pattern in read:
            self._statics.file(pattern)
        with running_queries.telling, running_queries.lock:
            changed: list[tuple[RunningQuery, Plan, str]] = []
            failed: list[tuple[RunningQuery, str]] = []
            for running in running_queries:
                if not running.plan.statics or not running.evaluable:
                    continue
                try:
                    plan, prepared = self._preparation.write(
                        running.registered.key, running.query, running.windows, running.plan, running.registered.start
                    )
                except ProtocolError as error:  # a schema under which it is not answered
                    failed.append((running, f"the query has failed: {error.detail}. Put it again to start it again"))
                    continue
                if prepared != running.registered.prepared:
                    changed.append((running, plan, prepared))
            for running, plan, prepared in changed:
                running.plan = plan
                running.registered = running.registered.with_prepared(prepared)
            for running, reason in failed:
                running.failed = reason
            try:
                if failed:
                    self._files.keep()
                elif changed or running_queries.unwritten:
                    self._files.publish()
            except BaseException:
                # It is told once it is written down.
                for running, _ in failed:
                    running.failed = None
                raise
            running_queries.tell([Ended(running.name, reason) for running, reason in failed])
