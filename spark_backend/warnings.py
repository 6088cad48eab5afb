"""What whoever runs the endpoint should know of its data directory and its queries."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

from protocol.streams import StreamDescription, TimeKind
from protocol.time import Instant, Milliseconds
from spark_backend.queries.running_queries import RunningQueries

log = logging.getLogger(__name__)

_MOST_WARNINGS = 20
_LATE_SECONDS = 10.0
_MOST_LATE = 5
"""So many queries that are overdue for longer than that are named."""
_SET_BACK: Milliseconds = 10_000
"""A clock that is slowed down for less is no news."""
_MOST_AHEAD = 5
"""So many streams that are ahead of the clock by more than that are named."""


class Warnings:
    """What was found at the start, and what ``look`` finds now and then. ``told`` waits for nobody.

    ``clock`` is the server's time, which arrival streams have.
    """

    def __init__(
        self, running: RunningQueries, streams: Callable[[], list[StreamDescription]], clock: Callable[[], Instant]
    ) -> None:
        self._running = running
        self._streams = streams
        self._clock = clock
        self._at_start: list[str] = []
        self.told: tuple[str, ...] = ()

    def add(self, *warnings: str) -> None:
        """What the start has found, which stays true."""
        self._at_start += warnings
        for warning in warnings:
            log.warning("%s", warning)

    def look(self) -> None:
        """Find what is damaged, who is behind, who is not evaluated, and which streams wait for the clock."""
        dormant = (
            f"the standing query {name} cannot be evaluated: {one.why}"
            + ("; until it can be, is deleted or replaced, its streams keep all they have" if one.keeps else "")
            for name, one in [*self._running.dormant.items()]
        )
        streams = self._streams()
        damaged = (f"the stream {stream.name} is damaged: {damage}" for stream in streams for damage in stream.damage)
        told = [*self._late(), *self._ahead(streams), *self._at_start, *dormant, *damaged]
        self.told = tuple(told[:_MOST_WARNINGS])

    def _ahead(self, streams: Iterable[StreamDescription]) -> Iterator[str]:
        """The arrival streams whose time stands still, since the clock was set back behind it."""
        now = self._clock()
        ahead = [
            (stream.watermark - now, stream.name)
            for stream in streams
            if stream.settings.time is TimeKind.ARRIVAL and not stream.ended and stream.watermark is not None
        ]
        still = sorted((one for one in ahead if one[0] > _SET_BACK), reverse=True)
        if still:
            names = ", ".join(f"{name} for {milliseconds / 1000:.0f} s" for milliseconds, name in still[:_MOST_AHEAD])
            yield (
                "the server's clock was set back: until it has caught up, no time passes in streams of arrival time, "
                f"and none of their windows closes: {len(still)}, for longest {names}"
            )

    def _late(self) -> Iterator[str]:
        now = time.monotonic()
        with self._running.lock:
            behind = [(running.behind(now), running) for running in self._running if running.evaluable]
        late = [(seconds, running) for seconds, running in behind if seconds > _LATE_SECONDS]
        if late:
            latest = heapq.nlargest(_MOST_LATE, late, key=itemgetter(0))
            told = (f"{one.name} for {seconds:.0f} s (lane {one.registered.lane.value})" for seconds, one in latest)
            yield f"queries with evaluations that are overdue: {len(late)}, for longest {', '.join(told)}"
