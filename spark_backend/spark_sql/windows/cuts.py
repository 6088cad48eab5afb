"""Which rows of a stream log are a window's content at some instants, told so that each part of the log can be asked.

The same contents as ``evaluation.contents.rows`` (RSP-QL Definitions 12 and 13; docs/model.md, "Windows"), without
having the rows of a window in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from protocol.windows.instances import content_bounds
from protocol.windows.spec import CountWindow, SessionWindow, WindowSpec
from spark_backend.evaluation.contents.membership import (
    InstantBounds,
    instants_after,
    instants_by_number,
    instants_of_rows,
)
from spark_backend.evaluation.contents.partitions import PartitionContents, places_in_element
from spark_backend.evaluation.contents.rows import bounds_of_last
from spark_backend.evaluation.contents.sessions import closing_sessions
from spark_backend.log.reader import LogReader, Stretch

_Place = tuple[int, int, int]
"""Time, element, and which of the element's triples: the order in which a count window counts."""
_NOWHERE: _Place = (2**62, 0, 0)


class Cut(Protocol):
    """Tells the instants at which rows are in a window. Pickles."""

    def instants_of(self, rows: pa.RecordBatch) -> pa.ListArray:
        """For each row, the instants at which it is in the window's content.

        ``rows``: those of whole elements that have triples, in the log's order (columns of STORED).
        """


@dataclass(frozen=True)
class IntervalCut:
    """Of a window that holds an interval: (instant, open, closed] of each instant."""

    bounds: tuple[InstantBounds, ...]

    def instants_of(self, rows: pa.RecordBatch) -> pa.ListArray:
        return instants_of_rows(rows, self.bounds)


@dataclass(frozen=True)
class CountCut:
    """Of a count window: the instants, and the first place of the last n at each."""

    instants: tuple[Instant, ...]
    first: tuple[_Place, ...]

    def instants_of(self, rows: pa.RecordBatch) -> pa.ListArray:
        time, seen, element = (rows[name].to_numpy() for name in ("time", "seen", "element"))
        triple = places_in_element(element)
        reached = np.zeros(len(time), np.int64)
        for at, of, which in self.first:  # ascending, so that those before the row's place come first
            later = (element > of) | ((element == of) & (triple >= which))
            reached += (time > at) | ((time == at) & later)
        instants = np.array(self.instants, np.int64)
        return instants_after(instants, np.searchsorted(instants, time, side="left"), reached, seen)


@dataclass(frozen=True)
class PartitionCut:
    """Of a partitioned window: elements and the triples of these that it ever holds, ascending, and when it does.

    ``triples_at_most`` is more than any of them has.
    """

    element: npt.NDArray[np.int64]
    triple: npt.NDArray[np.int64]
    instants: pa.ListArray
    triples_at_most: int

    def instants_of(self, rows: pa.RecordBatch) -> pa.ListArray:
        element = rows["element"].to_numpy()
        triple = np.minimum(places_in_element(element), self.triples_at_most - 1)
        known, wanted = self._ranks(self.element, self.triple), self._ranks(element, triple)
        place = np.searchsorted(known, wanted)
        found = np.append(known, -1)[place] == wanted
        # The last list is that of rows that are never held.
        never = pa.array([[]], self.instants.type)
        return pa.concat_arrays([self.instants, never]).take(pa.array(np.where(found, place, len(known))))

    def _ranks(self, element: npt.NDArray[np.int64], triple: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return element * self.triples_at_most + triple


def cut_of(reader: LogReader, window: WindowSpec, instants: Sequence[Instant]) -> tuple[list[Stretch], Cut]:
    """Where in the log the window's contents at ascending instants are, and how to tell them there."""
    if isinstance(window, SessionWindow):
        return _held(reader, *closing_sessions(reader, window, instants), instants)
    if isinstance(window, CountWindow) and window.partition is not None:
        found = PartitionContents(reader).at(window, instants)
        return _held(reader, found.rows, found.places, instants)
    if isinstance(window, CountWindow):
        return _last(reader, window, instants)
    bounds = tuple((instant, *content_bounds(window, instant)) for instant in instants)
    stretches = reader.stretches(min(after for _, after, _ in bounds), max(upto for _, _, upto in bounds))
    return stretches, IntervalCut(bounds)


def with_triples(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows without those of empty elements."""
    return rows.filter(pc.is_valid(rows["s"])) if rows["s"].null_count else rows


def _last(reader: LogReader, window: CountWindow, instants: Sequence[Instant]) -> tuple[list[Stretch], Cut]:
    after, upto = reader.last_from(window.size, instants[0], window.unit), instants[-1]
    stretches = reader.stretches(after, upto)
    # Numbers alone: a place is found without any of the terms.
    parts = [_places(with_triples(batch), after, upto) for stretch in stretches for batch in reader.rows_of(stretch)]
    places = np.concatenate(parts, axis=1) if parts else np.empty((4, 0), np.int64)
    time, seen, element, triple = places[:, np.lexsort((places[3], places[2], places[0]))]
    first = [
        (int(time[lower]), int(element[lower]), int(triple[lower])) if lower < len(time) else _NOWHERE
        for _, lower, _ in bounds_of_last(time, seen, element, window, instants)
    ]
    return stretches, CountCut(tuple(instants), tuple(first))


def _held(
    reader: LogReader, rows: pa.Table, held: Sequence[npt.NDArray[np.int64]], instants: Sequence[Instant]
) -> tuple[list[Stretch], Cut]:
    """Of contents that had to be found row by row: rows with ``triple``, and which of them each instant has."""
    time, element, triple = (rows[name].to_numpy() for name in ("time", "element", "triple"))
    order = np.lexsort((triple, element))
    found = instants_by_number(rows.num_rows, instants, held).take(pa.array(order))
    after = int(time.min()) - 1 if len(time) else instants[-1]
    # The first triple that is not held has a place of its own.
    most = int(triple.max()) + 2 if len(triple) else 1
    return reader.stretches(after, instants[-1]), PartitionCut(element[order], triple[order], found, most)


def _places(rows: pa.RecordBatch, after: Instant, upto: Instant) -> npt.NDArray[np.int64]:
    """Of the rows that may be counted at ``upto``: times, ``seen``, elements and places in the element, a row each."""
    time, seen, element = (rows[name].to_numpy() for name in ("time", "seen", "element"))
    counted = (after < time) & (time <= upto) & (seen < upto)
    return np.stack((time, seen, element, places_in_element(element)))[:, counted]
