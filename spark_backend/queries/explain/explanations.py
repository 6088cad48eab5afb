"""The plan of a query that runs, with what is known of its evaluations; one more is made to measure it if asked."""

from __future__ import annotations

import threading
import time

from protocol.errors import Unavailable
from protocol.time import Instant
from spark_backend.evaluation.step import EvaluationError, MeasuredStatement
from spark_backend.queries.evaluation_files import EvaluationFiles
from spark_backend.queries.explain.plan_text import Circumstances, explain
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.queries.services import OtherEndpoints
from spark_backend.site import SiteChoice
from spark_backend.spark.pipeline import Evaluations
from spark_backend.statics.tables import StaticTables
from spark_backend.streams.statistics import StreamStatistics
from spark_backend.streams.timelines import Timelines


class Explanations:
    """Tells how queries are evaluated, and measures an evaluation of one at a time."""

    def __init__(
        self,
        running: RunningQueries,
        timelines: Timelines,
        statics: StaticTables,
        statistics: StreamStatistics,
        evaluations: Evaluations,
        files: EvaluationFiles,
        sites: SiteChoice,
        endpoints: OtherEndpoints,
    ) -> None:
        self._running = running
        self._timelines = timelines
        self._statics = statics
        self._statistics = statistics
        self._evaluations = evaluations
        self._files = files
        self._sites = sites
        self._endpoints = endpoints
        self._measuring = threading.Lock()

    def of(self, name: str, *, measured: bool) -> str:
        """The text of a query's plan. Raises NotFound, and Unavailable where it is to be ``measured`` and cannot be."""
        with self._running.lock:
            running = self._running.named(name)
            query, plan, windows = running.query, running.plan, running.windows
            measurements, lane = running.measurements, running.registered.lane
            overdue = running.behind(time.monotonic())
        # Not under the lock: the store may be slow.
        matches = {pattern: self._statics.matches(pattern) for pattern in plan.statics}
        self._timelines.refresh()
        instant, rows = self._timelines.held(windows)
        statistics = self._statistics.of(window.stream for window in windows)
        found = self._measured(running, instant) if measured else None
        circumstances = Circumstances(
            matches, rows, instant, self._sites, measurements, statistics, lane, overdue, found, self._endpoints.limits
        )  # fmt: skip
        return explain(query, plan, circumstances)

    def _measured(self, running: RunningQuery, instant: Instant | None) -> MeasuredStatement | str:
        """How an evaluation of a query is made, made for that; or why none was. Raises Unavailable."""
        if instant is None:
            return "there is nothing to evaluate yet"
        if not self._measuring.acquire(blocking=False):
            raise Unavailable("the operators of another query are being measured: try again in a few seconds")
        try:
            registered = running.registered
            with self._files.in_use([registered.prepared]):
                return self._evaluations.measured(registered.key, registered.prepared, instant, running.budget)
        except EvaluationError as error:
            return str(error)
        finally:
            self._measuring.release()
