"""The last triples or elements of each partition of a stream (docs/model.md, "Partitioned windows").

What took part at an instant and is among the last of its key at a later one was among them at the first. So contents
are found from those at an earlier instant and what has entered since: a log is read once, and in portions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import CountWindow, Partition, TriplePart, Unit
from spark_backend.log.format.columns import LOG
from spark_backend.log.reader import LogReader

_PORTION = 500_000
"""Triples that are read at once, about."""
_KEPT = 16
_KEPT_ROWS = 2_000_000
"""Contents with more rows are not kept to go on from."""

_COLUMNS = {TriplePart.SUBJECT: "s", TriplePart.PREDICATE: "p", TriplePart.OBJECT: "o"}
_NO_TEXT = pa.scalar("")
_KEYED = pa.schema(
    [*LOG, pa.field("triple", pa.int64()), pa.field("key", pa.string()), pa.field("matches", pa.bool_())]
)
"""``triple``: which of its element's triples a row is, from 0. ``key`` tells partitions apart, and says no more.
``matches``: whether the element's message does what the window's WHERE asks, true without one."""

Matching: TypeAlias = Callable[[pa.Table], npt.NDArray[np.int64]]
"""Of rows of whole elements (columns of LOG), the elements whose messages match what a window's WHERE asks."""


class Held(NamedTuple):
    """Rows in the columns of LOG and ``triple``, and the places of those that are the content at each instant.

    ``changed``: the instants at which an element has entered or left the content of a window with WHERE.
    """

    rows: pa.Table
    places: list[npt.NDArray[np.int64]]
    changed: frozenset[Instant]


class PartitionContents:
    """The contents of partitioned windows over one log. Keeps some to go on from, which may be lost at any time."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._kept: OrderedDict[tuple[CountWindow, Instant], pa.Table] = OrderedDict()

    def at(self, window: CountWindow, instants: Sequence[Instant], matching: Matching | None = None) -> Held:
        """The contents at ascending instants. ``matching`` is needed for a window with WHERE.

        Raises DamagedLog where the log has lost what may be in it.
        """
        assert (matching is None) == (window.where is None)
        window = replace(window, step=1, origin=None, report=None)
        if matching is None:
            return self._at(window, instants, None)
        # What is there at an instant and was not a moment before has entered; times are whole milliseconds.
        moments = sorted({moment for instant in instants for moment in (instant - 1, instant)})
        rows, places, _ = self._at(window, moments, matching)
        matches = rows["matches"].to_numpy()
        held = {moment: found[matches[found]] for moment, found in zip(moments, places, strict=True)}
        changed = [instant for instant in instants if not np.array_equal(held[instant - 1], held[instant])]
        return Held(rows, [held[instant] for instant in instants], frozenset(changed))

    def _at(self, window: CountWindow, instants: Sequence[Instant], matching: Matching | None) -> Held:
        """The last of each partition, whatever WHERE asks."""
        rows = self._candidates(window, instants, matching)
        held = [_last(rows, window, instant) for instant in instants]
        if len(held[-1]) <= _KEPT_ROWS:
            self._kept[window, instants[-1]] = rows.take(pa.array(held[-1]))
            self._kept.move_to_end((window, instants[-1]))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return Held(rows, held, frozenset())

    def about(self, window: CountWindow, instants: Sequence[Instant]) -> int:
        """How many rows the contents have together, about: as many as there are to choose from."""
        window = replace(window, step=1, origin=None, report=None)
        before = self._before(window, instants[0])
        known = 0 if before is None else self._kept[window, before].num_rows
        entered = self._reader.triples_about(BEFORE_ALL if before is None else before, instants[-1])
        return (known + entered) * len(instants)

    def _candidates(self, window: CountWindow, instants: Sequence[Instant], matching: Matching | None) -> pa.Table:
        """What may be in the contents, by key, time and the log's order."""
        assert window.partition is not None
        before = self._before(window, instants[0])
        rows = _KEYED.empty_table() if before is None else self._present(self._kept[window, before])
        before = BEFORE_ALL if before is None else before
        for after, upto in self._portions(before, instants[0]):
            rows = self._with_entered(rows, window.partition, after, upto, matching)
            rows = rows.take(pa.array(_last(rows, window, upto)))
        return self._with_entered(rows, window.partition, instants[0], instants[-1], matching)

    def _present(self, rows: pa.Table) -> pa.Table:
        """The rows that retention leaves: it takes whole segments, and what these leave of the rest is as gone."""
        taken = self._reader.retained_from
        return rows if taken is None else rows.filter(pc.greater(rows["time"], taken))

    def _before(self, window: CountWindow, instant: Instant) -> Instant | None:
        """The latest instant up to this one at which the content is known."""
        return max((at for known, at in self._kept if known == window and at <= instant), default=None)

    def _portions(self, after: Instant, upto: Instant) -> Iterator[tuple[Instant, Instant]]:
        """(after, upto] in parts, ascending, none of which has too many triples."""
        if after >= upto:
            return
        if self._reader.triples_about(after, upto) <= _PORTION or upto - after == 1:
            yield after, upto
            return
        middle = (after + upto) // 2
        yield from self._portions(after, middle)
        yield from self._portions(middle, upto)

    def _with_entered(
        self, rows: pa.Table, partition: Partition, after: Instant, upto: Instant, matching: Matching | None
    ) -> pa.Table:
        entered = self._present(self._reader.entered(after, upto))
        if not entered.num_rows:
            return rows
        return in_order(pa.concat_tables([rows, keyed(entered, partition, matching)]).combine_chunks())


