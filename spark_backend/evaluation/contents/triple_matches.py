"""The matches of a triple pattern in a stream, each with the interval of instants at which it is in time windows.

What a time window holds at e is a set: a triple is there once, however often it was sent. Of the rows of a triple, in
the order in which they begin to take part (``entry``), those count that are later than all before: the others are
never what keeps it in a window. With ``prev``, the time of the one that counts before it, a row stands for the triple
at e if ``prev <= after < time`` and ``entry <= e``, (after, e] being the window there: it has entered, and the one
before it has left. So a triple is there by one row, in windows of any width, and no instant needs a copy of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import BEFORE_ALL, Instant
from spark_backend.compiler.sql.interval_part import TriplePlace
from spark_backend.evaluation.contents.digests import Digests, Hashes
from spark_backend.evaluation.contents.row_statements import RowStatement
from spark_backend.evaluation.database import rows_as
from spark_backend.log.format.columns import LOG

_TERMS = "spo"
_TRIPLE = "triple"
_MOST_PARTS = 32
"""In which old matches are, where some of them are looked for."""


@dataclass(frozen=True)
class DigestedRows:
    """Rows, and digests of them in the same order: of columns of terms, and of the ``triple``."""

    rows: pa.Table
    digests: Mapping[str, Hashes]

    def where(self, mask: npt.NDArray[np.bool_]) -> DigestedRows:
        """Some of the rows."""
        if mask.all():
            return self
        return DigestedRows(self.rows.filter(pa.array(mask)), {name: of[mask] for name, of in self.digests.items()})


class ArrivedRows:
    """Rows of a log (columns of LOG) in the columns ``s, p, o, k, n, time, prev, entry``, and digests of some of them.

    ``entry`` is the first instant at which a row takes part; no row is known to come after another of the same triple.
    ``name`` is its own in the database.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, joined: Iterable[str]) -> None:
        digested = "".join(f", hash({column}) AS {column}" for column in joined)
        sql = f"SELECT hash(s, p, o) AS {_TRIPLE}{digested} FROM {name}_rows"
        self._digests = RowStatement(connection, name, sql, {f"{name}_rows": LOG})

    def of(self, rows: pa.Table) -> DigestedRows:
        """These rows."""
        entry = pc.max_element_wise(rows["time"], pc.add(rows["seen"], 1))
        # In SQL a NaN would equal itself and exceed all numbers.
        number = pc.if_else(pc.is_nan(rows["n"]), None, rows["n"])
        columns = {name: rows[name] for name in ("s", "p", "o", "k")}
        columns |= {"n": number, "time": rows["time"], "prev": pa.repeat(BEFORE_ALL, rows.num_rows), "entry": entry}
        digests = self._digests.execute([rows])
        return DigestedRows(pa.table(columns), {name: np.asarray(of, np.uint64) for name, of in digests.items()})

    def drop(self) -> None:
        """Take what it needs out of the database."""
        self._digests.drop()


