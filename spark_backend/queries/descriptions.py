"""What clients are told of the queries that run: how each is, and how far behind."""

from __future__ import annotations

import time

from protocol.evaluations import QueryDescription
from protocol.time import BEFORE_ALL
from protocol.windows.timeline import END
from spark_backend.budget import Budget, Lane
from spark_backend.queries.progress import QueryProgress
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.spark.pipeline import Evaluations
from spark_backend.streams.timelines import Timelines


class Descriptions:
    """Describes queries. ``budget``: what an evaluation may take where its query asks for no less."""

    def __init__(
        self,
        running: RunningQueries,
        timelines: Timelines,
        progress: QueryProgress,
        evaluations: Evaluations,
        budget: Budget,
    ) -> None:
        self._running = running
        self._timelines = timelines
        self._progress = progress
        self._evaluations = evaluations
        self._budget = budget

    def all(self) -> list[QueryDescription]:
        """In the order of their names."""
        self._timelines.refresh()
        with self._running.lock:
            return [self._describe(running) for running in sorted(self._running, key=lambda one: one.name)]

    def of(self, name: str) -> QueryDescription:
        """Raises NotFound."""
        self._timelines.refresh()
        with self._running.lock:
            return self._describe(self._running.named(name))

    def overdue(self) -> dict[str, list[float]]:
        """By lane, for how many seconds each query's oldest evaluation has been due."""
        now, found = time.monotonic(), {lane.value: list[float]() for lane in Lane}
        with self._running.lock:
            for running in self._running:
                if running.evaluable:
                    found[running.registered.lane.value].append(running.behind(now))
        return found

    def _describe(self, running: RunningQuery) -> QueryDescription:
        watermark = self._timelines.watermark(running.logs)
        state = "failed" if running.failed else "running" if self._evaluations.state == "running" else "waiting"
        return QueryDescription(
            name=running.name,
            query=running.query,
            standing=running.standing,
            state="ended" if running.ended else state,
            start=running.registered.start,
            evaluated=running.evaluated,
            watermark=None if watermark is None or watermark >= END or watermark <= BEFORE_ALL else watermark,
            evaluations=running.evaluations,
            solutions=running.solutions,
            last_error=running.failed or running.last_error,
            lane=running.registered.lane,
            behind=self._progress.behind(running, watermark),
            overdue=running.behind(time.monotonic()),
            last_seconds=None if running.measurements.last is None else running.measurements.last.seconds,
            limits=running.limits,
            lowered=self._budget.lowered(running.limits),
            incarnation=running.incarnation,
            landmark=running.landmark,
            progressed=running.progressed,
        )