def _last(rows: pa.Table, window: CountWindow, t: Instant) -> npt.NDArray[np.int64]:
    """The places of the rows that are the content at t, of rows in order that have all that may be."""
    time, seen, element = (rows[name].to_numpy() for name in ("time", "seen", "element"))
    code = codes(rows["key"])
    there = np.flatnonzero((time <= t) & (seen < t))
    code, element = code[there], element[there]
    first = np.ones(len(there), np.bool_)
    if window.unit is Unit.ELEMENTS:
        first[1:] = (code[1:] != code[:-1]) | (element[1:] != element[:-1])
    # Of what is counted: its key, and the place of the last that has this key.
    keys = code[first]
    last = np.flatnonzero(np.diff(keys, append=-1))
    last_of_key = np.repeat(last, np.diff(last, prepend=-1))
    among_last = last_of_key - np.arange(len(keys)) < window.size
    held: npt.NDArray[np.int64] = there[among_last[np.cumsum(first) - 1]]
    return held


def in_order(rows: pa.Table) -> pa.Table:
    """The rows by key, and in it by time, then the log's order."""
    time, element, triple = (rows[name].to_numpy() for name in ("time", "element", "triple"))
    return rows.take(pa.array(np.lexsort((triple, element, time, codes(rows["key"])))))


def codes(keys: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A number for each key."""
    encoded = pc.dictionary_encode(keys.combine_chunks())
    codes: npt.NDArray[np.int64] = encoded.indices.to_numpy().astype(np.int64)
    return codes


def keyed(rows: pa.Table, partition: Partition, matching: Matching | None = None) -> pa.Table:
    """Rows of whole elements (columns of LOG), those of an element neighbours, in the columns of ``_KEYED``.

    Without parts and properties all have one key.
    """
    element = rows["element"].to_numpy()
    triple = places_in_element(element)
    columns = [rows[_COLUMNS[part]].combine_chunks() for part in partition.parts]
    columns += [_values(rows, element, iri) for iri in partition.properties]
    columns = columns or [pa.repeat(_NO_TEXT, len(element))]
    # No term has a line break in it.
    key = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, "\n")
    matches = np.ones(len(element), np.bool_) if matching is None else np.isin(element, matching(rows))
    more = (pa.array(triple), key, pa.array(matches))
    return pa.Table.from_arrays([*rows.columns, *more], schema=_KEYED)


def places_in_element(element: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of rows whose elements are neighbours, which of its element's rows each is, from 0."""
    first = np.flatnonzero(np.diff(element, prepend=-1))
    return np.arange(len(element)) - np.repeat(first, np.diff(first, append=len(element)))


def _values(rows: pa.Table, element: npt.NDArray[np.int64], iri: str) -> pa.StringArray:
    """Of each row, the set of values that its message has for a property, as one text."""
    found = rows.filter(pc.equal(rows["p"], f"<{iri}>")).select(["element", "o"]).combine_chunks()
    found = found.group_by(["element", "o"]).aggregate([])
    found = found.sort_by([("element", "ascending"), ("o", "ascending")])
    elements, counts = np.unique(found["element"].to_numpy(), return_counts=True)
    ends = pa.array(np.cumsum([0, *counts]), pa.int32())
    # A tab separates them, which no term has in it.
    texts = pc.binary_join(pa.ListArray.from_arrays(ends, found["o"].combine_chunks()), "\t")
    place = np.searchsorted(elements, element)
    place[place == len(elements)] = 0
    known = elements[place] == element if len(elements) else np.zeros(len(element), np.bool_)
    return pc.fill_null(texts.take(pa.array(place, mask=~known)), _NO_TEXT)
