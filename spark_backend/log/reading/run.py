"""Runs: consecutive frames of one segment, held in memory as one record batch sorted by time."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.log.damage import Damage, frame_damage
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.frame import Header
from spark_backend.log.format.memory_map import MappedSegment
from spark_backend.log.format.rows import write_out

FULL_ROWS = 32 * 1024
FULL_BYTES = 8 * 1024 * 1024
"""A run of this many rows or bytes of text takes no more frames; a frame of this size is a run of its own."""

_GROWTH = 4
_NO_ROWS = pa.RecordBatch.from_pylist([], LOG)


class Content(NamedTuple):
    """Rows of a run that have triples, in the columns of LOG.

    ``punctual`` is sorted by time (equal times in the log's order) and ``times`` views its times;
    ``late`` are the rows of late elements: the only ones that an evaluation at or after their time
    may have to leave out. ``size`` is in bytes.
    """

    punctual: pa.RecordBatch
    times: memoryview
    late: pa.RecordBatch | None
    size: int


class Run:
    """The frames of a segment in [start, end): their bounds, and their rows while they are in memory.

    ``damage``: of those that turned out not to be whole when the rows were read; their rows are left out.
    """

    __slots__ = (
        "content", "damage", "earliest", "end", "late", "latest", "rows", "segment", "start", "text", "triples", "used",
    )  # fmt: skip

    def __init__(self, segment: MappedSegment, offset: int, header: Header) -> None:
        self.segment = segment
        self.damage: list[Damage] = []
        self.start = offset
        self.end = offset + header.size
        self.rows = header.rows
        self.text = header.text
        self.triples = header.triples
        self.late = header.late
        self.earliest = header.earliest
        self.latest = header.latest
        self.content: Content | None = None
        self.used = 0

    @property
    def full(self) -> bool:
        """Whether it takes no more frames."""
        return self.rows >= FULL_ROWS or self.text >= FULL_BYTES

    def takes(self, later: Run) -> bool:
        """Whether the two should be one.

        Only while the later one is not much the smaller: so a row is copied a few times on its way into
        a full run, however small the frames are that it grows by, and there are never many small runs.
        """
        return self.segment is later.segment and not self.full and not later.full and self.rows < _GROWTH * later.rows

    def extend(self, later: Run) -> None:
        """Take over the frames of the run right behind this one."""
        if self.content is not None:
            self.content = _merge(self.content, later.load())
        self.end = later.end
        self.rows += later.rows
        self.text += later.text
        self.triples += later.triples
        self.late += later.late
        self.damage += later.damage
        self.earliest = min(self.earliest, later.earliest)
        self.latest = max(self.latest, later.latest)

    def triples_about(self, after: Instant, upto: Instant) -> int:
        """How many triples have after < time <= upto: counted where they are in memory, else an even share."""
        if after < self.earliest and self.latest <= upto:
            return self.triples
        if self.content is not None:
            times = self.content.times
            return bisect_right(times, upto) - bisect_right(times, after)
        spanned = min(upto, self.latest) - max(after, self.earliest - 1)
        return -(-self.triples * spanned // (self.latest - self.earliest + 1))

    def load(self) -> Content:
        """The rows, read if they are not in memory."""
        if self.content is None:
            batches, self.damage = [], []
            for offset, header, batch in self.segment.read(self.start, self.end):
                if batch is None:
                    self.damage.append(frame_damage(self.segment.number, offset, header))
                else:
                    batches.append(write_out(batch))
            rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches or [_NO_ROWS])
            if self.rows != self.triples:
                rows = rows.filter(pc.is_valid(rows["s"]))
            late = None
            if self.late:
                is_late = pc.less_equal(rows["time"], rows["seen"])
                rows, late = rows.filter(pc.invert(is_late)), rows.filter(is_late)
            self.content = _sort(rows, late)
        return self.content

    def slice(self, after: Instant, upto: Instant, at: Instant) -> list[pa.RecordBatch]:
        """The rows with after < time <= upto (not after ``at``) and seen < at, views where they are punctual."""
        punctual, times, late, _ = self.load()
        found = []
        begin, end = bisect_right(times, after), bisect_right(times, upto)
        if begin < end:
            # Punctual: seen < time <= upto <= at.
            found.append(punctual.slice(begin, end - begin))
        if late is not None:
            time = late["time"]
            wanted = pc.and_(
                pc.and_(pc.greater(time, after), pc.less_equal(time, upto)),
                pc.less(late["seen"], at),
            )
            rows = late.filter(wanted)
            if rows.num_rows:
                found.append(rows)
        return found

    def entered(self, after: Instant, upto: Instant) -> list[pa.RecordBatch]:
        """The rows whose first instant, the greater one of time and ``seen`` + 1, is in (after, upto]."""
        punctual, times, late, _ = self.load()
        begin, end = bisect_right(times, after), bisect_right(times, upto)
        found = [punctual.slice(begin, end - begin)] if begin < end else []
        if late is not None:
            rows = late.filter(pc.and_(pc.greater_equal(late["seen"], after), pc.less(late["seen"], upto)))
            found += [rows] if rows.num_rows else []
        return found

    def met_before(self, watermark: Instant) -> bool:
        """Whether a late element in it met a watermark below this one."""
        late = self.load().late
        return late is not None and late.num_rows > 0 and late["seen"][0].as_py() < watermark


def _sort(rows: pa.RecordBatch, late: pa.RecordBatch | None) -> Content:
    times = _times(rows)
    if len(times) > 1 and pc.min(pc.pairwise_diff(rows["time"])).as_py() < 0:
        rows = rows.take(pc.sort_indices(rows["time"]))
        times = _times(rows)
    return Content(rows, times, late, rows.nbytes + (0 if late is None else late.nbytes))


def _merge(first: Content, second: Content) -> Content:
    late = [content.late for content in (first, second) if content.late is not None]
    return _sort(pa.concat_batches([first.punctual, second.punctual]), pa.concat_batches(late) if late else None)


def _times(rows: pa.RecordBatch) -> memoryview:
    time = rows["time"]
    return memoryview(time.buffers()[1]).cast("B").cast("q")[time.offset : time.offset + len(time)]
