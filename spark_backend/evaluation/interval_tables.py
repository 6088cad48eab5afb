"""Which parts of queries are kept with their intervals, from one evaluation to the next, in one DuckDB connection.

It pays where contents are large and overlap: several instants are due together, or the one before was asked for here,
too. Whatever is not kept, or is older than it reaches, is evaluated over windows' contents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import duckdb

from protocol.time import Instant, Milliseconds
from protocol.windows.instances import content_bounds
from protocol.windows.spec import TimeWindow
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.evaluation.contents.solution_intervals import MOST_AT_ONCE, SolutionIntervals, TooManySolutions
from spark_backend.log.reader import DamagedLog, LogReader

_MOST = 256
"""Parts that are kept."""
_MOST_ROWS = 2_000_000
"""Of all tables together."""
_MOST_READ = 1_500_000
"""Triples of the log that are read for one."""
_LEAST_COPIED = 40_000
"""Triples of contents, those of several instants together: fewer are matched as soon as new ones are joined."""
_REMEMBERED = 4096

_Key = tuple[str, IntervalPart, Milliseconds]
"""A log, a part, and the width of the window."""


class IntervalTables:
    """Tables of solutions with their intervals; what was not used for longest goes first."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._kept: OrderedDict[_Key, SolutionIntervals] = OrderedDict()
        self._asked: OrderedDict[_Key, Instant] = OrderedDict()
        """The last instant of the evaluation before."""
        self._refused: set[_Key] = set()
        """What had too many solutions."""
        self._made = 0

    @property
    def rows(self) -> int:
        """How many rows there are, which would be made anew elsewhere."""
        return sum(kept.rows for kept in self._kept.values())

    def move_to(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make tables in another database from now on, all of them anew."""
        self._connection = connection
        self._kept.clear()

    def forget_log(self, log: str) -> None:
        """Drop what was read of a log that is gone."""
        for key in [key for key in self._kept if key[0] == log]:
            self._kept.pop(key).drop()
        self._refused = {key for key in self._refused if key[0] != log}

    def make_room(self) -> None:
        """Let go of tables that are too large together; not while an evaluation reads them."""
        while len(self._kept) > _MOST or (self._kept and self.rows > _MOST_ROWS):
            self._kept.popitem(last=False)[1].drop()

    def at(
        self, log: str, reader: LogReader, window: TimeWindow, part: IntervalPart, instants: Sequence[Instant]
    ) -> str | None:
        """A SELECT of ``instant`` and the part's columns: its solutions at ascending instants.

        None where windows' contents are to be read, which also tells of what is lost.
        """
        bounds = [(instant, *content_bounds(window, instant)) for instant in instants]
        after, upto = bounds[0][1], instants[-1]
        oldest = instants[0] - window.width  # of windows of this width, whenever they open
        key = (log, part, window.width)
        before = self._asked.pop(key, None)
        self._asked[key] = upto
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        if key in self._refused or upto > reader.watermark or not _is_retained(reader, oldest):
            return None
        known = self._kept.pop(key, None)  # taken out: what fails half way is of no use
        if known is None or not known.reaches(after):
            overlap = len(instants) > 1 or (before is not None and after < before < upto)
            triples = reader.triples_about(oldest, upto)
            # What comes in a step has to be much less than what is added at once, or it never gets there.
            fast = 2 * reader.triples_about(upto - window.slide, upto) > MOST_AT_ONCE
            if not overlap or fast or triples > _MOST_READ or triples * len(instants) < _LEAST_COPIED:
                if known is not None:
                    self._kept[key] = known
                return None
            if known is not None:
                known.drop()
            self._made += 1
            known = SolutionIntervals(self._connection, f"intervals_t{self._made}", part, oldest)
        try:
            known.extend(reader, oldest, upto)
        except BaseException as error:
            known.drop()
            if isinstance(error, TooManySolutions):
                self._refused.add(key)
            if isinstance(error, TooManySolutions | DamagedLog):
                return None
            raise
        self._kept[key] = known
        return known.at(bounds) if upto <= known.upto else None


def _is_retained(reader: LogReader, after: Instant) -> bool:
    """Whether all is held that is later: of what begins to be deleted an answer has what is there now."""
    return reader.retained_from is None or reader.retained_from <= after
