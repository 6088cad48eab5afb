"""Tables of one DuckDB connection: windows' contents, instants and static triples, made once and shared.

Queries that are due at the same instants over the same window read the same table.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from protocol.errors import NotFound, Unavailable
from protocol.time import Instant
from protocol.windows.spec import WindowSpec
from spark_backend.evaluation.taking_part import instants_of_rows
from spark_backend.evaluation.window_contents import contents, rows_about
from spark_backend.log.reader import LogReader

WINDOW_COLUMNS = "s, p, o, k, nullif(n, 'NaN'::DOUBLE) AS n"
"""A triple's columns: in SQL a NaN would equal itself and exceed all numbers, so it has no number to compare."""
_MANY_INSTANTS = 4
"""From so many on, it pays to know whether any triple is in the slice twice."""
_KEPT_WINDOWS = 24
_KEPT_INSTANTS = 64
_KEPT_MEMBERS = 256


class EvaluationTables:
    """Makes and keeps tables; what was not used for longest goes first."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, streams: Path, statics: Path) -> None:
        self._connection = connection
        self._streams = streams
        self._statics = statics
        self._readers: dict[str, LogReader] = {}
        self._windows: OrderedDict[tuple[str, WindowSpec, tuple[Instant, ...]], str] = OrderedDict()
        self._instants: OrderedDict[tuple[Instant, ...], str] = OrderedDict()
        self._members: OrderedDict[str, str] = OrderedDict()
        self._static_files: dict[str, str] = {}
        self._made = 0

    def refresh(self) -> None:
        """See what has been appended to the logs since; forget logs that were deleted.

        A log that cannot be read fails the queries that read it (``reader``), not the batch of all.
        """
        for log, reader in list(self._readers.items()):
            try:
                reader.refresh()
            except (NotFound, Unavailable):
                del self._readers[log]

    def reader(self, log: str) -> LogReader:
        """The reader of a log, by the name of its directory."""
        if log not in self._readers:
            self._readers[log] = LogReader(self._streams / log)
            self._readers[log].refresh()
        return self._readers[log]

    def instants(self, instants: tuple[Instant, ...]) -> str:
        """A table of instants, one column ``instant``."""
        known = self._instants.get(instants)
        if known is not None:
            self._instants.move_to_end(instants)
            return known
        name = self._fresh("instants")
        rows = ", ".join(f"({instant})" for instant in instants)
        self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT c::BIGINT AS instant FROM (VALUES {rows}) v(c)")
        self._instants[instants] = name
        self._drop_oldest(self._instants, _KEPT_INSTANTS)
        return name

    def members(self, select: str) -> str:
        """A table of what a SELECT of constants gives: the parameters of queries that are evaluated together."""
        known = self._members.get(select)
        if known is not None:
            self._members.move_to_end(select)
            return known
        name = self._fresh("members")
        self._connection.execute(f"CREATE TEMP TABLE {name} AS {select}")
        self._members[select] = name
        self._drop_oldest(self._members, _KEPT_MEMBERS)
        return name

    def window(self, log: str, window: WindowSpec, instants: tuple[Instant, ...]) -> str:
        """A table ``instant, s, p, o, k, n`` of the window's content at each instant: a set of triples."""
        # When a window reports is no matter of its content.
        key = (log, replace(window, report=None), instants)
        known = self._windows.get(key)
        if known is not None:
            self._windows.move_to_end(key)
            return known
        content = contents(self.reader(log), window, instants)
        rows = content.rows
        name = self._fresh("window")
        if len(instants) > 1:
            rows = rows.append_column("instants", instants_of_rows(rows, content.bounds, content.key))
        self._connection.register("slice", rows)
        try:
            distinct = len(instants) >= _MANY_INSTANTS and self._distinct_triples() == rows.num_rows
            self._connection.execute(f"CREATE TEMP TABLE {name} AS {_selected(instants, distinct=distinct)}")
        finally:
            self._connection.unregister("slice")
        self._windows[key] = name
        self._drop_oldest(self._windows, _KEPT_WINDOWS)
        return name

    def _distinct_triples(self) -> int:
        """How many triples ``slice`` has, each counted once."""
        counted = self._connection.execute("SELECT count(*) FROM (SELECT 1 FROM slice GROUP BY s, p, o)").fetchone()
        return 0 if counted is None else int(counted[0])

    def rows_between(self, log: str, window: WindowSpec, instants: Sequence[Instant]) -> int:
        """How many rows the window's contents at these instants have together, about."""
        return rows_about(self.reader(log), window, instants)

    def static(self, table: str, file: str) -> None:
        """Make a static pattern's table the content of a file (columns g, s, p, o, k, n)."""
        if self._static_files.get(table) == file:
            return
        with pa.memory_map(str(self._statics / file)) as source:
            rows = pa.ipc.open_file(source).read_all()
            self._connection.register("static_rows", rows)
            try:
                self._connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT g, {WINDOW_COLUMNS} FROM static_rows"
                )
            finally:
                self._connection.unregister("static_rows")
        self._static_files[table] = file

    def _fresh(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_t{self._made}"

    def _drop_oldest(self, kept: OrderedDict[Any, str], most: int) -> None:
        while len(kept) > most:
            _, name = kept.popitem(last=False)
            self._connection.execute(f"DROP TABLE {name}")


def _selected(instants: Sequence[Instant], *, distinct: bool) -> str:
    """The SELECT of windows' contents from ``slice``, which may be known to have no triple twice (``distinct``).

    An element takes part at e only if seen < e (section 1).
    """
    # Facets are functions of the object.
    columns = "s, p, o, any_value(k) AS k, nullif(any_value(n), 'NaN'::DOUBLE) AS n"
    if len(instants) == 1:
        instant = instants[0]
        # The slice is that window: it holds what was there at the instant, and nothing else.
        return f"SELECT {instant}::BIGINT AS instant, {columns} FROM slice GROUP BY s, p, o"
    if distinct:
        return f"SELECT unnest(instants) AS instant, {WINDOW_COLUMNS} FROM slice"
    repeated = "SELECT unnest(instants) AS instant, s, p, o, k, n FROM slice"
    return f"SELECT instant, {columns} FROM ({repeated}) GROUP BY instant, s, p, o"
