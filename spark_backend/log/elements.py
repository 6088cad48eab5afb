"""The elements of a log without their triples: what a timeline of evaluation instants is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.log.request import element_starts

_COLUMNS = ["time", "seen", "element", "s"]


@dataclass(frozen=True)
class Elements:
    """Consecutive elements in the order they arrived: three int64 arrays of one length.

    ``first``: the sequence number of the first of them. ``seen``: the watermark each arrived at; it takes
    part in evaluations after that, so its first instant is max(time, seen + 1). ``triples`` may be 0.
    """

    first: int
    time: pa.Int64Array
    seen: pa.Int64Array
    triples: pa.Int64Array

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.time)


def elements_of(batches: Sequence[pa.RecordBatch]) -> Elements:
    """The elements of consecutive batches (one at least) in the columns of LOG."""
    # Selected first: joining copies.
    rows = batches[0] if len(batches) == 1 else pa.concat_batches([batch.select(_COLUMNS) for batch in batches])
    element, subject = rows["element"], rows["s"]
    starts = element_starts(element)
    lengths = pc.subtract(pc.run_end_encode(element).run_ends, starts).cast(pa.int64())
    if subject.null_count:
        # An empty element is one row, with no subject.
        lengths = pc.if_else(pc.is_null(subject.take(starts)), pa.scalar(0, pa.int64()), lengths)
    return Elements(element[0].as_py(), rows["time"].take(starts), rows["seen"].take(starts), lengths)
