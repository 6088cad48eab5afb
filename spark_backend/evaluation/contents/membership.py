"""At which of several instants a row of a slice is in the window (RSP-QL Definitions 12 and 14;
docs/model.md, "Watermarks").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import numpy.typing as npt
import pyarrow as pa

from protocol.time import Instant

InstantBounds = tuple[Instant, Instant, Instant]
"""An instant and the window's (open, closed] there, in terms of the column that rows are found by."""


def instants_of_rows(rows: pa.Table, bounds: Sequence[InstantBounds], key: str = "time") -> pa.ListArray:
    """For each row (columns ``key`` and ``seen``), the instants whose window it is in and that come after ``seen``.

    ``bounds`` ascend with the instant at both ends, so that a row is in the windows of neighbours: finding these takes
    two binary searches, where a join on inequalities would compare every row with every window.
    """
    instants, lower, upper = numpy.array(bounds, dtype=numpy.int64).T
    time, seen = (rows.column(name).to_numpy() for name in (key, "seen"))
    first = numpy.searchsorted(upper, time, side="left")
    return instants_after(instants, first, numpy.searchsorted(lower, time, side="left"), seen)


def instants_after(
    instants: npt.NDArray[numpy.int64],
    first: npt.NDArray[numpy.int64],
    stop: npt.NDArray[numpy.int64],
    seen: npt.NDArray[numpy.int64],
) -> pa.ListArray:
    """For each row, those of ``instants`` (ascending) in the places [first, stop) that come after ``seen``."""
    count = numpy.maximum(stop - first, 0)
    start = numpy.concatenate(([0], numpy.cumsum(count)))
    place = numpy.repeat(first - start[:-1], count) + numpy.arange(start[-1])
    found = instants[place]
    early = numpy.repeat(seen, count) < found
    if not early.all():
        row = numpy.repeat(numpy.arange(len(seen)), count)[early]
        found = found[early]
        start = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(row, minlength=len(seen)))))
    return pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), pa.array(found, pa.int64()))


def instants_by_number(
    rows: int, instants: Sequence[Instant], held: Sequence[npt.NDArray[numpy.int64]]
) -> pa.ListArray:
    """For each of so many rows, the instants that hold it. ``held``: the numbers of the rows that each one holds."""
    row = numpy.concatenate(held)
    instant = numpy.repeat(numpy.array(instants, numpy.int64), [len(numbers) for numbers in held])
    start = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(row, minlength=rows))))
    order = numpy.argsort(row, kind="stable")
    return pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), pa.array(instant[order], pa.int64()))