class TripleMatches:
    """The matches of one triple pattern: those that came last, ``new``, and the old ones.

    ``joined``: the columns of those of its terms by which other patterns are matched. As it is read from a log after
    some instant, ``prev`` is BEFORE_ALL where it is not after that.
    """

    def __init__(self, pattern: TriplePlace, joined: Sequence[str]) -> None:
        self.new: DigestedRows | None = None
        """None where there are none."""
        self._pattern = pattern
        self._old: list[DigestedRows] = []
        self._known = {name: Digests() for name in (_TRIPLE, *joined)}
        self._terms = [name for name, part in zip(_TERMS, pattern, strict=True) if part is None]
        numbers = ["k", "n"] if pattern[2] is None else []
        self._columns = [*self._terms, *numbers, "time", "prev", "entry"]

    @property
    def count(self) -> int:
        """How many matches there are."""
        return sum(some.rows.num_rows for some in (*self._old, *([self.new] if self.new is not None else [])))

    def add(self, connection: duckdb.DuckDBPyConnection, rows: DigestedRows) -> None:
        """Make what is new old, and the matches among these rows new: they take part first after all that are there."""
        self._settle()
        masks = [pc.equal(rows.rows[name], part) for name, part in zip(_TERMS, self._pattern, strict=True) if part]
        found = DigestedRows(rows.rows.select(self._columns), {name: rows.digests[name] for name in self._known})
        if masks:
            found = found.where(reduce(pc.and_, masks).to_numpy())
        if not found.rows.num_rows:
            return
        triples = found.digests[_TRIPLE]
        if _repeat(triples) or self._known[_TRIPLE].have_any(triples):
            found = self._after_repetitions(connection, found)
        if found.rows.num_rows:
            self.new = found

    def near(self, column: str, digests: Hashes) -> DigestedRows | None:
        """The old matches whose term in a column has one of these digests; None if there are none."""
        if not self._known[column].have_any(digests):
            return None
        wanted = np.unique(digests)
        if len(self._old) > _MOST_PARTS and (together := _together(self._old)) is not None:
            self._old = [together]
        return _together(some.where(_are_among(some.digests[column], wanted)) for some in self._old)

    def forget(self, after: Instant) -> None:
        """Go on without old matches that are not later than this."""
        self._settle()
        later = (some.where(pc.greater(some.rows["time"], after).to_numpy()) for some in self._old)
        self._old = [some for some in later if some.rows.num_rows]
        for name in self._known:
            self._known[name] = Digests()
            self._known[name].add(np.concatenate([np.empty(0, np.uint64), *(some.digests[name] for some in self._old)]))

    def _settle(self) -> None:
        """Make what is new old."""
        if self.new is None:
            return
        for name, digests in self._known.items():
            digests.add(self.new.digests[name])
        self._old.append(self.new)
        self.new = None

    def _after_repetitions(self, connection: duckdb.DuckDBPyConnection, found: DigestedRows) -> DigestedRows:
        """Of new matches those that count, each with the time of the one before it."""
        known = self.near(_TRIPLE, found.digests[_TRIPLE])
        terms = ", ".join(self._terms)
        so_far = f"PARTITION BY {terms} ORDER BY entry, time DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        old = found.rows.slice(0, 0) if known is None else known.rows
        with rows_as(connection, repeated=found.rows, known=old):
            before = connection.execute(
                f"WITH known_times AS (SELECT {terms}, max(time) AS last FROM known GROUP BY {terms}), "
                f"numbered AS (SELECT {terms}, time, entry, row_number() OVER () AS place FROM repeated) "
                f"SELECT coalesce(greatest(max(time) OVER ({so_far}), last), {BEFORE_ALL}) AS prev "
                f"FROM numbered LEFT JOIN known_times USING ({terms}) ORDER BY place"
            ).fetchnumpy()["prev"]
        place = found.rows.schema.get_field_index("prev")
        told = DigestedRows(found.rows.set_column(place, "prev", pa.array(before, pa.int64())), found.digests)
        return told.where(pc.less(before, told.rows["time"]).to_numpy())


def _repeat(digests: Hashes) -> bool:
    """Whether one of them is there twice."""
    ordered = np.sort(digests)
    return bool((ordered[1:] == ordered[:-1]).any())


def _are_among(digests: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    """Whether each is one of those that are wanted, which ascend."""
    places = np.minimum(np.searchsorted(wanted, digests), len(wanted) - 1)
    among: npt.NDArray[np.bool_] = wanted[places] == digests
    return among


def _together(parts: Iterable[DigestedRows]) -> DigestedRows | None:
    """The rows of all parts; None if there are none."""
    listed = [part for part in parts if part.rows.num_rows]
    if len(listed) < 2:
        return listed[0] if listed else None
    rows = pa.concat_tables([part.rows for part in listed]).combine_chunks()
    return DigestedRows(
        rows, {name: np.concatenate([one.digests[name] for one in listed]) for name in listed[0].digests}
    )
