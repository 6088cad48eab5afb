"""The sessions of a stream, or of each of its partitions, that close at some instants (docs/model.md, "Windows").

A log is read backwards from there, as far as the sessions go: further each time than all the times before together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.spec import Partition, SessionWindow
from spark_backend.evaluation.contents.partitions import codes, in_order, keyed
from spark_backend.log.reader import LogReader

_Numbers = npt.NDArray[np.int64]


def closing_sessions(
    reader: LogReader, window: SessionWindow, instants: Sequence[Instant]
) -> tuple[pa.Table, list[_Numbers]]:
    """Rows in the columns of LOG and ``triple``, and which of them are the content at each of ascending instants.

    Raises DamagedLog where the log has lost what may be in it.
    """
    taken = BEFORE_ALL if reader.retained_from is None else reader.retained_from
    reach = 2 * window.gap
    while True:
        after = max(instants[0] - reach, taken)
        rows = in_order(keyed(reader.scan(after, instants[-1]), window.partition or Partition()))
        time, seen = (rows[name].to_numpy() for name in ("time", "seen"))
        held = _closing(codes(rows["key"]), time, seen, window.gap, instants)
        first = min((int(time[numbers].min()) for numbers in held if len(numbers)), default=None)
        # Whole, if there is a gap before the first: nothing that is not here can be in one of them.
        if first is None or first - window.gap > after or after == taken or not reader.reaches_to(after):
            return rows.drop_columns(["key"]), held
        reach *= 2


def _closing(
    code: _Numbers, time: _Numbers, seen: _Numbers, gap: Milliseconds, instants: Sequence[Instant]
) -> list[_Numbers]:
    """The numbers of the rows of the sessions that close at each instant, of rows by key and time."""
    if (seen >= time).any():
        # What came late may have made a session longer, or two one: at each instant it is another matter.
        return [_closing_at(code, time, seen, gap, instant) for instant in instants]
    closes = _ends(code, time, gap) + gap
    at = np.array(instants, np.int64)
    place = np.searchsorted(at, closes)
    # Any number may be an instant: what closes after the last of these is told by its place.
    within = np.flatnonzero(place < len(at))
    chosen = within[at[place[within]] == closes[within]]
    chosen = chosen[np.argsort(place[chosen], kind="stable")]
    return np.split(chosen, np.searchsorted(place[chosen], np.arange(1, len(at))))


def _closing_at(code: _Numbers, time: _Numbers, seen: _Numbers, gap: Milliseconds, t: Instant) -> _Numbers:
    there = np.flatnonzero((time <= t) & (seen < t))
    closing: _Numbers = there[_ends(code[there], time[there], gap) + gap == t]
    return closing


def _ends(code: _Numbers, time: _Numbers, gap: Milliseconds) -> _Numbers:
    """The last timestamp of each row's session, of rows by key and time."""
    begins = np.ones(len(time), np.bool_)
    begins[1:] = (np.diff(code) != 0) | (np.diff(time) > gap)
    first = np.flatnonzero(begins)
    after = np.append(first, len(time))
    ends: _Numbers = np.repeat(time[after[1:] - 1], np.diff(after))
    return ends
