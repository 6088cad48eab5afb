"""Statements over rows that are others each time: DuckDB plans them once, which takes longer than to evaluate few rows.

A table's place is taken by an object that is asked for its rows whenever the statement is executed. What is created
or dropped in the database in between is noticed by DuckDB, which plans again; so does it for a parameter of LIMIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa


class RowStatement:
    """A statement over Arrow tables with these schemas, by their names in its SQL, which are used for nothing else.

    ``name`` is its own in the database.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, sql: str, schemas: Mapping[str, pa.Schema]
    ) -> None:
        self._connection = connection
        self._name = name
        self._places = {table: _Place(schema) for table, schema in schemas.items()}
        for table, place in self._places.items():
            connection.register(table, place)
        connection.execute(f"PREPARE {name} AS {sql}")

    def execute(self, tables: Sequence[pa.Table]) -> dict[str, npt.NDArray[np.generic]]:
        """The columns of what it gives over these tables, in the order of their names."""
        with self._over(tables):
            return self._connection.execute(f"EXECUTE {self._name}").fetchnumpy()

    def rows(self, tables: Sequence[pa.Table]) -> pa.Table:
        """What it gives over these tables, in the order of their names, as Arrow: for columns of texts."""
        with self._over(tables):
            return self._connection.sql(f"EXECUTE {self._name}").to_arrow_table()

    @contextmanager
    def _over(self, tables: Sequence[pa.Table]) -> Iterator[None]:
        for place, rows in zip(self._places.values(), tables, strict=True):
            place.take(rows)
        try:
            yield
        except BaseException:
            self._connection.abort()  # as in ``database.rows_as``
            raise
        finally:
            for place in self._places.values():
                place.clear()

    def drop(self) -> None:
        """Take it out of the database."""
        self._connection.execute(f"DEALLOCATE {self._name}")
        for table in self._places:
            self._connection.unregister(table)


class _Place:
    """What DuckDB reads as a table: the rows that are there now."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self.clear()

    def take(self, rows: pa.Table) -> None:
        assert rows.schema.equals(self._schema), f"planned for {self._schema}, not for {rows.schema}"
        self._rows = rows

    def clear(self) -> None:
        self._rows = self._schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._rows.__arrow_c_stream__(requested_schema)
