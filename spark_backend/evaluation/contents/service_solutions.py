"""What services gave, as tables: from the records of it, with the facets that expressions read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.compiler.plan import PlannedService
from spark_backend.compiler.sql.patterns.services import FACETS, service_column
from spark_backend.evaluation.database import rows_as
from spark_backend.evaluation.kept_tables import KeptTables
from spark_backend.federation.records import ServiceRecords
from spark_backend.ingest.terms.facets import facet_columns

_KEPT = 8
_ANY_TERM = '""'


def service_rows(
    directory: Path, key: str, number: int, service: PlannedService, instants: Sequence[Instant]
) -> pa.Table:
    """The columns ``instant`` and, of each variable, ``c0``, ``c0_k``, ``c0_n``, … of what a service gave then.

    Raises FileNotFoundError where it was not asked, DamagedDocument for a record that is not as it was written.
    """
    records = ServiceRecords(directory)
    found = [(instant, row) for instant in instants for row in records.read(key, instant, number).rows]
    columns = {"instant": pa.array([instant for instant, _ in found], pa.int64())}
    for place in range(len(service.call.variables)):
        terms = pa.array([row[place] for _, row in found], pa.string())
        unbound = pc.is_null(terms)
        facets = facet_columns(terms.fill_null(_ANY_TERM))
        for facet, column in zip(FACETS, (terms, *facets), strict=True):
            if pa.types.is_floating(column.type):  # NaN is no number to compare
                unbound = pc.or_kleene(unbound, pc.fill_null(pc.is_nan(column), False))
            columns[f"{service_column(place)}{facet}"] = pc.if_else(unbound, pa.scalar(None, column.type), column)
    return pa.table(columns)


class ServiceTables:
    """Tables of DuckDB's of what services gave."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, directory: Path) -> None:
        self._connection = connection
        self._directory = directory
        self._known = KeptTables[tuple[str, int, tuple[Instant, ...]]](
            _KEPT, lambda name: connection.execute(f"DROP TABLE {name}")
        )
        self._made = 0

    def table(self, key: str, number: int, service: PlannedService, instants: tuple[Instant, ...]) -> str:
        """The name of a table like ``service_rows``."""
        asked = (key, number, instants)
        known = self._known.get(asked)
        if known is not None:
            return known
        self._made += 1
        name = f"service_t{self._made}"
        with rows_as(self._connection, service_rows=service_rows(self._directory, key, number, service, instants)):
            self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM service_rows")
        self._known.keep(asked, name)
        return name

    def make_room(self) -> None:
        """Let go of tables that are not the latest; not while an evaluation reads them."""
        self._known.make_room()
