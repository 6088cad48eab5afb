"""The log's rows of a request: time, watermark seen and sequence number of its elements
(docs/model.md, "Watermarks").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.columns import LATEST, STORED, TERMS
from spark_backend.log.format.request import AppendRequest


class Totals(NamedTuple):
    """What a log holds after a frame, counted from its creation.

    ``frames`` and ``elements`` are also the next sequence numbers. ``first`` is the earliest instant at
    which some element takes part in an evaluation, that is the least max(time, seen + 1): the time of
    the first element, unless that was late. ``last`` is the greatest time. BEFORE_ALL where there is none.
    ``empty``: how many elements have no triples.
    """

    frames: int = 0
    elements: int = 0
    triples: int = 0
    late: int = 0
    first: Instant = BEFORE_ALL
    last: Instant = BEFORE_ALL
    watermark: Instant = BEFORE_ALL
    empty: int = 0

    def follows(self, earlier: Totals) -> bool:
        """Whether a log that has had ``earlier`` may come to have these."""
        grow = ("frames", "elements", "triples", "late", "empty", "last", "watermark")
        return all(getattr(self, one) >= getattr(earlier, one) for one in grow)


@dataclass(frozen=True)
class StampedRows:
    """Rows in the columns of STORED, their bounds, and the totals after them (``frames`` unchanged).

    ``text``: see AppendRequest.
    """

    rows: pa.RecordBatch
    elements: int
    triples: int
    text: int
    late: int
    earliest: Instant
    latest: Instant
    after: Totals


def watermark_after(latest: Instant, settings: StreamSettings) -> Instant:
    """What the greatest time so far says: nothing at or before this is coming."""
    return latest - min(settings.allowed_lateness, LATEST) - 1


def stamp_event(
    request: AppendRequest, settings: StreamSettings, before: Totals, ceiling: Instant | None = None
) -> StampedRows:
    """The elements of a request at their own times, each seen at the watermark the ones before it left.

    An element at t moves the watermark W to max(W, t - lateness - 1); it is late if t <= W when it comes. ``ceiling``:
    what the elements of a partition cannot move it beyond, the least watermark of the others.
    """
    times = request.times
    assert times is not None
    if request.elements == 1:
        time = times[0].as_py()
        reached = watermark_after(time, settings)
        return _stamp_single(request, time, reached if ceiling is None else min(reached, ceiling), before)
    said = pc.add(times, watermark_after(0, settings))
    if ceiling is not None:
        said = pc.min_element_wise(said, _scalar(ceiling))
    watermarks = pc.cumulative_max(said, start=before.watermark)
    seen = pa.concat_arrays([pa.array([before.watermark], pa.int64()), watermarks[:-1]])
    late = pc.sum(pc.less_equal(times, seen)).as_py()
    takes_part = pc.min(pc.max_element_wise(times, pc.add(seen, 1)) if late else times).as_py()
    rows, ordinal = request.rows, request.rows["element"]
    number = pc.add(ordinal.cast(pa.int64()), before.elements)
    bounds = pc.min_max(times).as_py()
    if request.elements != rows.num_rows:
        times, seen = times.take(ordinal), seen.take(ordinal)
    after = _after(request, late, takes_part, bounds["max"], watermarks[-1].as_py(), before)
    return _stamp(request, (times, seen, number), late, (bounds["min"], bounds["max"]), after)


def stamp_arrival(request: AppendRequest, time: Instant, before: Totals) -> StampedRows:
    """The elements of a request at one time, given by the log's clock and later than the watermark."""
    if request.elements == 1:
        return _stamp_single(request, time, time - 1, before)
    rows, ordinal = request.rows, request.rows["element"]
    watermark = max(before.watermark, time - 1)
    columns = (
        _constant(time, rows.num_rows),
        pc.if_else(pc.equal(ordinal, 0), _scalar(before.watermark), _scalar(watermark)),
        pc.add(ordinal.cast(pa.int64()), before.elements),
    )
    return _stamp(request, columns, 0, (time, time), _after(request, 0, time, time, watermark, before))


def _stamp_single(request: AppendRequest, time: Instant, reached: Instant, before: Totals) -> StampedRows:
    """A request of one element: by far the most frequent where messages come one by one."""
    seen, rows = before.watermark, request.rows.num_rows
    late = int(time <= seen)
    columns = (_constant(time, rows), _constant(seen, rows), _constant(before.elements, rows))
    after = _after(request, late, max(time, seen + 1), time, max(seen, reached), before)
    return _stamp(request, columns, late, (time, time), after)


def _stamp(
    request: AppendRequest,
    columns: tuple[pa.Int64Array, pa.Int64Array, pa.Int64Array],
    late: int,
    bounds: tuple[Instant, Instant],
    after: Totals,
) -> StampedRows:
    terms = (request.rows[name] for name in TERMS)
    rows = pa.RecordBatch.from_arrays([*columns, *terms], schema=STORED)
    return StampedRows(rows, request.elements, request.triples, request.text, late, *bounds, after)


def _after(
    request: AppendRequest, late: int, takes_part: Instant, latest: Instant, watermark: Instant, before: Totals
) -> Totals:
    return Totals(
        before.frames,
        before.elements + request.elements,
        before.triples + request.triples,
        before.late + late,
        min(before.first, takes_part) if before.elements else takes_part,
        max(before.last, latest),
        watermark,
        # An empty element is one row, which is no triple.
        before.empty + request.rows.num_rows - request.triples,
    )


def _constant(value: int, length: int) -> pa.Int64Array:
    return pa.repeat(_scalar(value), length)


def _scalar(value: int) -> pa.Int64Scalar:
    return pa.scalar(value, pa.int64())
