"""``idleTimeout``: the watermark of an event stream that pauses goes on by the server's clock
(docs/http.md, "Stream settings").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.time import BEFORE_ALL, Instant, Milliseconds
from spark_backend.log.counts import LogCounts
from spark_backend.log.partitions import PartitionCounts

_LONGEST_STEP: Milliseconds = 1000
_SHORTEST_STEP: Milliseconds = 100


@dataclass
class IdleClock:
    """When the watermark of one stream, or of one of its partitions, is to be moved, and where to.

    The stream is idle from ``timeout`` ms after the last activity on: an append or a watermark that was said, or
    that the server opened the log. If that was at a, and the watermark was W after it, then an idle stream's watermark
    at c is W + (c − a): time goes on in the stream as it does for the server, from where the stream stopped. A stream
    that has no watermark yet has no time to go on from. What is late then, is late.

    a and c are milliseconds of a clock that is never set, from whatever beginning, for it is a pause that they measure;
    that the server was away for, or the machine asleep, is none.
    By a clock that is set back and forward again the stream would be moved by each step forward and, as a watermark
    never steps back, hours ahead of all that any clock has shown; the server's time is no bound for it, since a
    stream's own may be of another year.

    A move is written to the log like a watermark that a client says, so that it is the same in every replay; therefore
    it is made once a second (more often if the timeout is shorter, up to ten times), and not at every tick.
    """

    timeout: Milliseconds
    _state: tuple[int, Instant | None] | None = None
    _base: Instant | None = None
    _since: Milliseconds = 0
    _looked: Milliseconds = 0
    _moved: Milliseconds | None = None

    def idle(self, elements: int, watermark: Instant | None, now: Milliseconds) -> bool:
        """Whether it is idle. Asked with what ``due`` is asked with, before that."""
        if self._state != (elements, watermark):
            self._state, self._base, self._since, self._moved = (elements, watermark), watermark, now, None
        self._looked = now
        return now - self._since >= self.timeout

    def due(
        self, elements: int, watermark: Instant | None, now: Milliseconds, least: Instant | None = None
    ) -> Instant | None:
        """The watermark to move to; None where there is nothing to do.

        ``elements`` (how many the stream has had) and ``watermark`` are the stream's, ``now`` is c, as above. An idle
        one is moved to ``least`` at least, if that is given.
        """
        if not self.idle(elements, watermark, now):
            return None
        step = max(min(self.timeout, _LONGEST_STEP), _SHORTEST_STEP)
        if self._moved is not None and now - self._moved < step:
            return None
        by_clock = None if self._base is None else self._base + now - self._since
        reached = max((to for to in (by_clock, least) if to is not None), default=None)
        return None if reached is None or (watermark is not None and reached <= watermark) else reached

    def moved(self, elements: int, watermark: Instant) -> None:
        """Its own move is no activity: the clock goes on from there."""
        self._state, self._moved = (elements, watermark), self._looked
        self._base = watermark - (self._looked - self._since)


class IdleClocks:
    """The clock of a stream, or where it has partitions one of each.

    A partition that is idle does not hold back those that are not: it is moved as far as the least of these at least,
    also if it has had nothing yet. Where all are idle, one that has had nothing is moved to the least of the others.
    Partitions are looked at ten times a second.
    """

    def __init__(self, timeout: Milliseconds) -> None:
        self._timeout = timeout
        self._clocks: dict[str | None, IdleClock] = {}
        self._looked: Milliseconds | None = None

    def due(self, counts: LogCounts, now: Milliseconds) -> Instant | dict[str, Instant] | None:
        """What the log's ``advance`` is to be told; None where there is nothing to do."""
        if not counts.partitions:
            return self._clock(None).due(counts.elements, counts.watermark, now)
        if self._looked is not None and now - self._looked < _SHORTEST_STEP:
            return None
        self._looked = now
        due = {}
        idle, least = self._idle(counts.partitions, now)
        for name in idle:
            one = counts.partitions[name]
            to = self._clock(name).due(one.heard, one.watermark, now, least)
            if to is not None:
                due[name] = to
        return due or None

    def moved(self, counts: LogCounts, due: Instant | Mapping[str, Instant]) -> None:
        """That has been done, to what was ``due`` by these counts."""
        if isinstance(due, int):
            self._clock(None).moved(counts.elements, due)
        else:
            for name, to in due.items():
                self._clock(name).moved(counts.partitions[name].heard, to)

    def _idle(self, partitions: Mapping[str, PartitionCounts], now: Milliseconds) -> tuple[list[str], Instant | None]:
        """The partitions that are idle, and how far they are moved at least; None: it is not known."""
        idle, busy = [], []
        for name, one in partitions.items():
            if self._clock(name).idle(one.heard, one.watermark, now):
                idle.append(name)
            else:
                busy.append(BEFORE_ALL if one.watermark is None else one.watermark)
        reached = busy or [one.watermark for one in partitions.values() if one.watermark is not None]
        least = min(reached, default=BEFORE_ALL)
        return idle, None if least == BEFORE_ALL else least

    def _clock(self, name: str | None) -> IdleClock:
        clock = self._clocks.get(name)
        if clock is None:
            clock = self._clocks[name] = IdleClock(self._timeout)
        return clock
