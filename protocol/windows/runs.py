"""Runs of timestamps: no neighbours in one are more than a gap apart, as in a session.

``times`` are in ascending order, and ``late`` others that belong among them, too. A run costs O(its length, and how
many are late), for many timestamps at once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

import numpy as np

from protocol.integers import Numbers, distinct
from protocol.time import Instant, Milliseconds

_SOME = 1024
"""So many timestamps are looked through at first for where a run begins or ends, then four times as many."""
_NONE: Numbers = np.array([], np.int64)


def begin_of_run(times: array[int], gap: Milliseconds, t: Instant, late: Numbers = _NONE) -> Instant:
    """The first timestamp of the run that leads to t; t if there is none. ``late`` are before t."""
    end, some = bisect_left(times, t), _SOME
    while True:
        begin = max(end - some, 0)
        beside = late[late >= times[begin]] if begin else late
        known = distinct(np.concatenate([times[begin:end], beside, [t]]))
        found = np.flatnonzero(np.diff(known) > gap)
        if len(found) or not begin:
            return int(known[found[-1] + 1 if len(found) else 0])
        some *= 4


def end_of_run(times: array[int], gap: Milliseconds, t: Instant, late: Numbers = _NONE) -> Instant:
    """The last timestamp of the run that goes on from t; t if there is none. ``late`` are behind t."""
    begin, some = bisect_right(times, t), _SOME
    while True:
        part = times[begin : begin + some]
        whole = begin + some >= len(times)
        beside = late if whole else late[late <= part[-1]]
        known = distinct(np.concatenate([[t], part, beside]))
        found = np.flatnonzero(np.diff(known) > gap)
        if len(found) or whole:
            return int(known[found[0] if len(found) else -1])
        some *= 4
