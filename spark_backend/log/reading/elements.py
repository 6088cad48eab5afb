"""The elements of a log without their triples: what a timeline of evaluation instants is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.log.damage import Damage
from spark_backend.log.format.request import element_starts

_TIMES = ["time", "seen", "element"]
_COLUMNS = [*_TIMES, "empty"]


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


def lost_elements(damage: Damage) -> Elements:
    """Elements in the place of some that cannot be read, spread over the time that they may have, the last one at
    its end.
    """
    if damage.elements is None:
        return _on_time([damage.latest], [1])
    most = max(damage.elements - 1, 1)
    span = damage.latest - damage.begin
    times = [damage.latest - span * place // most for place in reversed(range(damage.elements))]
    full = damage.elements - damage.empty
    return _on_time(times, [0] * damage.empty + [1] * (full - 1) + [damage.triples - full + 1] * (full > 0))


def _on_time(times: list[Instant], triples: list[int]) -> Elements:
    time = pa.array(times, pa.int64())
    return Elements(0, time, pc.subtract(time, 1), pa.array(triples, pa.int64()))


def elements_of(batches: Sequence[pa.RecordBatch]) -> Elements:
    """The elements of consecutive batches (one at least) in the columns of STORED."""
    # Terms left behind first: joining copies.
    times = [
        pa.RecordBatch.from_arrays([*(batch[name] for name in _TIMES), pc.is_null(batch["s"])], _COLUMNS)
        for batch in batches
    ]
    rows = times[0] if len(times) == 1 else pa.concat_batches(times)
    element = rows["element"]
    starts = element_starts(element)
    lengths = pc.subtract(pc.run_end_encode(element).run_ends, starts).cast(pa.int64())
    # An empty element is one row, with no subject.
    lengths = pc.if_else(rows["empty"].take(starts), pa.scalar(0, pa.int64()), lengths)
    return Elements(element[0].as_py(), rows["time"].take(starts), rows["seen"].take(starts), lengths)
