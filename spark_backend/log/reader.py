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
from protocol.streams import StreamReach
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import Unit
from spark_backend.log.damage import Damage, Place, SegmentPart, frame_damage, frames, lost_files
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.frame import FrameKind
from spark_backend.log.format.manifest import Manifest, ManifestReader
from spark_backend.log.format.memory_map import MappedSegment
from spark_backend.log.format.stamp import Totals
from spark_backend.log.reading.elements import Elements, elements_of, lost_elements
from spark_backend.log.reading.last import last_from
from spark_backend.log.reading.run import FULL_BYTES, Run
from spark_backend.log.reading.runs import MEMORY_BYTES, Runs


class DamagedLog(Unavailable):
    """What was asked for may be among what a log's files have lost."""

    title = "The stream's log is damaged"


class Stretch(NamedTuple):
    """Consecutive frames of a segment: their bytes [start, end), and how many triples they have."""

    segment: int
    start: int
    end: int
    triples: int


class Position(NamedTuple):
    """A place in a log: behind a frame, or where a segment begins.

    ``before``: what the log has had up to there; None where that is for the frame behind it to say.
    """

    segment: int
    offset: int
    before: Totals | None


class LogReader:
    """A view of the log as of the last ``refresh``. Safe for several threads.

    Raises NotFound for a log that does not exist or was deleted, Unavailable for one that has not been
    opened for writing since the machine crashed.

    What is damaged is passed over, and told by ``damage``; what asks for a stretch of time with damage in it raises
    DamagedLog (``scan``, ``stretches``, ``rows_of``).
    """

    def __init__(
        self, directory: Path, *, memory_bytes: int = MEMORY_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._manifest = ManifestReader(directory)
        self._lock = threading.RLock()
        self._segments: dict[int, MappedSegment] = {}
        self._runs = Runs(memory_bytes, clock)
        self._damage: dict[tuple[int, int], Damage] = {}
        self._state: Manifest | None = None
        self._void: ProtocolError | None = None
        self.refresh()
        # How far runs were laid out, and elements handed out.
        self._laid_out = self._handed_out = self.begin

    def refresh(self) -> bool:
        """Look whether the writer has published anything new; cheap (one read of a block) if not."""
        with self._lock:
            if self._void is not None:
                raise self._void.with_traceback(None)
            self._runs.forget_unused()
            state = self._manifest.poll()
            if state is None:
                return False
            before = self._state
            self._require_held(state)
            self._state = state
            if before is not None and before.first_segment != state.first_segment:
                self._forget(state.first_segment)
            if before is not None and before.last_segment != state.last_segment:
                for number, segment in self._segments.items():
                    if number < state.last_segment:
                        segment.seal()
            return True

    @property
    def reach(self) -> StreamReach:
        """How far the log was at the last ``refresh``."""
        return StreamReach(self.elements, self.watermark, self.ended)

    def reach_now(self) -> StreamReach:
        """How far it is by now, while this view of it stays as it is. Raises as ``refresh`` does."""
        with self._lock:
            state = self._manifest.now()
            self._require_held(state)
            return StreamReach(state.totals.elements, state.totals.watermark, state.ended)

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
    def late(self) -> int:
        """How many of them were late."""
        return self._current.totals.late

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

        Starts at the oldest element held. Elements deleted before they were asked for are left out. Those that
        cannot be
        read are there, at times that they may have: so windows that may have had them are evaluated, and say so.
        """
        with self._lock:
            batches: list[pa.RecordBatch] = []
            found: list[Elements] = []
            pending = 0

            def close_batches() -> None:
                nonlocal pending
                if batches:
                    found.append(elements_of(batches))
                    batches.clear()
                pending = 0

            for one in self._frames_after(self._handed_out):
                batch = self._rows(one) if isinstance(one, Place) else None
                if isinstance(one, Place) and batch is not None:
                    batches.append(batch)
                    pending += one.header.length
                    if pending >= FULL_BYTES:
                        close_batches()
                else:
                    close_batches()
                    damage = self._noted(one)
                    if damage.latest != BEFORE_ALL and damage.elements != 0:
                        found.append(lost_elements(damage))
            close_batches()
            self._handed_out = self.end
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

    def scan(self, after: Instant, upto: Instant, at: Instant | None = None) -> pa.Table:
        """The triples that an evaluation at ``at`` (not before ``upto``, which it is if it is not given) finds in the
        window (after, upto].

        Rows in the columns of LOG with after < time <= upto and seen < at, in no particular order;
        views of memory that later scans share, where that can be.
        """
        at = upto if at is None else at
        with self._lock:
            self._lay_out()
            self._runs.begin_scan()
            found: list[pa.RecordBatch] = []
            for run in self._runs.between(after, upto):
                found += self._runs.use(run).slice(after, upto, at)
                for damage in run.damage:
                    self._noted(damage)
            self.require_whole(after, upto)
            self._runs.evict()
            return pa.Table.from_batches(found, LOG)

    def entered(self, after: Instant, upto: Instant) -> pa.Table:
        """The triples that take part first at an instant in (after, upto], late ones among them; otherwise as ``scan``.

        The rows of an element are neighbours, in the log's order.
        """
        with self._lock:
            self._lay_out()
            self._runs.begin_scan()
            found: list[pa.RecordBatch] = []
            late = True
            for run in reversed(self._runs):
                if not run.triples or not ((late and run.late) or (run.latest > after and run.earliest <= upto)):
                    continue
                found += self._runs.use(run).entered(after, upto)
                for damage in run.damage:
                    self._noted(damage)
                # Watermarks do not go back: in older runs nothing met a later one.
                late = late and not run.met_before(after)
            self.require_whole(BEFORE_ALL, upto)
            self._runs.evict()
            return pa.Table.from_batches(found, LOG)

    def stretches(self, after: Instant, upto: Instant) -> list[Stretch]:
        """Where the triples with after < time <= upto are, in the log's order; each may have others besides.

        For those who read much and keep nothing, perhaps in several processes: nothing is read here.
        """
        with self._lock:
            self._lay_out()
            self.require_whole(after, upto)
            return [
                Stretch(run.segment.number, run.start, run.end, run.triples) for run in self._runs.between(after, upto)
            ]

    def triples_about(self, after: Instant, upto: Instant) -> int:
        """How many triples ``scan`` finds, about: by the bounds of frames, without reading them."""
        with self._lock:
            self._lay_out()
            return sum(run.triples_about(after, upto) for run in self._runs.between(after, upto))

    def reaches_to(self, t: Instant) -> bool:
        """Whether there may be triples with time <= t, by the bounds of what is held."""
        with self._lock:
            self._lay_out()
            return any(run.triples and run.earliest <= t for run in self._runs)

    def rows_of(self, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        """The rows (columns of STORED) of a stretch, a frame at a time, over the mapped bytes; none if it was deleted.

        Every element is whole, and its rows are neighbours.
        """
        with self._lock:
            segment = self._segment(stretch.segment)
        if segment is not None:
            for offset, header, batch in segment.read(stretch.start, stretch.end):
                if batch is None:
                    raise self._damaged(frame_damage(segment.number, offset, header))
                yield batch

    @property
    def end(self) -> Position:
        """The place behind all that is committed."""
        with self._lock:
            state = self._current
            return Position(state.last_segment, state.committed, state.totals)

    @property
    def begin(self) -> Position:
        """The place of the oldest frame held."""
        first = self._current.first_segment
        return Position(first, 0, Totals() if first == 1 else None)

    @property
    def damage(self) -> list[Damage]:
        """What has turned out to be damaged, in the log's order. Waits for nobody who reads."""
        known = list(self._damage.items())
        return [damage for _, damage in sorted(known)]

    def read_after(self, place: Position, most: int) -> tuple[list[pa.RecordBatch | Damage], Position]:
        """The rows (columns of STORED) of the frames behind a place, in the log's order, and the place behind them.

        Damage stands for what is lost. Stops after ``most`` bytes. What retention has taken is left out: compare with
        ``begin``.
        """
        with self._lock:
            rows: list[pa.RecordBatch | Damage] = []
            size = 0
            for one in self._frames_after(place):
                batch = self._rows(one) if isinstance(one, Place) else None
                rows.append(self._noted(one) if batch is None else batch)
                if isinstance(one, Place):
                    place = Position(one.segment, one.offset + one.header.size, one.header.after)
                    size += one.header.length
                    if size >= most:
                        return rows, place
            return rows, self.end

    def late_after(self, place: Position, most: int) -> tuple[list[tuple[int, int, pa.RecordBatch]], Position]:
        """The frames with late elements behind a place, and the place behind what was looked at.

        Of each, how many late ones the log had had before and after it, and its rows (columns of STORED), on-time
        elements among them. What cannot be read is left out. Stops after ``most`` bytes.
        """
        with self._lock:
            found: list[tuple[int, int, pa.RecordBatch]] = []
            size = 0
            for one in self._frames_after(place):
                if isinstance(one, Damage):
                    self._noted(one)
                    continue
                place = Position(one.segment, one.offset + one.header.size, one.header.after)
                rows = self._rows(one) if one.header.late else None
                if rows is not None:
                    found.append((one.header.before.late, one.header.after.late, rows))
                    size += one.header.length
                    if size >= most:
                        break
            return found, place

    def check(self) -> list[Damage]:
        """Look at all that is committed, byte by byte: what of it is damaged."""
        with self._lock:
            for one in self._frames_after(self.begin):
                if isinstance(one, Damage) or self._rows(one) is None:
                    self._noted(one)
            return [*lost_files(self._directory, self.begin.segment), *self.damage]

    def sample(self, most: int, frames: int) -> pa.Table:
        """Triples of the last segment, about so many of at most so many frames, in the columns s, p, o."""
        with self._lock:
            found: list[pa.RecordBatch] = []
            last = Position(self._current.last_segment, 0, None)
            for one in islice(self._frames_after(last), frames):
                rows = self._rows(one) if isinstance(one, Place) else None
                if rows is None:
                    continue
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
            self._runs.begin_scan()
            found = last_from(self._runs, count, upto, unit)
            self._runs.evict()
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

    def _require_held(self, state: Manifest) -> None:
        """Raise, now and ever after, where what was read so far is void in this state of the log."""
        before = self._state
        if state.dropped:
            self._void = NotFound(f"the stream log {self._directory.name} was deleted")
        elif before is not None and before.generation != state.generation:
            self._void = Unavailable(f"the stream log {self._directory.name} has lost elements: open it again")
        if self._void is not None:
            raise self._void.with_traceback(None)

    def _frames_after(self, position: Position) -> Iterator[Place | Damage]:
        """The committed frames of elements behind a position, and the damage between them."""
        # Where retention has taken what is next, the oldest frame held says what was before it.
        before = position.before if position.segment >= self._current.first_segment else None
        for found in frames(self._parts_after(position), before, self._current.totals):
            if isinstance(found, Damage) or found.header.kind is FrameKind.ELEMENTS:
                yield found

    def _parts_after(self, position: Position) -> Iterator[SegmentPart]:
        """What is committed behind a position, by segment."""
        last, committed = self._current.last_segment, self._current.committed
        for number in range(max(position.segment, self._current.first_segment), last + 1):
            start = position.offset if number == position.segment else 0
            if number == last and start >= committed:
                break  # nothing is behind it, whatever may be wrong with the file
            try:
                segment = self._segment(number)
            except OSError as error:
                yield SegmentPart(number, None, start, start, f"the file cannot be read ({error.strerror or error})")
                continue
            if segment is None:
                if number < self._manifest.first_segment():
                    yield SegmentPart(number, None, start, start, missing=None)
                else:
                    yield SegmentPart(number, None, start, start)
                continue
            end = committed if number == last else segment.size
            yield SegmentPart(number, segment.data(end), start, end)

    def _rows(self, place: Place) -> pa.RecordBatch | None:
        """The rows of a frame; None if they are damaged."""
        segment = self._segment(place.segment)
        return None if segment is None else segment.rows(place.offset, place.header)

    def _noted(self, one: Place | Damage) -> Damage:
        """Damage that is known from now on: of a frame whose rows are damaged, or between frames."""
        damage = frame_damage(*one) if isinstance(one, Place) else one
        self._damage[damage.segment, damage.offset] = damage
        return damage

    def require_whole(self, after: Instant, upto: Instant) -> None:
        """Raise DamagedLog where what is known to be lost may be of these times."""
        for damage in self._damage.values():
            if damage.reaches(after, upto):
                raise self._damaged(damage)

    def _damaged(self, damage: Damage) -> DamagedLog:
        return DamagedLog(f"the stream's log is damaged: {damage.described(self._directory.name)}")

    def _segment(self, number: int) -> MappedSegment | None:
        """A segment; None if there is no such file: retention has taken it since the last refresh, or it is missing."""
        if number not in self._segments:
            try:
                self._segments[number] = segment = MappedSegment(self._directory, number)
            except FileNotFoundError:
                return None
            if number < self._current.last_segment:
                segment.seal()
        return self._segments[number]

    def _lay_out(self) -> None:
        """Arrange the frames since the last time into runs."""
        if self._laid_out[:2] == self.end[:2]:
            return
        self._runs.add(self._runs_after(self._laid_out))
        self._laid_out = self.end

    def _runs_after(self, position: Position) -> Iterator[Run]:
        """The frames behind a position, each as a run by itself."""
        for one in self._frames_after(position):
            if isinstance(one, Damage):
                self._noted(one)
            else:
                yield Run(self._segments[one.segment], one.offset, one.header)

    def _forget(self, first_segment: int) -> None:
        self._runs.remove_before(first_segment)
        self._segments = {number: mapped for number, mapped in self._segments.items() if number >= first_segment}
        self._damage = {place: damage for place, damage in self._damage.items() if place[0] >= first_segment}


def _instant(value: Instant) -> Instant | None:
    return None if value == BEFORE_ALL else value
