"""The occurrences of a stream's triples as a table: each triple at each time at which it was sent.

docs/model.md, "Event patterns". A window's content is a set, in which a triple that was sent twice is there once; what
happened before what is asked of occurrences. The table grows with the log, and is made again where it is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from protocol.time import BEFORE_ALL, Instant
from spark_backend.evaluation.contents.membership import InstantBounds
from spark_backend.evaluation.database import rows_as
from spark_backend.log.format.columns import LATEST, LOG
from spark_backend.log.reader import LogReader

_READ_AT_ONCE = 16 * 1024 * 1024
"""Bytes of a log that are read and added at once."""
_FEWEST = 10_000
"""Rows that are added before it is looked whether older ones are read no more."""


class Occurrences:
    """A table ``s, p, o, k, n, time, entry`` of the occurrences in a log after some instant: distinct (s, p, o, time).

    ``entry`` is the first instant at which an occurrence takes part: the least max(time, seen + 1) of its elements. The
    table is the same for all instants; a statement compares ``entry`` and ``time`` with its own. As all of a process'
    readers, it is as new as the last ``LogReader.refresh``.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, reader: LogReader, after: Instant) -> None:
        self.table = table
        self.after = after
        """All occurrences with a later time are there, but for those that retention may have taken since."""
        self.rows = 0
        self._connection = connection
        self._reader = reader
        self._latest = BEFORE_ALL
        self._added = 0
        self._asked: Instant | None = None
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} "
            "(s VARCHAR, p VARCHAR, o VARCHAR, k UTINYINT, n DOUBLE, time BIGINT, entry BIGINT)"
        )
        self._position = reader.end
        self._add(reader.scan(after, LATEST))

    def extend(self, after: Instant) -> None:
        """Add what has been appended since. ``after``: what is asked for has later times."""
        self._asked = after if self._asked is None else min(after, self._asked)
        while self._position[:2] != self._reader.end[:2]:
            read, self._position = self._reader.read_after(self._position, _READ_AT_ONCE)
            # What is damaged is told of where it is asked for (``LogReader.require_whole``).
            batches = [one.cast(LOG) for one in read if isinstance(one, pa.RecordBatch)]
            self._add(pa.Table.from_batches(batches, LOG))
        if self._added > max(_FEWEST, self.rows // 2):
            self._forget(self._asked)
            self._added, self._asked = 0, None

    def drop(self) -> None:
        """Drop the table."""
        self._connection.execute(f"DROP TABLE {self.table}")

    def _add(self, rows: pa.Table) -> None:
        """Add the occurrences of some rows (columns of LOG) that have come after all that are there."""
        with rows_as(self._connection, appended=rows):
            # Watermarks never go back: who has sent it first has the least entry.
            known = f"ANTI JOIN (SELECT * FROM {self.table} WHERE time >= oldest) t USING (s, p, o, time)"
            ((oldest, latest),) = self._connection.execute(
                f"SELECT min(time), max(time) FROM appended WHERE s IS NOT NULL AND time > {self.after}"
            ).fetchall()
            if oldest is None:
                return
            ((count,),) = self._connection.execute(
                f"INSERT INTO {self.table} SELECT s, p, o, k, n, time, entry FROM ("
                "SELECT s, p, o, any_value(k) AS k, nullif(any_value(n), 'NaN'::DOUBLE) AS n, time, "
                "min(greatest(time, seen + 1)) AS entry FROM appended "
                f"WHERE s IS NOT NULL AND time > {self.after} GROUP BY s, p, o, time) "
                + (known.replace("oldest", str(oldest)) if oldest <= self._latest else "")
                + " ORDER BY entry, time"
            ).fetchall()
        self._latest = max(self._latest, latest)
        self.rows += count
        self._added += count

    def _forget(self, after: Instant) -> None:
        """Go on without what nobody has asked for lately."""
        if after <= self.after:
            return
        ((self.rows,),) = self._connection.execute(
            f"CREATE TEMP TABLE {self.table}_kept AS SELECT * FROM {self.table} WHERE time > {after}"
        ).fetchall()
        self.drop()
        self._connection.execute(f"ALTER TABLE {self.table}_kept RENAME TO {self.table}")
        self.after = after


def occurrences_at(table: str, bounds: Sequence[InstantBounds], before: Sequence[Instant]) -> str:
    """A SELECT ``instant, s, p, o, k, n, t, entry, before`` of the occurrences in a window at some instants.

    ``t`` is the time. ``bounds``: each instant, and (after, upto] of the window there. ``before``: what was evaluated
    before each.
    """
    if len(bounds) == 1:
        ((instant, after, upto),), (previous,) = bounds, before
        return (
            f"(SELECT {instant}::BIGINT AS instant, s, p, o, k, n, time AS t, entry, {previous}::BIGINT AS before "
            f"FROM {table} WHERE entry <= {instant} AND time > {after} AND time <= {upto})"
        )
    listed = ", ".join(
        f"({instant}::BIGINT, {after}::BIGINT, {upto}::BIGINT, {previous}::BIGINT)"
        for (instant, after, upto), previous in zip(bounds, before, strict=True)
    )
    return (
        "(SELECT i.instant, x.s, x.p, x.o, x.k, x.n, x.time AS t, x.entry, i.before "
        f"FROM (VALUES {listed}) i(instant, earlier, upto, before) "
        f"JOIN {table} x ON x.entry <= i.instant AND x.time > i.earlier AND x.time <= i.upto)"
    )
