"""The runs of a log, and which of them have their rows in memory for the next scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from protocol.time import Instant
from spark_backend.log.reading.run import Run

MEMORY_BYTES = 256 * 1024 * 1024
"""Rows kept in memory for the next scan; beyond it, those unused for longest are forgotten (and read again)."""
UNUSED_SECONDS = 60.0
"""Rows that no scan has used for so long are forgotten, at the latest by the first scan or refresh after twice that."""


class Runs:
    """What a log holds as runs, in its order. Not for several threads at once."""

    def __init__(self, memory_bytes: int, clock: Callable[[], float]) -> None:
        """``memory_bytes``: see MEMORY_BYTES. ``clock`` gives seconds."""
        self._memory_bytes = memory_bytes
        self._clock = clock
        self._runs: list[Run] = []
        self._scans = 0
        # When rows were last looked for that nobody uses, and how many scans there had been.
        self._looked = (clock(), 0)

    def __iter__(self) -> Iterator[Run]:
        """From the oldest on."""
        return iter(self._runs)

    def __reversed__(self) -> Iterator[Run]:
        """From the newest back."""
        return reversed(self._runs)

    def between(self, after: Instant, upto: Instant) -> list[Run]:
        """Those that may have triples with after < time <= upto, by their bounds."""
        return [run for run in self._runs if run.triples and run.latest > after and run.earliest <= upto]

    def add(self, frames: Iterable[Run]) -> None:
        """Add what is behind them, each frame as a run by itself: those that should be one are made one."""
        fresh: list[Run] = []
        for run in frames:
            if fresh and fresh[-1].segment is run.segment and not fresh[-1].full and not run.full:
                fresh[-1].extend(run)
            else:
                fresh.append(run)
        self._runs += fresh
        while len(self._runs) > 1 and self._runs[-2].takes(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1].extend(last)

    def begin_scan(self) -> None:
        """From now on, what is used is used by another scan."""
        self._scans += 1

    def use(self, run: Run) -> Run:
        """The run, whose rows are used by this scan."""
        run.used = self._scans
        return run

    def evict(self) -> None:
        """Forget the rows that are too many, but for those of this scan, and those that nobody uses."""
        self.forget_unused()
        loaded = [run for run in self._runs if run.content is not None]
        size = sum(run.content.size for run in loaded if run.content is not None)
        if size <= self._memory_bytes:
            return
        for run in sorted(loaded, key=lambda run: run.used):
            if run.used == self._scans or size <= self._memory_bytes:
                return
            if run.content is not None:
                size -= run.content.size
                run.content = None

    def forget_unused(self) -> None:
        """Forget the rows that nobody uses."""
        looked, scans = self._looked
        if (now := self._clock()) - looked >= UNUSED_SECONDS:
            for run in self._runs:
                if run.used <= scans:
                    run.content = None
            self._looked = (now, self._scans)

    def remove_before(self, segment: int) -> None:
        """Only segments from this one on are held."""
        self._runs = [run for run in self._runs if run.segment.number >= segment]

    def clear(self) -> None:
        """There are none any more."""
        self._runs.clear()
