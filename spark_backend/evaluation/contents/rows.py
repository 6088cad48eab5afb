"""The rows of a stream log that are a window's content at some instants, and which of them are whose.

RSP-QL Definitions 12 and 13; docs/model.md, "Windows".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import BEFORE_ALL, Instant
from protocol.windows.instances import content_bounds
from protocol.windows.spec import CountWindow, FactsWindow, SessionWindow, Unit, WindowSpec
from spark_backend.evaluation.contents.membership import InstantBounds, instants_by_number, instants_of_rows
from spark_backend.evaluation.contents.partitions import Matching, PartitionContents
from spark_backend.evaluation.contents.sessions import closing_sessions
from spark_backend.log.reader import LogReader


@dataclass(frozen=True)
class WindowContents:
    """``rows`` in the columns of LOG, and perhaps more; ``instants``: those at which each row is in the content.

    For one instant ``rows`` are its content and nothing else, and ``instants`` are not said. ``changed``: where
    something has entered or left the content of a window with WHERE.
    """

    rows: pa.Table
    instants: pa.ListArray | None
    changed: frozenset[Instant] = frozenset()


def contents(
    reader: LogReader,
    window: WindowSpec,
    instants: Sequence[Instant],
    partitions: PartitionContents | None = None,
    matching: Matching | None = None,
) -> WindowContents:
    """The window's contents at ascending instants. ``partitions``: what is known of those of partitioned windows.

    ``matching`` is needed for a window with WHERE.
    """
    if isinstance(window, SessionWindow):
        return _held(*closing_sessions(reader, window, instants), instants)
    if isinstance(window, CountWindow) and window.partition is not None:
        rows, held, changed = (partitions or PartitionContents(reader)).at(window, instants, matching)
        return replace(_held(rows, held, instants), changed=changed)
    if isinstance(window, CountWindow):
        return _last(reader, window, instants)
    bounds = [(instant, *content_bounds(window, instant)) for instant in instants]
    rows = reader.scan(min(after for _, after, _ in bounds), max(upto for _, _, upto in bounds), instants[-1])
    return _between(rows, bounds, "time")


def _held(rows: pa.Table, held: Sequence[npt.NDArray[np.int64]], instants: Sequence[Instant]) -> WindowContents:
    """Contents of the rows with these numbers at each instant."""
    if len(instants) == 1:
        return WindowContents(rows.take(pa.array(held[0])), None)
    return WindowContents(rows, instants_by_number(rows.num_rows, instants, held))


def _between(rows: pa.Table, bounds: Sequence[InstantBounds], key: str) -> WindowContents:
    """Contents of rows with lower < ``key`` ≤ upper and seen < instant; bounds ascend at both ends."""
    return WindowContents(rows, instants_of_rows(rows, bounds, key) if len(bounds) > 1 else None)


def rows_about(
    reader: LogReader, window: WindowSpec, instants: Sequence[Instant], partitions: PartitionContents | None = None
) -> int:
    """How many rows the contents at ascending instants have together, about; no time window's are read for it."""
    if isinstance(window, SessionWindow):
        return sum(map(len, closing_sessions(reader, window, instants)[1]))
    if isinstance(window, CountWindow) and window.partition is not None:
        return (partitions or PartitionContents(reader)).about(window, instants)
    if isinstance(window, CountWindow):
        if window.unit is Unit.TRIPLES:
            return min(window.size, reader.triples_about(BEFORE_ALL, instants[-1])) * len(instants)
        return reader.triples_about(reader.last_from(window.size, instants[-1], window.unit), instants[-1]) * len(
            instants
        )
    bounds = [content_bounds(window, instant) for instant in instants]
    held = reader.triples_about(bounds[0][0], bounds[-1][1])
    if isinstance(window, FactsWindow):
        return held  # read once for all instants
    spanned = max(bounds[-1][1] - bounds[0][0], 1)
    return held * max(1, sum(upto - after for after, upto in bounds) // spanned)


def _last(reader: LogReader, window: CountWindow, instants: Sequence[Instant]) -> WindowContents:
    """The last triples or elements: the rows in their order, numbered from 1 as ``place``.

    The order is by timestamp, then the log's: by element, and in an element as the log has its rows.
    """
    # What is among the last at a later instant and was there before, is among them now.
    rows = reader.scan(reader.last_from(window.size, instants[0], window.unit), instants[-1])
    # A stable sort: rows of an element stay in their order.
    rows = rows.take(pc.sort_indices(rows, sort_keys=[("time", "ascending"), ("element", "ascending")]))
    time, seen, element = (rows[name].to_numpy() for name in ("time", "seen", "element"))
    bounds = bounds_of_last(time, seen, element, window, instants)
    places = np.arange(1, len(time) + 1)
    begin, end = bounds[0][1], bounds[-1][2]
    rows = rows.append_column("place", pa.array(places, pa.int64())).slice(begin, end - begin)
    return _between(rows, bounds, "place")


def bounds_of_last(
    time: npt.NDArray[np.int64],
    seen: npt.NDArray[np.int64],
    element: npt.NDArray[np.int64],
    window: CountWindow,
    instants: Sequence[Instant],
) -> list[InstantBounds]:
    """The places (lower, upper], from 1, of the last triples or elements at each instant, among rows in their order."""
    places = np.arange(1, len(time) + 1)
    punctual = not len(time) or int((seen - time).max()) < 0
    first = places if window.unit is Unit.TRIPLES else _first_places(element, places)
    bounds = []
    for instant in instants:
        end = int(np.searchsorted(time, instant, side="right"))
        starts = first[: int(np.searchsorted(first, end, side="right"))]
        if not punctual:
            starts = starts[seen[starts - 1] < instant]
        lower = int(starts[-window.size]) - 1 if len(starts) >= window.size else 0
        bounds.append((instant, lower, end))
    return bounds


def _first_places(element: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of elements' first rows."""
    return places[np.flatnonzero(np.diff(element, prepend=-1))]
