"""What a change of the store means for the queries that read it: other files, seldom another plan."""

from __future__ import annotations

from protocol.errors import ProtocolError
from protocol.evaluations import Ended
from spark_backend.compiler.plan import Plan
from spark_backend.queries.preparation import Preparation
from spark_backend.queries.query_files import QueryFiles
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.statics.tables import StaticTables


class StoreChanges:
    """Has the queries read the store as it is. ``unread``: a change has not reached all queries that read it."""

    def __init__(
        self, running: RunningQueries, statics: StaticTables, preparation: Preparation, files: QueryFiles
    ) -> None:
        self._running = running
        self._statics = statics
        self._preparation = preparation
        self._files = files
        self.unread = False

    def read(self) -> None:
        """Raises OSError; then they may read it as it was, and ``unread`` says so."""
        self.unread = False
        try:
            self._read()
        except BaseException:
            self.unread = True
            raise

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
