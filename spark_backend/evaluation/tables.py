"""Tables of one DuckDB connection: windows' contents, instants and static triples, made once and shared.

Queries that are due at the same instants over the same window read the same table.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from protocol.errors import NotFound, Unavailable
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.instances import content_bounds
from protocol.windows.spec import CountWindow, FactsWindow, SessionWindow, TimeWindow, WindowSpec
from protocol.windows.timeline import END
from spark_backend.compiler.facts import OCCURRENCES
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.evaluation.contents.histories import changes, known_at, of_one_history
from spark_backend.evaluation.contents.large import LARGE, without_repetitions
from spark_backend.evaluation.contents.occurrences import Occurrences, occurrences_at
from spark_backend.evaluation.contents.partitions import PartitionContents
from spark_backend.evaluation.contents.rows import contents, rows_about
from spark_backend.evaluation.database import found_within, rows_as
from spark_backend.evaluation.interval_tables import IntervalTables
from spark_backend.evaluation.kept_tables import KeptTables
from spark_backend.evaluation.statement import GivenNarrowing, statement
from spark_backend.ingest.terms.facets import facet_columns
from spark_backend.log.reader import DamagedLog, LogReader

WINDOW_COLUMNS = "s, p, o, k, nullif(n, 'NaN'::DOUBLE) AS n"
"""A triple's columns: in SQL a NaN would equal itself and exceed all numbers, so it has no number to compare."""
_MANY_INSTANTS = 4
"""From so many on, it pays to know whether any triple is in the slice twice."""
_KEPT_WINDOWS = 24
_KEPT_ROWS = 4_000_000
"""Of windows' contents: beyond it, only those of the evaluation at hand are kept."""
_KEPT_INSTANTS = 64
_KEPT_MEMBERS = 256
_KEPT_STATIC_JOINS = 256
_MOST_JOINED, _MOST_JOINED_OF_EACH = 100_000, 4
"""A join of static tables is a table of its own up to so many rows, or so many times the rows that it reads."""
_SECONDS_OF_JOIN, _ROWS_A_SECOND, _CHARACTERS_A_SECOND = 0.5, 100_000, 200_000
"""It may take so long, and longer where it reads many rows or is a long text itself, of inline data."""
_KEPT_OCCURRENCES = 8
"""Logs whose occurrences are kept."""
_KEPT_LAST_CHANGES = 256


