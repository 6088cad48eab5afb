"""Statistics of streams: how often predicates occur in some of the triples in the last segments of their logs."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from protocol.errors import NotFound, Unavailable
from spark_backend.compiler.statistics import Occurrences, Statistics
from spark_backend.log.reader import LogReader

_TRIPLES, _FRAMES = 4096, 64
"""So many are looked at: some milliseconds."""
_KEPT = 256


class StreamStatistics:
    """Counts when it is asked, and again once a log has twice the elements. Thread-safe."""

    def __init__(self, streams: Path) -> None:
        self._streams = streams
        self._known: dict[str, tuple[int, pa.Table]] = {}
        self._counting = threading.Lock()

    def of(self, logs: Iterable[str]) -> Statistics | None:
        """Of some logs together, by the names of their directories; None if nothing is in them."""
        with self._counting:
            counted = pa.concat_tables([self._counted(log) for log in dict.fromkeys(logs)] or [_NOTHING])
        found: dict[str, Occurrences] = {}
        for predicate, *counts in zip(*(column.to_pylist() for column in counted.columns), strict=True):
            before = found.get(predicate, Occurrences(0, 0, 0))
            triples, subjects, objects = counts
            found[predicate] = Occurrences(
                before.triples + triples, before.subjects + subjects, before.objects + objects
            )
        total = sum(one.triples for one in found.values())
        return Statistics(total, found) if total else None

    def _counted(self, log: str) -> pa.Table:
        elements, counted = self._known.get(log, (0, _NOTHING))
        try:
            reader = LogReader(self._streams / log)
        except (NotFound, Unavailable):
            return _NOTHING
        try:
            if reader.elements >= 2 * elements and reader.elements:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                counted = _counts(reader.sample(_TRIPLES, _FRAMES))
                self._known[log] = reader.elements, counted
        finally:
            reader.close()
        return counted


_SCHEMA = pa.schema([("p", pa.string()), ("triples", pa.int64()), ("subjects", pa.int64()), ("objects", pa.int64())])
_NOTHING = _SCHEMA.empty_table()


def _counts(rows: pa.Table) -> pa.Table:
    grouped = rows.group_by("p").aggregate([("s", "count"), ("s", "count_distinct"), ("o", "count_distinct")])
    columns = [grouped[name] for name in ("p", "s_count", "s_count_distinct", "o_count_distinct")]
    return pa.Table.from_arrays(columns, names=_SCHEMA.names).cast(_SCHEMA)
