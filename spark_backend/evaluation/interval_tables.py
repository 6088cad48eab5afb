"""Which parts of queries are kept with their intervals, from one evaluation to the next, in one DuckDB connection.

It pays where contents are large, or many shapes ask for what is matched in them, and where they overlap: several
instants are due together, or the one before was asked for here, too. Whatever is not kept, or is older than it reaches,
is evaluated over windows' contents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from protocol.time import Instant, Milliseconds
from protocol.windows.instances import content_bounds
from protocol.windows.spec import TimeWindow
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.evaluation.contents.solution_intervals import SolutionIntervals, TooManySolutions
from spark_backend.evaluation.statement import GivenNarrowing
from spark_backend.log.reader import DamagedLog, LogReader

_MOST = 256
"""Parts that are kept."""
_MOST_ROWS = 4_000_000
"""Of all tables together: a gigabyte, which is half of what an evaluation may take."""
_MOST_READ = 4_500_000
"""Triples of the log that are read for one, in several evaluations."""
_MOST_AT_ONCE = 1_500_000
"""Triples that are read for one in an evaluation, however long that may take."""
_ADDED_A_SECOND = 700_000
"""Triples that can be added in the time that an evaluation may take."""
_LEAST_COPIED = 20_000
"""Triples of contents, those of several instants and for several shapes together: fewer are matched as soon as new
ones are joined."""
_REMEMBERED = 4096
"""Of so many parts it is known that they were asked for, or refused."""

_TOO_MUCH = (TooManySolutions, MemoryError, duckdb.OutOfMemoryException)
"""Why a table is not kept any more: contents are read instead, and take no room from one evaluation to the next."""

_Part = tuple[str, IntervalPart, Milliseconds, tuple[str | None, ...]]
"""A log, a part without its narrowing, the width of the window, and the files of the static tables that it reads."""
_Key = tuple[_Part, frozenset[GivenNarrowing]]
"""And what it is narrowed by."""


@dataclass
class _Asked:
    """The last instant that a part was asked for at, and the one of the evaluation before; the shapes that did so."""

    upto: Instant
    before: Instant | None = None
    shapes_before: int = 0
    shapes: set[str] = field(default_factory=set)


class IntervalTables:
    """Tables of solutions with their intervals; what was not used for longest goes first.

    ``seconds``: what an evaluation may take. What cannot be added within it is added little by little.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, seconds: float) -> None:
        self._connection = connection
        self._at_once = int(min(seconds * _ADDED_A_SECOND, _MOST_AT_ONCE))
        self._kept: OrderedDict[_Key, SolutionIntervals] = OrderedDict()
        self._asked: OrderedDict[_Part, _Asked] = OrderedDict()
        self._refused: OrderedDict[_Key, None] = OrderedDict()
        """What had too many solutions, or took too much memory."""
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
        for key in [key for key in self._kept if key[0][0] == log]:
            self._kept.pop(key).drop()
        for key in [key for key in self._refused if key[0][0] == log]:
            del self._refused[key]

    def make_room(self) -> None:
        """Let go of tables that are too large together; not while an evaluation reads them."""
        while len(self._kept) > _MOST or (self._kept and self.rows > _MOST_ROWS):
            self._kept.popitem(last=False)[1].drop()

    def at(
        self,
        log: str,
        reader: LogReader,
        window: TimeWindow,
        part: IntervalPart,
        narrowing: frozenset[GivenNarrowing],
        instants: Sequence[Instant],
        shape: str,
        statics: Mapping[str, str],
    ) -> str | None:
        """A SELECT of ``instant`` and the part's columns: its solutions at ascending instants.

        ``shape``: that of the queries that ask for them. ``statics``: the files of static tables, which are there.
        ``narrowing``: what holds of all that is read of them (``statement.shared_narrowing``); there may be others.
        None where windows' contents are to be read, which also tells of what is lost.
        """
        bounds = [(instant, *content_bounds(window, instant)) for instant in instants]
        after, upto = bounds[0][1], instants[-1]
        oldest = instants[0] - window.width  # of windows of this width, whenever they open
        of = log, replace(part, narrowing=(), window=0), window.width, tuple(map(statics.get, part.tables))
        key = self._reaching(of, narrowing, after)
        asked = self._asked_by(shape, of, upto)
        if key in self._refused or upto > reader.watermark or not _is_retained(reader, oldest):
            return None
        known = self._kept.pop(key, None)  # taken out: what fails half way is of no use
        if known is None or not known.reaches(after):
            overlap = len(instants) > 1 or (asked.before is not None and after < asked.before < upto)
            triples = reader.triples_about(oldest, upto)
            copied = triples * len(instants) * max(asked.shapes_before, len(asked.shapes))
            # What comes in a step has to be much less than what is added at once, or it never gets there.
            fast = 2 * reader.triples_about(upto - window.slide, upto) > self._at_once
            if not overlap or fast or triples > _MOST_READ or copied < _LEAST_COPIED:
                if known is not None:
                    self._kept[key] = known
                return None
            if known is not None:
                known.drop()
            self._made += 1
            known = SolutionIntervals(self._connection, f"intervals_t{self._made}", part, key[1], oldest)
        try:
            known.extend(reader, oldest, upto, self._at_once)
        except BaseException as error:
            known.drop()
            if isinstance(error, _TOO_MUCH):
                self._refused[key] = None
                if len(self._refused) > _REMEMBERED:
                    self._refused.popitem(last=False)
            if isinstance(error, (*_TOO_MUCH, DamagedLog)):
                return None
            raise
        self._kept[key] = known
        return known.at(bounds) if upto <= known.upto else None

    def _asked_by(self, shape: str, of: _Part, upto: Instant) -> _Asked:
        """Note that a part is asked for up to an instant."""
        asked = self._asked.pop(of, None)
        if asked is None or asked.upto != upto:
            asked = _Asked(upto) if asked is None else _Asked(upto, asked.upto, len(asked.shapes))
        asked.shapes.add(shape)
        self._asked[of] = asked
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return asked

    def _reaching(self, of: _Part, narrowing: frozenset[GivenNarrowing], after: Instant) -> _Key:
        """What is kept of a part with these conditions, or fewer where only that reaches what is asked for."""
        if (of, narrowing) not in self._kept:
            for key, known in self._kept.items():
                if key[0] == of and key[1] < narrowing and known.reaches(after):
                    return key
        return of, narrowing


def _is_retained(reader: LogReader, after: Instant) -> bool:
    """Whether all is held that is later: of what begins to be deleted an answer has what is there now."""
    return reader.retained_from is None or reader.retained_from <= after
