"""First evaluations of new queries, apart from those that are evaluated already and would wait for a heavy one
(docs/architecture.md, "Two lanes").
"""

from __future__ import annotations

from protocol.time import Instant
from spark_backend.budget import Lane
from spark_backend.queries.delivery import Delivery
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.streams.timelines import Timelines

_AT_ONCE = 64


class Trials:
    """Evaluates what is due first of the queries that are new: each then has its lane, one way or the other."""

    def __init__(self, running: RunningQueries, timelines: Timelines, delivery: Delivery) -> None:
        self._running = running
        self._timelines = timelines
        self._delivery = delivery

    def turn(self) -> bool:
        """Evaluate what is due; False if nothing is. Raises Unavailable while nothing is evaluated."""
        with self._running.lock:
            due = [(running.registered, instants) for running, instants in self._due()]
        if not due:
            return False
        rows = [(registered.key, registered.prepared, instants) for registered, instants in due]
        self._delivery.receive(self._delivery.evaluations.tried(rows), Lane.NEW)
        return True

    def _due(self) -> list[tuple[RunningQuery, list[Instant]]]:
        new = [running for running in self._running if running.registered.lane is Lane.NEW and running.evaluable]
        if new:
            self._timelines.refresh()
        due: list[tuple[RunningQuery, list[Instant]]] = []
        for running in new:
            upto = self._timelines.watermark(running.logs)
            if upto is not None and len(due) < _AT_ONCE:
                instants = self._timelines.instants(running.windows, running.position, upto, 1)
                if instants:
                    due.append((running, instants))
        return due
