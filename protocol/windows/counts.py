"""How many triples and elements of a stream take part at an instant: what count windows are computed from.

docs/model.md, "Watermarks" and "Windows". An element counts from its entry on, the first instant at which it takes
part: its timestamp, or the one after the watermark it met if it was late. Elements without triples do not count.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from protocol.time import Instant, Milliseconds
from protocol.windows.spec import Unit

CountedElement = tuple[Instant, Instant, int]
"""An element with triples: its timestamp, its entry and the number of its triples."""


class Counts:
    """The elements of one stream, counted. 24 bytes for each distinct timestamp, 32 for each late element.

    ``before`` is what was there before the first of them: elements that retention has taken, all long past their entry.
    Questions cost O(log² n), ``oldest`` also the number of late elements that it may be about.
    """

    def __init__(self) -> None:
        self.before: dict[Unit, int] = dict.fromkeys(Unit, 0)
        # Distinct timestamps of on-time elements, ascending, and how many are at or before each.
        self._times = array("q")
        self._on_time = {unit: array("q") for unit in Unit}
        # Late elements by their entries, and how many have entered with each.
        self._late: list[CountedElement] = []
        self._late_entries = array("q")
        self._late_counts = {unit: array("q") for unit in Unit}

    def extend(self, items: Iterable[CountedElement]) -> None:
        """Add elements, in any order."""
        fresh: dict[Instant, tuple[int, int]] = {}
        late = []
        for time, entry, triples in items:
            if time == entry:
                elements, others = fresh.get(time, (0, 0))
                fresh[time] = elements + 1, others + triples
            else:
                late.append((time, entry, triples))
        if fresh:
            self._add_on_time(fresh)
        if late:
            self._keep_late(sorted([*self._late, *late], key=lambda item: item[1]))

    def forget(self, before: Instant) -> None:
        """Drop elements with timestamps below ``before`` that have long taken part; ``before`` counts them from now on.

        Questions about instants below ``before`` are then answered as if they had always been there.
        """
        cut = bisect_left(self._times, before)
        gone = {unit: self._on_time[unit][cut - 1] if cut else 0 for unit in Unit}
        if cut:
            del self._times[:cut]
            for unit, number in gone.items():
                self._on_time[unit] = array("q", [count - number for count in self._on_time[unit][cut:]])
        stays = bisect_left(self._late_entries, before)
        if stays:
            for unit in Unit:
                gone[unit] += self._late_counts[unit][stays - 1]
            self._keep_late(self._late[stays:])
        for unit, number in gone.items():
            self.before[unit] += number

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
        late = [item for item in self._late[: bisect_right(self._late_entries, t)] if item[0] <= t]
        on_time = self._upto(unit, t)
        floor = self._nth(unit, on_time - count + 1)
        if floor is not None:
            late = [item for item in late if item[0] > floor]
        if not late:
            return floor if floor is not None or not on_time else self._times[0]
        late.sort()
        times = [time for time, _, _ in late]
        counts = [0, *accumulate(_weight(unit, item) for item in late)]
        least = min([times[0], *self._times[: bool(on_time)]]) if floor is None else floor

        def enough(oldest: Instant) -> bool:
            newer = counts[-1] - counts[bisect_left(times, oldest)]
            return on_time - self._upto(unit, oldest - 1) + newer >= count

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

        No neighbours in it are more than the gap apart. Costs O(late), and O(log n) for each gap of its length.
        """
        late = sorted(time for time, _, _ in self._late[: bisect_right(self._late_entries, t)] if time <= t)
        newest = max([*self._times[: bisect_right(self._times, t)][-1:], *late[-1:]], default=None)
        first = newest
        while first is not None:
            i, j = bisect_left(self._times, first - gap), bisect_left(late, first - gap)
            earlier = min([*self._times[i : i + 1], *late[j : j + 1]])
            if earlier == first:
                break
            first = earlier
        return first

    def end_of_session(self, gap: Milliseconds, t: Instant) -> Instant:
        """The last timestamp of a run that goes on from t, whenever its elements came; t if there is none."""
        late = sorted(time for time, _, _ in self._late)
        while True:
            i, j = bisect_right(self._times, t + gap), bisect_right(late, t + gap)
            later = max([t, *self._times[max(i - 1, 0) : i], *late[max(j - 1, 0) : j]])
            if later == t:
                return t
            t = later

    def filled(self, unit: Unit, count: int, after: Instant) -> Instant | None:
        """The first instant t at which so many on-time ones have timestamps in (after, t]; None while there is none."""
        return self._nth(unit, self._upto(unit, after) + count)

    def _keep_late(self, late: list[CountedElement]) -> None:
        self._late = late
        self._late_entries = array("q", [entry for _, entry, _ in late])
        self._late_counts = {unit: array("q", accumulate(_weight(unit, item) for item in late)) for unit in Unit}

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

    def _add_on_time(self, fresh: dict[Instant, tuple[int, int]]) -> None:
        i = bisect_left(self._times, min(fresh))
        before = {unit: self._on_time[unit][i - 1] if i else 0 for unit in Unit}
        places = {Unit.ELEMENTS: 0, Unit.TRIPLES: 1}
        # What is there from the first of the fresh ones on is counted again.
        held = {unit: _differences(self._on_time[unit][i:], before[unit]) for unit in Unit}
        for place, time in enumerate(self._times[i:]):
            elements, triples = fresh.get(time, (0, 0))
            fresh[time] = elements + held[Unit.ELEMENTS][place], triples + held[Unit.TRIPLES][place]
        times = sorted(fresh)
        self._times[i:] = array("q", times)
        for unit, place in places.items():
            counts = accumulate((fresh[time][place] for time in times), initial=before[unit])
            self._on_time[unit][i:] = array("q", list(counts)[1:])


def _weight(unit: Unit, item: CountedElement) -> int:
    return 1 if unit is Unit.ELEMENTS else item[2]


def _differences(counts: Sequence[int], before: int) -> list[int]:
    return [later - earlier for earlier, later in zip([before, *counts], counts, strict=False)]


def _first(instants: Sequence[Instant], holds: Callable[[Instant], bool]) -> Instant | None:
    """The first of ascending instants from which on something holds."""
    i = bisect_left(instants, True, key=holds)
    return instants[i] if i < len(instants) else None
