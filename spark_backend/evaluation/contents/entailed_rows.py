"""Rows that a triple pattern matches under an entailment regime, as if what follows from a log had been sent, too."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from spark_backend.compiler.sql.interval_part import EntailedRows
from spark_backend.compiler.sql.tree.nodes import filled
from spark_backend.evaluation.contents.row_statements import RowStatement
from spark_backend.log.format.columns import LOG


class EntailingRows:
    """Of rows of a log (columns of LOG) those that a pattern matches, and what it matches of what follows from them, in
    the same columns: a triple that follows came when that came from which it follows. It may be there several times.

    ``name`` is its own in the database, which has the static tables that are read.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, entailed: EntailedRows) -> None:
        rows = f"{name}_rows"
        self._statement = RowStatement(connection, name, filled(entailed.sql, lambda _: rows), {rows: LOG})

    def of(self, rows: pa.Table) -> pa.Table:
        found = self._statement.rows([rows])
        there = {name: found[name] for name in found.column_names}
        # In which graph of which message it follows is read no more.
        columns = [there.get(field.name, pa.nulls(found.num_rows, field.type)) for field in LOG]
        return pa.table(columns, names=LOG.names).cast(LOG)

    def drop(self) -> None:
        """Take what it needs out of the database."""
        self._statement.drop()
