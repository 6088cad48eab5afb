"""The log source: a stream log as Spark SQL reads it, in parallel, each part of the log where it is mapped.

A Python *batch* Data Source. A partition is some stretches of the log; its rows are those of a window's contents, each
with the instant, as often as the log has them: ``frames`` makes sets of them. The terms that a plan compares
with are an option of the source, and compared with the distinct terms of a frame before any row is written out for
Spark. It does not take Spark's own filters (``pushFilters``): in Spark 4.3 all scans of one relation share the
last scan's, so that a self-join, which is what a graph pattern is, reads other rows than it asked for.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from protocol.time import Instant
from protocol.windows.spec import WindowSpec

WINDOW_FORMAT = "stream_log"
WINDOW_ROWS = "instant bigint, s string, p string, o string, k smallint, n double, t bigint"
"""One row: a triple that is in the window at an instant, its object's facets (``n`` null for NaN), its time."""

_ROWS_OF_PARTITION = 250_000
"""A partition takes stretches until it has so many triples."""
_ROWS_OF_BATCH = 32_768


def source_options(
    root: Path,
    log: str,
    window: WindowSpec,
    instants: Sequence[Instant],
    terms: Mapping[str, Collection[str]] | None = None,
) -> dict[str, str]:
    """Options for ``spark.read.format(FORMAT)``: the log by the name of its directory, ascending instants.

    ``terms``: those that a column (s, p, o) may have, for columns of which only some terms are wanted.
    """
    from spark_backend.registry import window_to_json

    return {
        "root": str(root),
        "log": log,
        "window": json.dumps(window_to_json(window)),
        "instants": json.dumps(list(instants)),
        "terms": json.dumps({column: sorted(some) for column, some in (terms or {}).items()}),
    }


class StreamLogWindow(DataSource):
    """A window's contents at some instants, from ``source_options``."""

    @classmethod
    def name(cls) -> str:
        return WINDOW_FORMAT

    def schema(self) -> str:
        return WINDOW_ROWS

    def reader(self, schema: Any) -> StreamLogReader:
        return StreamLogReader(dict(self.options))


class LogPartition(InputPartition):
    """Some stretches of the log, and how to tell which of their rows are in the window."""

    def __init__(self, stretches: list[Any], cut: Any) -> None:
        super().__init__(None)
        self.stretches = stretches
        self.cut = cut


class StreamLogReader(DataSourceReader):
    """Plans and reads the partitions."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        from spark_backend.registry import window_from_json
        from spark_backend.spark_sql.windows.cuts import cut_of

        window = window_from_json(json.loads(self._options["window"]))
        stretches, cut = cut_of(self._log(), window, json.loads(self._options["instants"]))
        parts: list[InputPartition] = []
        part: list[Any] = []
        for stretch in stretches:
            part.append(stretch)
            if sum(one.triples for one in part) >= _ROWS_OF_PARTITION:
                parts.append(LogPartition(part, cut))
                part = []
        if part or not parts:
            parts.append(LogPartition(part, cut))
        return parts

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of WINDOW_ROWS."""
        from spark_backend.spark_sql.windows.rows import window_rows

        assert isinstance(partition, LogPartition)
        log = self._log()
        terms = json.loads(self._options["terms"])
        for stretch in partition.stretches:
            for rows in log.rows_of(stretch):
                yield from window_rows(rows, partition.cut, terms, _ROWS_OF_BATCH)

    def _log(self) -> Any:
        from spark_backend.layout import Layout
        from spark_backend.log.reader import LogReader

        return LogReader(Layout(Path(self._options["root"])).streams / self._options["log"])
