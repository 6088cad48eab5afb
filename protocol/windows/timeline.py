"""When a stream's elements take part: the index of one stream that windows and evaluation instants are computed from.

docs/model.md, "Watermarks": an element with timestamp t that arrives when the watermark is w takes part at the
instants e with t ≤ e and w < e, so from its **entry** max(t, w + 1) on. It is late if t ≤ w.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from protocol.integers import Numbers, as_array, distinct
from protocol.time import Instant, Milliseconds
from protocol.windows.counts import Counts
from protocol.windows.runs import begin_of_run, end_of_run
from protocol.windows.spec import CountWindow, SessionWindow, WindowSpec, offset_of

_Instants: TypeAlias = "array[int]"
END: Instant = 2**62
"""The watermark of a stream that has ended: after every instant there is."""

_COUNTED = CountWindow | SessionWindow
_INSERTIONS = 64
"""Up to so many instants are inserted one by one (a memory move each); more are merged in one pass."""


class Timeline:
    """An index, in memory, of the elements of one stream: timestamps, entries and nothing else.

    Instants are milliseconds since the epoch and fit 64 bits. Elements without triples move time and
    are never content. Kept are the distinct timestamps of on-time content, sorted (8 bytes each), and
    of late content only what can decide whether a window is empty. Every question costs O(log n).

    ``counting``: keep ``counts`` as well, which count windows and sessions need. ``offsets``: how long after their
    timestamps elements enter some windows; each costs as much again (``shifted``).

    Not synchronised: the owner sees to it that nobody asks while it extends.
    """

    def __init__(self, *, counting: bool = False, offsets: Collection[Milliseconds] = ()) -> None:
        self._counts = Counts() if counting else None
        self._shifted = {offset: Timeline() for offset in offsets if offset}
        self._on_time: _Instants = array("q")
        # Late content as a staircase: entries and timestamps both strictly growing. An element below it
        # (another entered no later with a timestamp no smaller) never decides whether a window is empty.
        self._late_entries: _Instants = array("q")
        self._late_times: _Instants = array("q")
        self._first: Instant | None = None
        self._last: Instant | None = None
        self._advanced: Instant | None = None
        self._ended = False

    @classmethod
    def of(cls, windows: Iterable[WindowSpec]) -> Timeline:
        """An empty one, that keeps what these windows ask for."""
        asking = list(windows)
        counting = any(isinstance(window, _COUNTED) for window in asking)
        return cls(counting=counting, offsets={offset_of(window) for window in asking})

    def serves(self, windows: Iterable[WindowSpec]) -> bool:
        """Whether it keeps what these windows ask for."""
        return all(
            offset_of(window) in (0, *self._shifted) and (self.counting or not isinstance(window, _COUNTED))
            for window in windows
        )

    def shifted(self, offset: Milliseconds) -> Timeline:
        """The same elements as windows see them that they enter so much later; itself for 0.

        An element that comes late by less than that is on time there. Raises ValueError for an offset it does not keep.
        """
        if offset and offset not in self._shifted:
            raise ValueError("the timeline of a stream with windows that elements enter later has to be made for them")
        return self._shifted[offset] if offset else self

    @property
    def first(self) -> Instant | None:
        """The first instant at which any element, with triples or without, takes part; None before there is one.

        That is the smallest timestamp, except that a late element takes part only after the watermark
        it met. Forgetting does not change it.
        """
        return self._first

    @property
    def last(self) -> Instant | None:
        """The first instant at which every element so far takes part. Forgetting does not change it."""
        return self._last

    @property
    def advanced(self) -> Instant | None:
        """The largest watermark before END said by ``advance``; None if there was none."""
        return self._advanced

    @property
    def ended(self) -> bool:
        """Whether ``advance`` said END: no element comes any more."""
        return self._ended

    @property
    def counts(self) -> Counts:
        """How many elements and triples take part. Raises ValueError for a timeline that does not count."""
        if self._counts is None:
            raise ValueError("the timeline of a stream with a window that counts has to be made with counting=True")
        return self._counts

    @property
    def counting(self) -> bool:
        """Whether it keeps ``counts``."""
        return self._counts is not None

    def extend(
        self, times: Sequence[Instant] | Numbers, seen: Sequence[Instant] | Numbers, triples: Sequence[int] | Numbers
    ) -> None:
        """Add elements in the order of arrival: timestamp, watermark at arrival, number of triples of each.

        For an element that arrived before there was a watermark, ``seen`` is any instant below its
        timestamp. Raises ValueError if the sequences differ in length, OverflowError for an instant
        beyond 64 bits; then nothing is added.
        """
        # Not one by one: a body may have millions, and the instants of all queries wait meanwhile.
        t, w, n = (np.asarray(one, np.int64) for one in (times, seen, triples))
        if not len(t) == len(w) == len(n):
            raise ValueError(f"elements have a timestamp, a watermark and triples each: {len(t)}, {len(w)}, {len(n)}")
        entries = np.where(t > w, t, w + 1)
        if not len(entries):
            return
        if (entries < t).any():
            raise OverflowError("an element has its entry beyond 64 bits")
        filled, on_time = n > 0, t == entries
        if self._counts is not None:
            self._counts.extend(t[filled], entries[filled], n[filled])
        self._insert_on_time(as_array(distinct(t[filled & on_time])))
        if not on_time.all():
            for entry, late in _staircase(entries[filled & ~on_time], t[filled & ~on_time]):
                self._insert_late(entry, late)
        earliest, latest = int(entries.min()), int(entries.max())
        self._first = earliest if self._first is None else min(self._first, earliest)
        self._last = latest if self._last is None else max(self._last, latest)
        for offset, timeline in self._shifted.items():
            timeline.extend(t + offset, w, n)

    def advance(self, watermark: Instant) -> None:
        """Take note of a watermark: said by the client, by the clock, or END.

        What was evaluated up to it stays evaluated when the stream ends (see ``instants``): where a clock
        moves the watermark, or facts are read, its last one is to be said before END, also where elements brought it
        about. A lower one than before changes nothing.
        """
        if watermark >= END:
            self._ended = True
        elif self._advanced is None or watermark > self._advanced:
            self._advanced = watermark

    def forget(self, before: Instant) -> None:
        """Drop what retention no longer covers: content with timestamps below ``before``.

        Questions about windows that open before ``before`` are then answered as if it had never come;
        ``counts`` go on counting it.
        """
        if self._counts is not None:
            self._counts.forget(before)
        del self._on_time[: bisect_left(self._on_time, before)]
        cut = bisect_left(self._late_times, before)
        del self._late_entries[:cut], self._late_times[:cut]
        for offset, timeline in self._shifted.items():
            timeline.forget(before + offset)

    def latest(self, upto: Instant) -> Instant | None:
        """The largest timestamp of the content that takes part at ``upto``; None if there is none."""
        i = bisect_right(self._on_time, upto)
        on_time = self._on_time[i - 1] if i else None
        if not self._late_entries:
            return on_time
        j = bisect_right(self._late_entries, upto)
        if not j:
            return on_time
        late = self._late_times[j - 1]
        return late if on_time is None else max(on_time, late)

    def non_empty(self, after: Instant, upto: Instant) -> bool:
        """Whether (after, upto] has content at the instant ``upto``."""
        latest = self.latest(upto)
        return latest is not None and latest > after

    def next_entry(self, after: Instant) -> Instant | None:
        """The smallest instant > after at which an on-time element with content enters."""
        i = bisect_right(self._on_time, after)
        return self._on_time[i] if i < len(self._on_time) else None

    def previous_entry(self, upto: Instant) -> Instant | None:
        """The greatest instant ≤ upto at which an on-time element with content enters."""
        i = bisect_right(self._on_time, upto)
        return self._on_time[i - 1] if i else None

    def end_of_run(self, gap: Milliseconds, t: Instant) -> Instant:
        """The last timestamp of the run of on-time content that goes on from t; t if there is none."""
        return end_of_run(self._on_time, gap, t)

    def begin_of_run(self, gap: Milliseconds, t: Instant) -> Instant:
        """The first timestamp of the run of on-time content that leads to t; t if there is none."""
        return begin_of_run(self._on_time, gap, t)

    def next_change(self, after: Instant) -> Instant | None:
        """The smallest instant > after at which ``latest`` may grow: late content counts from its entry."""
        on_time = self.next_entry(after)
        j = bisect_right(self._late_entries, after)
        if j == len(self._late_entries):
            return on_time
        late = self._late_entries[j]
        return late if on_time is None else min(on_time, late)

    def _insert_on_time(self, fresh: _Instants) -> None:
        """Merge sorted, distinct instants into the sorted, distinct ones that are there."""
        there = self._on_time
        if not fresh:
            return
        if not there or fresh[0] > there[-1]:
            there.extend(fresh)
        elif len(fresh) <= _INSERTIONS:
            for t in fresh:
                i = bisect_left(there, t)
                if i == len(there) or there[i] != t:
                    there.insert(i, t)
        else:
            i = bisect_left(there, fresh[0])
            there[i:] = as_array(distinct(np.concatenate([there[i:], fresh])))

    def _insert_late(self, entry: Instant, t: Instant) -> None:
        """Add a step to the staircase, unless it lies below it, and take away the steps it covers."""
        entries, times = self._late_entries, self._late_times
        i = bisect_right(entries, entry)
        if i and times[i - 1] >= t:
            return
        if i and entries[i - 1] == entry:
            i -= 1
        j = bisect_right(times, t, lo=i)
        entries[i:j] = array("q", [entry])
        times[i:j] = array("q", [t])


def _staircase(entries: Numbers, times: Numbers) -> list[tuple[Instant, Instant]]:
    """Of late elements those, as (entry, timestamp), that none which entered no later has a timestamp as great as."""
    order = np.lexsort((-times, entries))
    entries, times = entries[order], times[order]
    greatest = np.maximum.accumulate(times)
    steps = np.ones(len(times), bool)
    steps[1:] = greatest[1:] > greatest[:-1]
    return list(zip(entries[steps].tolist(), times[steps].tolist(), strict=True))
