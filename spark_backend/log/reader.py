"""Reading a stream's log, in any process: what is committed, its elements, and slices by time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import Unit
from spark_backend.log.elements import Elements, elements_of
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.frame import HEADER_BYTES
from spark_backend.log.format.manifest import Manifest, ManifestReader
from spark_backend.log.format.memory_map import MappedSegment
from spark_backend.log.last import last_from
from spark_backend.log.run import FULL_BYTES, Run

MEMORY_BYTES = 256 * 1024 * 1024
"""Rows kept in memory for the next scan; beyond it, those unused for longest are forgotten (and read again)."""
UNUSED_SECONDS = 60.0
"""Rows that no scan has used for so long, and at most twice as long, are forgotten."""


class Stretch(NamedTuple):
    """Consecutive frames of a segment: their bytes [start, end), and how many triples they have."""

    segment: int
    start: int
    end: int
    triples: int


class LogReader:
    """A view of the log as of the last ``refresh``. Safe for several threads.

    Raises NotFound for a log that does not exist or was deleted, Unavailable for one that has not been
    opened for writing since the machine crashed.
    """

    def __init__(
        self, directory: Path, *, memory_bytes: int = MEMORY_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._memory_bytes = memory_bytes
        self._clock = clock
        # When rows were last looked for that nobody uses, and how many scans there had been.
        self._looked = (clock(), 0)
        self._manifest = ManifestReader(directory)
        self._lock = threading.RLock()
        self._segments: dict[int, MappedSegment] = {}
        self._runs: list[Run] = []
        # How far runs were laid out, and elements handed out: (segment, offset).
        self._laid_out = (0, 0)
        self._handed_out = (0, 0)
        self._scans = 0
        self._state: Manifest | None = None
        self._void: ProtocolError | None = None
        self.refresh()

    def refresh(self) -> bool:
        """Look whether the writer has published anything new; cheap (one read of a block) if not."""
        with self._lock:
            if self._void is not None:
                raise self._void.with_traceback(None)
            state = self._manifest.poll()
            if state is None:
                return False
            before = self._state
            if state.dropped:
                self._void = NotFound(f"the stream log {self._directory.name} was deleted")
            elif before is not None and before.generation != state.generation:
                self._void = Unavailable(f"the stream log {self._directory.name} has lost elements: open it again")
            if self._void is not None:
                raise self._void
            self._state = state
            if before is not None and before.first_segment != state.first_segment:
                self._forget(state.first_segment)
            return True

    @property
    def watermark(self) -> Instant:
        """The stream's watermark: BEFORE_ALL before there is one, END after its end."""
        return self._current.totals.watermark

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        return self._current.ended

    @property
    def first(self) -> Instant | None:
        """The earliest instant at which an element takes part in an evaluation; None before there is one."""
        return _instant(self._current.totals.first)

    @property
    def last(self) -> Instant | None:
        """The greatest time of an element; None before there is one."""
        return _instant(self._current.totals.last)

    @property
    def elements(self) -> int:
        """How many elements the stream has had."""
        return self._current.totals.elements

    @property
    def contents(self) -> tuple[int, int]:
        """How many elements with triples the stream has had, and how many triples."""
        totals = self._current.totals
        return totals.elements - totals.empty, totals.triples

    @property
    def retained_from(self) -> Instant | None:
        """All elements after this instant are held; None: all there ever were."""
        return _instant(self._current.retained_from)

    def new_elements(self) -> Elements | None:
        """The elements since the last call, as of the last refresh; None if there are none.

        Starts at the oldest element held. Elements deleted before they were asked for are left out.
        """
        with self._lock:
            batches: list[pa.RecordBatch] = []
            found: list[Elements] = []
            pending = 0
            for segment, start, end in self._committed_after(self._handed_out):
                for header, batch in segment.read(start, end):
                    batches.append(batch)
                    pending += header.length
                    if pending >= FULL_BYTES:
                        found.append(elements_of(batches))
                        batches, pending = [], 0
            if batches:
                found.append(elements_of(batches))
            self._handed_out = self._end
            if not found:
                return None
            if len(found) == 1:
                return found[0]
            return Elements(
                found[0].first,
                pa.concat_arrays([part.time for part in found]),
                pa.concat_arrays([part.seen for part in found]),
                pa.concat_arrays([part.triples for part in found]),
            )

    def scan(self, after: Instant, upto: Instant) -> pa.Table:
        """The triples that an evaluation at ``upto`` finds in the window (after, upto].

        Rows in the columns of LOG with after < time <= upto and seen < upto, in no particular order;
        views of memory that later scans share, where that can be.
        """
        with self._lock:
            self._lay_out()
            self._scans += 1
            found: list[pa.RecordBatch] = []
            for run in self._runs:
                if run.triples and run.latest > after and run.earliest <= upto:
                    run.used = self._scans
                    found += run.slice(after, upto)
            self._evict()
            return pa.Table.from_batches(found, LOG)

    def stretches(self, after: Instant, upto: Instant) -> list[Stretch]:
        """Where the triples with after < time <= upto are, in the log's order; each may have others besides.

        For those who read much and keep nothing, perhaps in several processes: nothing is read here.
        """
        with self._lock:
            self._lay_out()
            return [
                Stretch(run.segment.number, run.start, run.end, run.triples)
                for run in self._runs
                if run.triples and run.latest > after and run.earliest <= upto
            ]

    def triples_about(self, after: Instant, upto: Instant) -> int:
        """How many triples ``scan`` finds, about: by the bounds of frames, without reading them."""
        with self._lock:
            self._lay_out()
            return sum(
                run.triples_about(after, upto)
                for run in self._runs
                if run.triples and run.latest > after and run.earliest <= upto
            )

    def rows_of(self, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        """The rows (columns of STORED) of a stretch, a frame at a time, over the mapped bytes; none if it was deleted.

        Every element is whole, and its rows are neighbours.
        """
        with self._lock:
            segment = self._segment(stretch.segment)
        if segment is not None:
            for _, batch in segment.read(stretch.start, stretch.end):
                yield batch

    @property
    def end(self) -> tuple[int, int]:
        """The place (segment, offset) behind all that is committed."""
        with self._lock:
            return self._end

    @property
    def begin(self) -> tuple[int, int]:
        """The place of the oldest frame held."""
        return self._current.first_segment, HEADER_BYTES

    def read_after(self, place: tuple[int, int], most: int) -> tuple[list[pa.RecordBatch], tuple[int, int]]:
        """The rows (columns of STORED) of the frames behind a place, in the log's order, and the place behind them.

        Stops after ``most`` bytes. What retention has taken is left out: compare with ``begin``.
        """
        with self._lock:
            rows: list[pa.RecordBatch] = []
            size = 0
            for segment, start, end in self._committed_after(place):
                for offset, header in segment.frames(start, end):
                    place = (segment.number, offset + header.size)
                    rows += [batch for _, batch in segment.read(offset, place[1])]
                    size += header.length
                    if size >= most:
                        return rows, place
                place = (segment.number, end)
            return rows, place

    def sample(self, most: int, frames: int) -> pa.Table:
        """Triples of the last segment, about so many of at most so many frames, in the columns s, p, o."""
        with self._lock:
            found: list[pa.RecordBatch] = []
            for segment, start, end in self._committed_after((self._current.last_segment, HEADER_BYTES)):
                for _, rows in islice(segment.read(start, end), frames):
                    part = rows.slice(0, most)
                    terms = [part[name].cast(pa.string()) for name in "spo"]
                    found.append(pa.record_batch(terms, names=list("spo")))
                    most -= part.num_rows
                    if most <= 0:
                        break
            table = pa.Table.from_batches(found, pa.schema([(name, pa.string()) for name in "spo"]))
            return table.filter(pc.is_valid(table["s"]))

    def last_from(self, count: int, upto: Instant, unit: Unit) -> Instant:
        """An instant after which are the last ``count`` triples (or elements) that an evaluation at ``upto`` finds.

        ``scan`` from there on has them, and perhaps a few more. BEFORE_ALL if there are no more than those.
        """
        with self._lock:
            self._lay_out()
            self._scans += 1
            found = last_from(self._runs, count, upto, unit, self._scans)
            self._evict()
            return found

    def close(self) -> None:
        """Close the files. Tables from earlier scans stay valid."""
        with self._lock:
            self._manifest.close()
            for segment in self._segments.values():
                segment.close()
            self._segments.clear()
            self._runs.clear()

    @property
    def _current(self) -> Manifest:
        assert self._state is not None
        return self._state

    @property
    def _end(self) -> tuple[int, int]:
        return self._current.last_segment, self._current.committed

    def _committed_after(self, position: tuple[int, int]) -> list[tuple[MappedSegment, int, int]]:
        """What is committed behind a position, by segment: [start, end) of each."""
        ranges = []
        for number in range(max(position[0], self._current.first_segment), self._current.last_segment + 1):
            segment = self._segment(number)
            if segment is None:
                continue
            start = position[1] if number == position[0] else HEADER_BYTES
            end = self._current.committed if number == self._current.last_segment else segment.size
            if start < end:
                ranges.append((segment, start, end))
        return ranges

    def _segment(self, number: int) -> MappedSegment | None:
        """A segment; None if retention has taken it since the last refresh."""
        if number not in self._segments:
            try:
                self._segments[number] = MappedSegment(self._directory, number)
            except FileNotFoundError:
                return None
        return self._segments[number]

    def _lay_out(self) -> None:
        """Arrange the frames since the last time into runs."""
        if self._laid_out == self._end:
            return
        for segment, start, end in self._committed_after(self._laid_out):
            fresh: list[Run] = []
            for offset, header in segment.frames(start, end):
                run = Run(segment, offset, header)
                if fresh and not fresh[-1].full and not run.full:
                    fresh[-1].extend(run)
                else:
                    fresh.append(run)
            self._runs += fresh
        self._laid_out = self._end
        while len(self._runs) > 1 and self._runs[-2].takes(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1].extend(last)

    def _evict(self) -> None:
        looked, scans = self._looked
        if (now := self._clock()) - looked >= UNUSED_SECONDS:
            for run in self._runs:
                if run.used <= scans:
                    run.content = None
            self._looked = (now, self._scans)
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

    def _forget(self, first_segment: int) -> None:
        self._runs = [run for run in self._runs if run.segment.number >= first_segment]
        self._segments = {number: mapped for number, mapped in self._segments.items() if number >= first_segment}


def _instant(value: Instant) -> Instant | None:
    return None if value == BEFORE_ALL else value
