"""How far back the last triples or elements of a log reach: where the content of a count window is to be looked for."""

from __future__ import annotations

import heapq
from bisect import bisect_right

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import Unit
from spark_backend.log.reading.run import Run
from spark_backend.log.reading.runs import Runs

_MANY = 100_000


def last_from(runs: Runs, count: int, upto: Instant, unit: Unit) -> Instant:
    """An instant with the last ``count`` that take part at ``upto`` after it; BEFORE_ALL if there are fewer."""
    if unit is Unit.TRIPLES and count >= _MANY:
        return _before_last(runs, count, upto)
    newest: list[Instant] = []
    for run in sorted((run for run in runs if run.triples and run.earliest <= upto), key=_latest, reverse=True):
        if len(newest) == count and run.latest < newest[0]:
            break
        # A heap of the greatest times so far, the least of them first.
        for time in _last_times(runs.use(run), count, upto, unit):
            if len(newest) < count:
                heapq.heappush(newest, time)
            elif time > newest[0]:
                heapq.heapreplace(newest, time)
    return newest[0] - 1 if len(newest) == count else BEFORE_ALL


def _before_last(runs: Runs, count: int, upto: Instant) -> Instant:
    """An instant before the last ``count`` triples, by the runs' bounds: nothing is read to count what is much."""
    held, earliest = 0, upto
    for run in sorted((run for run in runs if run.triples), key=_latest, reverse=True):
        if not run.late and run.latest <= upto:  # all of it takes part
            held, earliest = held + run.triples, min(earliest, run.earliest)
            if held >= count:
                return earliest - 1
    return BEFORE_ALL


def _latest(run: Run) -> Instant:
    return run.latest


def _last_times(run: Run, count: int, upto: Instant, unit: Unit) -> list[Instant]:
    """The timestamps of what in a run may be among the last: of each triple, or of each element once."""
    punctual, times, late, _ = run.load()
    end = bisect_right(times, upto)
    if unit is Unit.TRIPLES:
        found = times[max(0, end - count) : end].tolist()
    else:
        found = _of_elements(punctual.slice(0, end))[-count:]
    if late is not None:
        rows = late.filter(pc.and_(pc.less_equal(late["time"], upto), pc.less(late["seen"], upto)))
        found += rows["time"].to_pylist() if unit is Unit.TRIPLES else _of_elements(rows)
    return found


def _of_elements(rows: pa.RecordBatch) -> list[Instant]:
    """The timestamp of each element; the rows of one are neighbours."""
    element = rows["element"].to_numpy()
    first = np.flatnonzero(np.diff(element, prepend=-1))
    times: list[Instant] = rows["time"].to_numpy()[first].tolist()
    return times