class EvaluationTables:
    """Makes and keeps tables; but for static patterns, what was not used for longest goes first (``make_room``).

    ``seconds``: what an evaluation may take.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, streams: Path, statics: Path, seconds: float = math.inf
    ) -> None:
        self._connection = connection
        self._intervals = IntervalTables(connection, seconds)
        self._streams = streams
        self._statics = statics
        self._readers: dict[str, LogReader] = {}
        self._partitions: dict[str, PartitionContents] = {}
        self._windows = KeptTables[tuple[str, WindowSpec, tuple[Instant, ...], bool]](_KEPT_WINDOWS, self._drop)
        self._facts = KeptTables[tuple[str, str, tuple[Instant, ...]]](_KEPT_WINDOWS, self._drop)
        self._instants = KeptTables[tuple[Instant, ...]](_KEPT_INSTANTS, self._drop)
        self._members = KeptTables[str](_KEPT_MEMBERS, self._drop)
        self._static_files: dict[str, str] = {}
        self._static_rows: dict[str, int] = {}
        self._static_joins = KeptTables[tuple[str, tuple[tuple[str, str], ...]]](_KEPT_STATIC_JOINS, self._drop)
        self._large_joins: dict[str, tuple[tuple[str, str], ...]] = {}
        self._joined_rows: dict[str, int] = {}
        self._occurrences: OrderedDict[str, Occurrences] = OrderedDict()
        self._sizes: dict[str, dict[Instant, int]] = {}
        self._changes: dict[str, frozenset[Instant]] = {}
        self._last_changes: OrderedDict[tuple[str, str], Instant] = OrderedDict()
        self._views: set[str] = set()
        self._made = 0

    def refresh(self) -> None:
        """See what has been appended to the logs since; forget logs, and files of static patterns, that were deleted.

        A log that cannot be read fails the queries that read it (``reader``), not the batch of all.
        """
        for log, reader in list(self._readers.items()):
            try:
                reader.refresh()
            except (NotFound, Unavailable):
                del self._readers[log], self._partitions[log]
                self._intervals.forget_log(log)
                if log in self._occurrences:
                    self._occurrences.pop(log).drop()
        if self._static_files:
            self._forget_statics(set(os.listdir(self._statics)))

    def _forget_statics(self, there: Set[str]) -> None:
        """Drop the tables of files that are not ``there`` any more: no query reads them."""
        gone = {table: file for table, file in self._static_files.items() if file not in there}
        if not gone:
            return
        for table in gone:
            self._connection.execute(f"DROP TABLE {table}")
            del self._static_files[table], self._static_rows[table]
        self._static_joins.drop_where(lambda key: any(table in gone for table, _ in key[1]))
        for select, read in list(self._large_joins.items()):
            if any(table in gone for table, _ in read):
                del self._large_joins[select], self._joined_rows[f"({select})"]

    @property
    def lasting_rows(self) -> int:
        """How many rows the tables of static patterns, occurrences and intervals have: what takes long to make."""
        occurrences = sum(known.rows for known in self._occurrences.values())
        return sum(self._static_rows.values()) + occurrences + self._intervals.rows

    def move_to(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make tables in another database from now on, all of them anew; what was read of the logs stays."""
        self._connection = connection
        self._intervals.move_to(connection)
        for kept in (self._windows, self._facts, self._instants, self._members, self._static_joins):
            kept.forget()
        self._static_files.clear()
        self._static_rows.clear()
        self._large_joins.clear()
        self._joined_rows.clear()
        self._occurrences.clear()
        self._sizes.clear()
        self._changes.clear()
        self._views.clear()

    def reader(self, log: str) -> LogReader:
        """The reader of a log, by the name of its directory."""
        if log not in self._readers:
            self._readers[log] = LogReader(self._streams / log)
            self._readers[log].refresh()
            self._partitions[log] = PartitionContents(self._readers[log])
        return self._readers[log]

    def instants(self, instants: tuple[Instant, ...]) -> str:
        """A table of instants, one column ``instant``."""
        known = self._instants.get(instants)
        if known is not None:
            return known
        name = self._fresh("instants")
        rows = ", ".join(f"({instant})" for instant in instants)
        self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT c::BIGINT AS instant FROM (VALUES {rows}) v(c)")
        self._instants.keep(instants, name)
        return name

    def members(self, select: str) -> str:
        """A table of what a SELECT of constants gives: the parameters of queries that are evaluated together."""
        known = self._members.get(select)
        if known is not None:
            return known
        name = self._fresh("members")
        self._connection.execute(f"CREATE TEMP TABLE {name} AS {select}")
        self._members.keep(select, name)
        return name

    def window(
        self,
        log: str,
        window: WindowSpec,
        instants: tuple[Instant, ...],
        *,
        timed: bool = False,
        condition: Plan | None = None,
    ) -> str:
        """A table ``instant, s, p, o, k, n`` of the window's content at each instant: a set of triples.

        If ``timed``, with the column ``t``: the latest timestamp of each triple there, in milliseconds. ``condition``:
        the plan of the window's WHERE (``compile_condition``).
        """
        # When a window reports is no matter of its content.
        key = (log, replace(window, report=None), instants, timed)
        known = self._windows.get(key)
        if known is not None:
            return known
        matching = None if condition is None else partial(self._matching, condition)
        content = contents(self.reader(log), window, instants, self._partitions[log], matching)
        rows = content.rows
        name = self._fresh("window")
        self._changes[name] = content.changed
        if len(instants) == 1 and rows.num_rows >= LARGE and self._make_view(name, rows, instants[0], timed=timed):
            self._windows.keep(key, name)
            return name
        if content.instants is not None:
            rows = rows.append_column("instants", content.instants)
        with rows_as(self._connection, slice=rows):
            distinct = len(instants) >= _MANY_INSTANTS and self._distinct_triples() == rows.num_rows
            made = self._connection.execute(
                f"CREATE TEMP TABLE {name} AS {_select(instants, distinct=distinct, timed=timed)}"
            ).fetchall()
        # To make a table tells how many rows it has: for one instant there is nothing more to ask.
        sizes = [(instants[0], *made[0])] if len(instants) == 1 else self._count(name)
        self._sizes[name] = {int(instant): int(size) for instant, size in sizes}
        self._windows.keep(key, name)
        return name

    def intervals(
        self,
        log: str,
        window: WindowSpec,
        part: IntervalPart,
        narrowing: frozenset[GivenNarrowing],
        instants: tuple[Instant, ...],
        shape: str,
        statics: Mapping[str, str],
    ) -> str | None:
        """A SELECT of a part's solutions at each instant, of those at least that ``narrowing`` leaves.

        ``shape``: that of the queries that ask for them. ``statics``: the files of static tables, which are there
        (``static``). None where the window's content is to be read for them.
        """
        assert isinstance(window, TimeWindow), "of no others it is a part"
        return self._intervals.at(log, self.reader(log), window, part, narrowing, instants, shape, statics)

    def occurrences(
        self, log: str, window: WindowSpec, instants: tuple[Instant, ...], before: Sequence[Instant | None] = ()
    ) -> str:
        """A SELECT ``instant, s, p, o, k, n, t, entry, before`` of the occurrences in the window at each instant.

        ``before``: the instants that were evaluated before these, None for none. Raises DamagedLog where some
        occurrences are lost.
        """
        assert not isinstance(window, CountWindow | SessionWindow), "refused by the grammar"
        reader = self.reader(log)
        # What retention has begun to take is gone, whether or not it is still in a file, or in a table here.
        held = BEFORE_ALL if reader.retained_from is None else reader.retained_from
        bounds = [
            (t, max(after, held), upto) for t, (after, upto) in ((t, content_bounds(window, t)) for t in instants)
        ]
        after = min(earlier for _, earlier, _ in bounds)
        reader.require_whole(after, instants[-1])
        known = self._occurrences.get(log)
        if known is None or known.after > after:
            table = self._fresh("occurrences") if known is None else known.table
            known = self._occurrences[log] = Occurrences(self._connection, table, reader, after)
        self._occurrences.move_to_end(log)
        known.extend(after)
        previous = [BEFORE_ALL if t is None else t for t in before or [None] * len(instants)]
        return occurrences_at(known.table, bounds, previous)

    def new_occurrences(self, select: str) -> str:
        """A table of those of ``occurrences`` that did not take part at the instant before, until the next is made."""
        # A table, however small: so it is known how small it is, and what joins it begins there.
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE new_occurrences AS SELECT * FROM {select} x WHERE entry > before"
        )
        return "new_occurrences"

    def facts(self, log: str, window: FactsWindow, sql: str, instants: tuple[Instant, ...]) -> str:
        """A table ``instant, s, p, o, k, n, t`` of the facts that hold at each instant; ``t``: when each began.

        ``sql`` gives their periods (``compiler.facts``).
        """
        key = (log, sql, instants)
        known = self._facts.get(key)
        if known is not None:
            return known
        name = self._fresh("facts")
        self._changes[name] = frozenset()
        rows = contents(self.reader(log), window, instants).rows
        columns = "instant BIGINT, s VARCHAR, p VARCHAR, o VARCHAR, k UTINYINT, n DOUBLE, t BIGINT"
        self._connection.execute(f"CREATE TEMP TABLE {name} ({columns})")
        for together in of_one_history(rows, instants):
            periods = self._periods(known_at(rows, together[-1]), sql, together)
            self._changes[name] |= changes(periods, together)
            with rows_as(self._connection, periods=periods):
                self._connection.execute(
                    f"INSERT INTO {name} SELECT i.instant, {WINDOW_COLUMNS}, begins FROM {self.instants(together)} i "
                    "JOIN periods ON begins <= i.instant AND i.instant < ends"
                )
        self._sizes[name] = {int(instant): int(size) for instant, size in self._count(name)}
        self._facts.keep(key, name)
        return name

    def _periods(self, rows: pa.Table, sql: str, instants: Sequence[Instant]) -> pa.Table:
        """The periods of facts that one of the instants is in, or ends, with the facets of objects."""
        found = self._of_periods(
            rows, f"SELECT * FROM ({sql}) f WHERE begins <= {instants[-1]} AND ends >= {instants[0]}"
        )
        k, n = facet_columns(found["o"].combine_chunks())
        return found.append_column("k", k).append_column("n", n)

    def last_change(self, log: str, window: FactsWindow, sql: str) -> Instant:
        """The last instant at which one of the facts begins or ends: BEFORE_ALL where none ever has, END while one may.

        END also where a part of the log is damaged: the evaluations that read it say so. ``sql`` as in ``facts``.
        """
        reader = self.reader(log)
        if not reader.ended:
            return END
        known = self._last_changes.get((log, sql))
        if known is None:
            try:
                rows = contents(reader, window, (END - 1,)).rows
            except DamagedLog:
                return END
            ended = f"CASE WHEN ends < {END} THEN ends END"
            found = self._of_periods(rows, f"SELECT max(greatest(begins, {ended})) AS last FROM ({sql}) f")
            (last,) = found["last"].to_pylist()
            known = self._last_changes[log, sql] = BEFORE_ALL if last is None else last
            if len(self._last_changes) > _KEPT_LAST_CHANGES:
                self._last_changes.popitem(last=False)
        return known

    def _of_periods(self, rows: pa.Table, select: str) -> pa.Table:
        """What a SELECT from the periods of facts gives, of these rows' occurrences."""
        with rows_as(self._connection, occurrence_rows=rows):
            occurrences = f"WITH {OCCURRENCES} AS (SELECT {WINDOW_COLUMNS}, time FROM occurrence_rows)"
            return self._connection.sql(f"{occurrences} {select}").to_arrow_table()

    def changes(self, name: str) -> frozenset[Instant]:
        """The instants at which facts in a table begin or end, or elements enter or leave a window with WHERE."""
        return self._changes[name]

    def _make_view(self, name: str, rows: pa.Table, instant: Instant, *, timed: bool) -> bool:
        """Make a window's table a view of the rows, if they are known to have no triple twice."""
        found = without_repetitions(self._connection, rows, timed=timed)
        if found is None:
            return False
        self._connection.register(f"{name}_rows", found)
        self._connection.execute(
            f"CREATE TEMP VIEW {name} AS SELECT {instant}::BIGINT AS instant, {WINDOW_COLUMNS}"
            f"{', time AS t' if timed else ''} FROM {name}_rows"
        )
        self._views.add(name)
        self._sizes[name] = {instant: found.num_rows}
        return True

    def make_room(self) -> None:
        """Let go of what was not used for longest, and of contents that are too large together; not while an evaluation
        reads them.
        """
        for contents_kept in (self._windows, self._facts):
            contents_kept.make_room(lambda names: sum(map(self.rows_of_window, names)) <= _KEPT_ROWS)
        for kept in (self._instants, self._members, self._static_joins):
            kept.make_room()
        self._intervals.make_room()
        while len(self._occurrences) > _KEPT_OCCURRENCES:
            self._occurrences.popitem(last=False)[1].drop()

    def rows(self, name: str) -> int:
        """How many rows a table of static triples has, or of what joins them, at least; or one of windows' contents."""
        for known in (self._static_rows, self._joined_rows):
            if name in known:
                return known[name]
        return self.rows_of_window(name)

    def size(self, name: str, instant: Instant) -> int:
        """How many triples a window's table has at an instant."""
        return self._sizes[name].get(instant, 0)

    def rows_of_window(self, name: str) -> int:
        """How many triples a window's table has at all of its instants together; 0 of one of occurrences."""
        return sum(self._sizes.get(name, {}).values())

    def _matching(self, condition: Plan, rows: pa.Table) -> npt.NDArray[np.int64]:
        """Of rows of whole elements (columns of LOG), the elements whose messages meet a condition.

        It is asked of all messages at once, as of a window's contents at many instants: each has its element's number.
        """
        with rows_as(self._connection, slice=rows):
            self._connection.execute(
                "CREATE OR REPLACE TEMP TABLE messages AS SELECT element AS instant, s, p, o, any_value(k) AS k, "
                "nullif(any_value(n), 'NaN'::DOUBLE) AS n FROM slice GROUP BY element, s, p, o"
            )
        self._connection.execute("CREATE OR REPLACE TEMP TABLE numbers AS SELECT DISTINCT instant FROM messages")
        asked = statement(
            condition, [condition.parameters], instants="numbers", windows=["messages"], members_table=self.members
        )
        found = self._connection.execute(f"SELECT DISTINCT instant FROM ({asked})").fetchnumpy()["instant"]
        self._connection.execute("DROP TABLE messages")
        self._connection.execute("DROP TABLE numbers")
        elements: npt.NDArray[np.int64] = np.asarray(found, np.int64)
        return elements

    def _count(self, name: str) -> list[tuple[int, int]]:
        """The instants of a window's table and how many triples there are at each."""
        return self._connection.execute(f"SELECT instant, count(*) FROM {name} GROUP BY instant").fetchall()

    def _distinct_triples(self) -> int:
        """How many triples ``slice`` has, each counted once."""
        ((counted,),) = self._connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM slice GROUP BY s, p, o)"
        ).fetchall()
        return int(counted)

    def rows_between(self, log: str, window: WindowSpec, instants: Sequence[Instant]) -> int:
        """How many rows the window's contents at these instants have together, about."""
        return rows_about(self.reader(log), window, instants, self._partitions[log])

    def static(self, table: str, file: str) -> None:
        """Make a static pattern's table the content of a file (columns g, s, p, o, k, n)."""
        if self._static_files.get(table) == file:
            return
        with pa.memory_map(str(self._statics / file)) as source:
            rows = pa.ipc.open_file(source).read_all()
            with rows_as(self._connection, static_rows=rows):
                self._connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT g, {WINDOW_COLUMNS} FROM static_rows"
                )
        self._static_files[table] = file
        self._static_rows[table] = rows.num_rows

    def static_join(self, select: str, files: Mapping[str, str]) -> str:
        """A table of what a SELECT over static tables gives, made anew when one of those that it reads changes.

        Where that is very much, or takes very long, it is the SELECT itself, so that it is asked for less. ``files``
        are the static tables' as they are now, and there (``static``).
        """
        read = tuple((table, file) for table, file in sorted(files.items()) if table in select)
        known = self._static_joins.get((select, read))
        if known is not None:
            return known
        if self._large_joins.get(select) == read:
            return f"({select})"
        self._large_joins.pop(select, None)
        self._static_joins.drop_where(lambda key: key[0] == select)
        name = self._fresh("joined")
        there = sum(self._static_rows[table] for table, _ in read)
        most = max(_MOST_JOINED, _MOST_JOINED_OF_EACH * there)
        limited = f"CREATE TEMP TABLE {name} AS SELECT * FROM ({select}) LIMIT {most + 1}"
        seconds = _SECONDS_OF_JOIN + there / _ROWS_A_SECOND + len(select) / _CHARACTERS_A_SECOND
        made = found_within(self._connection, seconds, lambda: self._connection.execute(limited).fetchall())
        rows = most + 1 if made is None else made[0][0]
        if rows > most:
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")
            self._large_joins[select] = read
            name = f"({select})"
        else:
            self._static_joins.keep((select, read), name)
        self._joined_rows[name] = rows
        return name

    def _fresh(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_t{self._made}"

    def _drop(self, name: str) -> None:
        self._sizes.pop(name, None)
        self._changes.pop(name, None)
        self._joined_rows.pop(name, None)
        if name in self._views:
            self._views.remove(name)
            self._connection.execute(f"DROP VIEW {name}")
            self._connection.unregister(f"{name}_rows")
        else:
            self._connection.execute(f"DROP TABLE {name}")


def _select(instants: Sequence[Instant], *, distinct: bool, timed: bool) -> str:
    """The SELECT of windows' contents from ``slice``, which may be known to have no triple twice (``distinct``).

    If ``timed``, it has the triples' times as well.

    An element takes part at e only if seen < e (section 1).
    """
    # Facets are functions of the object.
    columns = "s, p, o, any_value(k) AS k, nullif(any_value(n), 'NaN'::DOUBLE) AS n"
    columns += ", max(time) AS t" if timed else ""
    if len(instants) == 1:
        instant = instants[0]
        # The slice is that window: it holds what was there at the instant, and nothing else.
        return f"SELECT {instant}::BIGINT AS instant, {columns} FROM slice GROUP BY s, p, o"
    if distinct:
        return f"SELECT unnest(instants) AS instant, {WINDOW_COLUMNS}{', time AS t' if timed else ''} FROM slice"
    repeated = f"SELECT unnest(instants) AS instant, s, p, o, k, n{', time' if timed else ''} FROM slice"
    return f"SELECT instant, {columns} FROM ({repeated}) GROUP BY instant, s, p, o"
