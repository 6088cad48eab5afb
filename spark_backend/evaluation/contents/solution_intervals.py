"""The solutions of a basic graph pattern over a stream, each with the interval of instants at which it holds.

A solution holds in a time window at e while all of its triples do (``triple_matches``): while the greatest ``prev`` of
them is not after the window's opening, the least time is, and the greatest ``entry`` is not after e. So a join
intersects intervals, and an instant adds the solutions that have a triple that is new. They are found from there
(semi-naive evaluation): for each triple pattern those in which it is matched by what is new, the patterns before it by
what is old. Of what is old only the matches are read to which terms of the new ones lead, mostly none. It is a cache of
a log, which is made again where it is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.evaluation.contents.entailed_rows import EntailingRows
from spark_backend.evaluation.contents.membership import InstantBounds
from spark_backend.evaluation.contents.row_statements import RowStatement
from spark_backend.evaluation.contents.triple_matches import ArrivedRows, DigestedRows, TripleMatches
from spark_backend.evaluation.statement import GivenNarrowing, narrowed
from spark_backend.log.format.columns import LOG
from spark_backend.log.reader import LogReader

_FEWEST = 10_000
"""Rows that are added before it is looked whether older ones are read no more."""
_MOST_SOLUTIONS, _MOST_PER_TRIPLE = 20_000, 4
"""So many solutions, and so many for each triple that came, may be new at once."""


class TooManySolutions(Exception):
    """There are so many of them that it is better to find those of an instant when they are asked for."""


class SolutionIntervals:
    """A table of the columns of a part's variables and ``prev, first, entry``: its solutions at instants up to ``upto``
    in windows that open at ``since`` or later. At first there are none, and ``upto`` is ``since``. With ``narrowing``,
    those that all of that leaves.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        part: IntervalPart,
        narrowing: Iterable[GivenNarrowing],
        since: Instant,
    ) -> None:
        self.since = since
        self.upto = since
        self._table = table
        self._connection = connection
        self._part = part
        self._narrowing = tuple(narrowing)
        self._matches = [TripleMatches(pattern, part.joined(place)) for place, pattern in enumerate(part.patterns)]
        joined = sorted({column for place in range(len(part.patterns)) for column in part.joined(place)})
        self._arrived = ArrivedRows(connection, f"{table}_arrived", joined)
        self._entailing = {
            place: EntailingRows(connection, f"{table}_entailed{place}", entailed)
            for place, entailed in enumerate(part.entailed)
            if entailed is not None
        }
        self._solutions = 0
        self._added = 0
        nothing = self._arrived.of(LOG.empty_table()).rows
        connection.register(f"{table}_nothing", nothing)
        select = narrowed(part, self._narrowing, [f"{table}_nothing"] * len(part.patterns))
        connection.execute(f"CREATE TEMP TABLE {table} AS {select}")
        connection.unregister(f"{table}_nothing")
        self._inserts: dict[tuple[int, int], RowStatement] = {}
        """What puts new solutions into the table, by the pattern whose newest match they have, and how many at most."""

    @property
    def rows(self) -> int:
        """How many solutions there are, and matches of triple patterns, for which they are found."""
        return self._solutions + sum(matches.count for matches in self._matches)

    def reaches(self, after: Instant) -> bool:
        """Whether it has some of what a window holds that opens there, and goes on from that to all of it."""
        return self.since <= after < self.upto

    def extend(self, reader: LogReader, oldest: Instant, upto: Instant, most: int) -> None:
        """Add what begins to take part up to an instant, or about ``most`` triples of it (``upto`` tells).

        ``oldest``: no window is asked for from now on that opens before.
        Raises TooManySolutions, and DamagedLog where something is lost; then it is of no use any more.
        """
        if upto > self.upto:
            if (count := reader.triples_about(self.upto, upto)) > most:
                upto = self.upto + max(1, (upto - self.upto) * most // count)
            entered = reader.entered(self.upto, upto)
            later = pc.greater(entered["time"], self.since)
            # To copy what is long takes longer than all else.
            self._add(entered if pc.all(later).as_py() else entered.filter(later))
            self.upto = upto
        if self._added > max(_FEWEST, self.rows // 4):
            self._forget(oldest)
            self._added = 0

    def at(self, bounds: Sequence[InstantBounds]) -> str:
        """A SELECT of ``instant`` and the columns of the variables: the solutions at some instants.

        ``bounds``: each instant, and (after, upto] of the window there.
        """
        listed = "".join(f", x.{column}" for column in self._part.columns)
        if len(bounds) == 1:
            ((instant, after, _),) = bounds
            return (
                f"(SELECT {instant}::BIGINT AS instant{listed} FROM {self._table} x "
                f"WHERE x.prev <= {after} AND x.first > {after} AND x.entry <= {instant})"
            )
        instants = ", ".join(f"({instant}::BIGINT, {after}::BIGINT)" for instant, after, _ in bounds)
        return (
            f"(SELECT i.instant{listed} FROM (VALUES {instants}) i(instant, after) JOIN {self._table} x "
            "ON x.prev <= i.after AND x.first > i.after AND x.entry <= i.instant)"
        )

    def drop(self) -> None:
        """Drop the table, and what else is in the database for it."""
        for statement in self._inserts.values():
            statement.drop()
        for entailing in self._entailing.values():
            entailing.drop()
        self._arrived.drop()
        self._connection.execute(f"DROP TABLE {self._table}")

    def _add(self, log_rows: pa.Table) -> None:
        """Add the solutions that have a triple in these rows, which begin to take part after all that are there."""
        if not log_rows.num_rows:
            return
        for rows, some in self._looked_at(log_rows):
            arrived = self._arrived.of(rows)
            for place in some:
                self._matches[place].add(self._connection, arrived)
        most = _MOST_SOLUTIONS
        while most < _MOST_PER_TRIPLE * log_rows.num_rows:
            most *= 2  # for each of them, there are statements
        added = 0
        for newest, joined in self._joins():
            (count,) = self._insert(newest, joined, most).execute(joined)["Count"]
            added += int(count)
            if added > most:
                raise TooManySolutions
        self._solutions += added
        self._added += added + log_rows.num_rows

    def _looked_at(self, log_rows: pa.Table) -> Iterator[tuple[pa.Table, Sequence[int]]]:
        """In which rows to look for new matches, and of which patterns: of some in what follows from these as well."""
        as_they_are = [place for place in range(len(self._matches)) if place not in self._entailing]
        if as_they_are:
            yield log_rows, as_they_are
        for place, entailing in self._entailing.items():
            yield entailing.of(log_rows), [place]

    def _insert(self, newest: int, joined: Sequence[pa.Table], most: int) -> RowStatement:
        """What puts into the table what these matches of each pattern give, or more than so many of it."""
        known = self._inserts.get((newest, most))
        if known is None:
            name = f"{self._table}_insert{newest}_{most}"
            schemas = {f"{name}_part{place}": rows.schema for place, rows in enumerate(joined)}
            select = narrowed(self._part, self._narrowing, list(schemas))
            insert = f"INSERT INTO {self._table} FROM ({select}) LIMIT {most + 1}"
            known = self._inserts[newest, most] = RowStatement(self._connection, name, insert, schemas)
        return known

    def _joins(self) -> Iterator[tuple[int, list[pa.Table]]]:
        """For each pattern with new matches, the matches of all patterns: of those before it the old ones.

        Left out is what has no solution.
        """
        for newest, matches in enumerate(self._matches):
            if matches.new is None:
                continue
            near = self._near(newest)
            joined = []
            for place, one in enumerate(self._matches):
                listed = [near[place].rows] if place in near else []
                if place >= newest and one.new is not None:
                    listed.append(one.new.rows)
                joined.append(listed)
            if all(joined):
                yield newest, [pa.concat_tables(listed) for listed in joined]

    def _near(self, newest: int) -> dict[int, DigestedRows]:
        """By pattern, the old matches that may be in a solution with a new match of this one: where terms lead to."""
        near: dict[int, DigestedRows] = {}
        seen, left = {newest}, [newest]
        while left:
            place = left.pop(0)
            there = [near[place]] if place in near else []
            new = self._matches[place].new
            if place >= newest and new is not None:
                there.append(new)
            for other, columns in self._part.neighbours[place].items():
                if other in seen:
                    continue
                seen.add(other)
                left.append(other)
                column, theirs = columns[0]
                if there:
                    digests = np.concatenate([some.digests[column] for some in there])
                    if (found := self._matches[other].near(theirs, digests)) is not None:
                        near[other] = found
        return near

    def _forget(self, after: Instant) -> None:
        """Go on without what no window reaches that opens there or later."""
        if after <= self.since:
            return
        for matches in self._matches:
            matches.forget(after)
        ((self._solutions,),) = self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {self._table} AS FROM {self._table} WHERE first > {after}"
        ).fetchall()
        self.since = after
