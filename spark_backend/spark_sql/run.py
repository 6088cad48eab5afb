"""Runs a program in a session: tables as temporary views, closures round by round, the last SELECT as Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_backend.spark_sql.translation.program import Fixpoint, Program, Table

_ROUNDS_TO_GATHER = 8
"""The rows that a closure found are gathered into one table after so many rounds."""


class ProgramRun:
    """One evaluation's views and kept tables, to be closed whatever happens. Views are named by the caller."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._views: set[str] = set()
        self._kept: list[DataFrame] = []

    def view(self, name: str, frame: DataFrame) -> None:
        """Let the statements that follow read a frame under a name."""
        frame.createOrReplaceTempView(name)
        self._views.add(name)

    def rows(self, program: Program) -> pa.Table:
        """The rows of a program, whose names have been made this run's."""
        for step in program.steps:
            if isinstance(step, Fixpoint):
                self._close_under(step)
            else:
                self._table(step)
        return self._session.sql(program.select).toArrow()

    def close(self) -> None:
        """Forget the views and free what was kept."""
        for name in self._views:
            self._session.catalog.dropTempView(name)
        for frame in self._kept:
            _free(frame)
        self._views.clear()
        self._kept.clear()

    def _table(self, table: Table) -> None:
        frame = self._session.sql(table.sql)
        self.view(table.name, self.compute(frame) if table.kept else frame)

    def _close_under(self, fixpoint: Fixpoint) -> None:
        """Rows that are new follow from rows that were new: only these are gone on from (semi-naive evaluation)."""
        latest = known = self.compute(self._session.sql(fixpoint.first))
        parts = [known]
        while not latest.isEmpty():
            self.view(fixpoint.name, known)
            self.view(fixpoint.latest, latest)
            latest = self.compute(self._session.sql(fixpoint.longer))
            parts.append(latest)
            if len(parts) > _ROUNDS_TO_GATHER:
                gathered = self.compute(known.unionAll(latest))
                for part in parts[:-1]:
                    self._free(part)
                parts = [gathered]
                known = gathered
            else:
                known = known.unionAll(latest)
        self.view(fixpoint.name, known)

    def compute(self, frame: DataFrame) -> DataFrame:
        """The frame computed now, once, and cut off from what it was computed of."""
        kept = frame.localCheckpoint(eager=True)
        self._kept.append(kept)
        return kept

    def _free(self, frame: DataFrame) -> None:
        _free(frame)
        self._kept = [kept for kept in self._kept if kept is not frame]


def _free(frame: DataFrame) -> None:
    java: Any = frame._jdf
    java.queryExecution().analyzed().rdd().unpersist(False)
