"""An append request, checked: its rows, where its elements begin, and their times."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import InvalidMessage
from protocol.streams import TimeKind
from spark_backend.log.format.columns import EARLIEST, LATEST, REQUEST
from spark_backend.log.format.rows import text_bytes


@dataclass(frozen=True)
class AppendRequest:
    """``rows`` in the columns of REQUEST; ``times`` (int64, ms) one per element, None where the log stamps them.

    ``text``: bytes of the terms of all rows, as ``text_bytes`` counts them.
    """

    rows: pa.RecordBatch
    times: pa.Int64Array | None
    elements: int
    triples: int
    text: int


def check_request(batch: pa.RecordBatch, time: TimeKind) -> AppendRequest:
    """Check a batch from the ingest.

    Raises InvalidMessage for an element of an event stream without a (representable) time, ValueError for
    a batch that is not in the columns of REQUEST: that is the caller's mistake, not the client's.
    """
    rows = _in_columns(batch)
    if not rows.num_rows:
        return AppendRequest(rows, pa.array([], pa.int64()) if time is TimeKind.EVENT else None, 0, 0, 0)
    element = rows["element"]
    # First of all: the rest counts on ordinals that neither fall nor skip.
    if not _counts_from_zero(element):
        raise ValueError("column element must count the messages of the request from 0, without gaps")
    subject, predicate, object_ = rows["s"], rows["p"], rows["o"]
    if subject.null_count or predicate.null_count or object_.null_count:
        empty = pc.is_null(subject)
        if not empty.equals(pc.is_null(predicate)) or not empty.equals(pc.is_null(object_)):
            raise ValueError("a row needs all of s, p and o, or none of them")
    if subject.null_count and pc.any(pc.and_(pc.is_null(subject), pc.greater(_siblings(element), 1))).as_py():
        raise ValueError("an empty message is one row: no other row may have its ordinal")
    elements = element[-1].as_py() + 1
    times = _times(rows, elements) if time is TimeKind.EVENT else None
    return AppendRequest(rows, times, elements, rows.num_rows - subject.null_count, text_bytes(rows))


def element_starts(element: pa.Array) -> pa.Array:
    """The index of the first row of each element, given the (non-decreasing) ordinal of every row."""
    ends = pc.run_end_encode(element).run_ends
    return pa.concat_arrays([pa.array([0], ends.type), ends[:-1]])


def _counts_from_zero(element: pa.Int32Array) -> bool:
    bounds = pc.min_max(element).as_py()
    if element.null_count or bounds["min"] != 0 or element[0].as_py() != 0:
        return False
    if bounds["max"] == 0:
        return True
    steps = pc.min_max(pc.pairwise_diff(element)).as_py()
    return bool(steps["min"] >= 0 and steps["max"] <= 1)


def _siblings(element: pa.Array) -> pa.Array:
    """For every row, the number of rows of its element."""
    starts = element_starts(element)
    return pc.subtract(pc.run_end_encode(element).run_ends, starts).take(element)


def _in_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    missing = [name for name in REQUEST.names if name not in batch.schema.names]
    if missing:
        raise ValueError(f"the batch lacks the columns {', '.join(missing)}")
    rows = batch.select(REQUEST.names)
    if rows.schema.equals(REQUEST):
        return rows
    try:
        return rows.cast(REQUEST)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"the batch is not in the columns of a request: {error}") from error


def _times(rows: pa.RecordBatch, elements: int) -> pa.Int64Array:
    """The time of each element; all its rows must agree on it."""
    time, element = rows["time"], rows["element"]
    if time.null_count:
        number = element[pc.index(pc.is_null(time), True).as_py()].as_py()
        raise InvalidMessage(f"message {number + 1} of the request has no timestamp")
    bounds = pc.min_max(time).as_py()
    if elements == rows.num_rows:
        times, agree = time, True
    elif elements == 1:
        times, agree = time[:1], bounds["min"] == bounds["max"]
    else:
        times = time.take(element_starts(element))
        agree = times.take(element).equals(time)
    if not agree:
        raise ValueError("the rows of an element must have one time")
    if bounds["min"] < EARLIEST or bounds["max"] > LATEST:
        outside = pc.or_(pc.less(times, EARLIEST), pc.greater(times, LATEST))
        number = pc.index(outside, True).as_py()
        raise InvalidMessage(
            f"message {number + 1} of the request has the timestamp {times[number].as_py()} ms, "
            f"which is not between {EARLIEST} and {LATEST}"
        )
    return times
