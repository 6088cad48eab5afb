"""How many triples and elements of a stream take part at an instant: what count windows are computed from.

docs/model.md, "Watermarks" and "Windows". An element counts from its entry on, the first instant at which it takes
part: its timestamp, or the one after the watermark it met if it was late. Elements without triples do not count.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from protocol.integers import Numbers, as_array, distinct
from protocol.time import Instant, Milliseconds
from protocol.windows.runs import begin_of_run, end_of_run
from protocol.windows.spec import Unit


class Counts:
    """The elements of one stream, counted. 24 bytes for each distinct timestamp, 40 for each late element, 16 more once
    sessions are asked for.

    ``before`` is what was there before the first of them: elements that retention has taken, all long past their entry.
    Questions cost O(log² n), ``oldest`` and those about sessions also the number of late elements that they may be
    about, and those about sessions the number of elements in one.
    """

    def __init__(self) -> None:
        self.before: dict[Unit, int] = dict.fromkeys(Unit, 0)
        # Distinct timestamps of on-time elements, ascending, and how many are at or before each.
        self._times = array("q")
        self._on_time = {unit: array("q") for unit in Unit}
        # Late elements by their entries: timestamps, triples, and how many have entered with each.
        self._late_times = array("q")
        self._late_triples = array("q")
        self._late_entries = array("q")
        self._late_counts = {unit: array("q") for unit in Unit}
        # The same by their timestamps, with their entries; None where it is to be made.
        self._late_by_time: tuple[Numbers, Numbers] | None = None

    def extend(self, times: Numbers, entries: Numbers, triples: Numbers) -> None:
        """Add elements with triples, in any order: the timestamp, the entry and the number of triples of each."""
        on_time = times == entries
        if on_time.any():
            self._add_on_time(times[on_time], triples[on_time])
        if not on_time.all():
            self._add_late(times[~on_time], entries[~on_time], triples[~on_time])

    def forget(self, before: Instant) -> None:
        """Drop elements with timestamps below ``before`` that have long taken part; ``before`` counts them from now on.

        Questions about instants below ``before`` are then answered as if they had always been there.
        """
        cut, stays = bisect_left(self._times, before), bisect_left(self._late_entries, before)
        if cut:
            del self._times[:cut]
        if stays:
            del self._late_times[:stays], self._late_triples[:stays], self._late_entries[:stays]
            self._late_by_time = None
        for unit in Unit:
            for counts, gone in ((self._on_time[unit], cut), (self._late_counts[unit], stays)):
                if gone:
                    self.before[unit] += (number := counts[gone - 1])
                    counts[:] = as_array(np.asarray(counts[gone:]) - number)

    def total(self, unit: Unit) -> int:
        """How many were added and not forgotten."""
        on_time, late = self._on_time[unit], self._late_counts[unit]
        return (on_time[-1] if on_time else 0) + (late[-1] if late else 0)

    def at(self, unit: Unit, t: Instant) -> int:
        """How many take part at t, those of ``before`` included."""
        late = bisect_right(self._late_entries, t)
        return self.before[unit] + self._upto(unit, t) + (self._late_counts[unit][late - 1] if late else 0)

    def reached(self, unit: Unit, count: int) -> Instant | None:
        """The first instant at which so many take part; None if they never do, or did before anything here."""
        if count <= self.before[unit]:
            return None
        entries = (self._times, self._late_entries)
        found = [_first(instants, lambda t: self.at(unit, t) >= count) for instants in entries]
        return min((t for t in found if t is not None), default=None)

    def next_entry(self, after: Instant) -> Instant | None:
        """The smallest instant > after at which an element enters, late or not."""
        i, j = bisect_right(self._times, after), bisect_right(self._late_entries, after)
        return min([*self._times[i : i + 1], *self._late_entries[j : j + 1]], default=None)

    def previous_entry(self, upto: Instant) -> Instant | None:
        """The greatest instant ≤ upto at which an element enters, late or not."""
        i, j = bisect_right(self._times, upto), bisect_right(self._late_entries, upto)
        return max([*self._times[max(i - 1, 0) : i], *self._late_entries[max(j - 1, 0) : j]], default=None)

    def oldest(self, unit: Unit, count: int, t: Instant) -> Instant | None:
        """The timestamp of the last but ``count - 1`` of those that take part at t, of the first if there are fewer.

        None if there is none (or only some of ``before``).
        """
        entered = bisect_right(self._late_entries, t)
        late = np.asarray(self._late_times[:entered])
        on_time = self._upto(unit, t)
        floor = self._nth(unit, on_time - count + 1)
        asked = late <= t if floor is None else (late <= t) & (late > floor)
        if not asked.any():
            return floor if floor is not None or not on_time else self._times[0]
        weights = np.ones(entered, np.int64) if unit is Unit.ELEMENTS else np.asarray(self._late_triples[:entered])
        order = np.argsort(late[asked], kind="stable")
        times = late[asked][order]
        counts = np.cumsum(weights[asked][order], dtype=np.int64)
        least = min([int(times[0]), *self._times[: bool(on_time)]]) if floor is None else floor

        def enough(oldest: Instant) -> bool:
            older = times.searchsorted(oldest)
            newer = counts[-1] - (counts[older - 1] if older else 0)
            return bool(on_time - self._upto(unit, oldest - 1) + newer >= count)

        # The greatest instant from which on there are enough.
        upto = t
        while least < upto:
            middle = (least + upto + 1) // 2
            if enough(middle):
                least = middle
            else:
                upto = middle - 1
        return least

    def first_of_session(self, gap: Milliseconds, t: Instant) -> Instant | None:
        """The first timestamp of the run that ends with the newest that take part at t; None if there are none.

        No neighbours in it are more than the gap apart.
        """
        times, entries = self._late()
        late = times[entries <= t]
        upto = bisect_right(self._times, t)
        newest = max([*self._times[max(upto - 1, 0) : upto], *late[-1:].tolist()], default=None)
        return None if newest is None else begin_of_run(self._times, gap, newest, late)

    def end_of_session(self, gap: Milliseconds, t: Instant) -> Instant:
        """The last timestamp of a run that goes on from t, whenever its elements came; t if there is none."""
        times, _ = self._late()
        return end_of_run(self._times, gap, t, times[times > t])

    def filled(self, unit: Unit, count: int, after: Instant) -> Instant | None:
        """The first instant t at which so many on-time ones have timestamps in (after, t]; None while there is none."""
        return self._nth(unit, self._upto(unit, after) + count)

    def _add_late(self, times: Numbers, entries: Numbers, triples: Numbers) -> None:
        # A watermark never steps back, so they enter behind those that are there: these are not moved for each.
        i = bisect_right(self._late_entries, int(entries.min()))
        entries = np.concatenate([np.asarray(self._late_entries[i:]), entries])
        order = np.argsort(entries, kind="stable")
        self._late_entries[i:] = as_array(entries[order])
        self._late_times[i:] = as_array(np.concatenate([np.asarray(self._late_times[i:]), times])[order])
        self._late_triples[i:] = as_array(np.concatenate([np.asarray(self._late_triples[i:]), triples])[order])
        for unit, counts in self._late_counts.items():
            weights = np.ones(len(order), np.int64) if unit is Unit.ELEMENTS else np.asarray(self._late_triples[i:])
            counts[i:] = as_array(np.cumsum(weights) + (counts[i - 1] if i else 0))
        self._late_by_time = None

    def _late(self) -> tuple[Numbers, Numbers]:
        """The timestamps of late elements, ascending, and their entries."""
        if self._late_by_time is None:
            times = np.asarray(self._late_times[:])
            order = np.argsort(times, kind="stable")
            self._late_by_time = times[order], np.asarray(self._late_entries[:])[order]
        return self._late_by_time

    def _upto(self, unit: Unit, t: Instant) -> int:
        """How many on-time ones have a timestamp ≤ t."""
        i = bisect_right(self._times, t)
        return self._on_time[unit][i - 1] if i else 0

    def _nth(self, unit: Unit, number: int) -> Instant | None:
        """The timestamp of the on-time one with this number, from 1; None if there is none."""
        counts = self._on_time[unit]
        if number < 1 or not counts or number > counts[-1]:
            return None
        return self._times[bisect_left(counts, number)]

    def _add_on_time(self, times: Numbers, triples: Numbers) -> None:
        i = bisect_left(self._times, int(times.min()))
        # What is there from the first of the fresh ones on is counted again.
        there = np.asarray(self._times[i:])
        known = distinct(np.concatenate([there, times]))
        for unit, counts in self._on_time.items():
            before = counts[i - 1] if i else 0
            each = np.zeros(len(known), np.int64)
            each[known.searchsorted(there)] = np.diff(np.asarray(counts[i:]), prepend=before)
            np.add.at(each, known.searchsorted(times), 1 if unit is Unit.ELEMENTS else triples)
            counts[i:] = as_array(np.cumsum(each) + before)
        self._times[i:] = as_array(known)


def _first(instants: Sequence[Instant], holds: Callable[[Instant], bool]) -> Instant | None:
    """The first of ascending instants from which on something holds."""
    i = bisect_left(instants, True, key=holds)
    return instants[i] if i < len(instants) else None
