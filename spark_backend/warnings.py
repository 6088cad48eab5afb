"""What whoever runs the endpoint should know of its data directory and its queries."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable, Iterator
from operator import itemgetter

from protocol.streams import StreamDescription
from spark_backend.queries.running_queries import RunningQueries

log = logging.getLogger(__name__)

_MOST_WARNINGS = 20
_LATE_SECONDS = 10.0
_MOST_LATE = 5
"""So many queries that are overdue for longer than that are named."""


class Warnings:
    """What was found at the start, and what ``look`` finds now and then. ``told`` waits for nobody."""

    def __init__(self, running: RunningQueries, streams: Callable[[], list[StreamDescription]]) -> None:
        self._running = running
        self._streams = streams
        self._at_start: list[str] = []
        self.told: tuple[str, ...] = ()

    def add(self, *warnings: str) -> None:
        """What the start has found, which stays true."""
        self._at_start += warnings
        for warning in warnings:
            log.warning("%s", warning)

    def look(self) -> None:
        """Find what is damaged, who is behind, and who is not evaluated."""
        dormant = (
            f"the standing query {name} cannot be evaluated: {one.why}"
            + ("; until it can be, is deleted or replaced, its streams keep all they have" if one.keeps else "")
            for name, one in [*self._running.dormant.items()]
        )
        damaged = [stream for stream in self._streams() if stream.damage]
        told = (f"the stream {stream.name} is damaged: {damage}" for stream in damaged for damage in stream.damage)
        self.told = tuple([*self._late(), *self._at_start, *dormant, *told][:_MOST_WARNINGS])

    def _late(self) -> Iterator[str]:
        now = time.monotonic()
        with self._running.lock:
            behind = [(running.behind(now), running) for running in self._running if running.evaluable]
        late = [(seconds, running) for seconds, running in behind if seconds > _LATE_SECONDS]
        if late:
            latest = heapq.nlargest(_MOST_LATE, late, key=itemgetter(0))
            told = (f"{one.name} for {seconds:.0f} s (lane {one.registered.lane.value})" for seconds, one in latest)
            yield f"queries with evaluations that are overdue: {len(late)}, for longest {', '.join(told)}"
