"""DuckDB as evaluations need it: a database in memory, and when it is time for another one.

To know what to write out first where memory runs short, DuckDB keeps a note of each buffer whenever it was used. Notes
of buffers that are gone it takes out only where one of its queues has 32,768 of them, and counts nowhere: at ten joins
a second that is 4 MiB a minute more, and 50 MiB after an hour. A new database takes some 20 ms.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from spark_backend.evaluation.prelude.in_duckdb import install

_Found = TypeVar("_Found")

_NOTES = 20_000
"""So many notes, of 200 bytes each, are not worth making anew what else is in a database."""
_NOTES_BESIDE_ROWS = 100_000
"""Nor are as many as there are rows that would be made anew, up to so many."""

_LEAST_WAIT = 0.001
"""Seconds; what is nearly late is not asked again more often."""

_NEVER_OF_USE = "partial_aggregate_pushdown"
"""What DuckDB tries to aggregate before joins takes most of the planning of many aggregates, and none of ours, which
are sums in an order and by kinds, can be."""


def connect(memory: int, spill: Path) -> duckdb.DuckDBPyConnection:
    """A new database with the prelude: it may take so many bytes of memory, and as many in files below ``spill``."""
    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": f"{memory}B",
            "temp_directory": str(spill),
            "max_temp_directory_size": f"{memory}B",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    connection.execute("SET ieee_floating_point_ops = true")
    plan_without(connection)
    install(connection)
    return connection


def plan_without(connection: duckdb.DuckDBPyConnection, *optimizers: str) -> None:
    """From now on statements are planned without these optimizers of DuckDB's, and with all others of use."""
    connection.execute(f"SET disabled_optimizers = '{','.join((_NEVER_OF_USE, *optimizers))}'")


@contextmanager
def rows_as(connection: duckdb.DuckDBPyConnection, **tables: object) -> Iterator[None]:
    """Rows (Arrow's) are tables of these names, as long as the context lasts."""
    for name, rows in tables.items():
        connection.register(name, rows)
    try:
        yield
    except BaseException:
        # A result that memory ran out over has not been read to its end: until then nothing else is taken.
        connection.abort()
        raise
    finally:
        for name in tables:
            connection.unregister(name)


def rows_of(connection: duckdb.DuckDBPyConnection, select: str) -> pa.Table:
    """What a SELECT gives, without a Python object for each term."""
    with warnings.catch_warnings():
        # DuckDB warns of a copy of the rows that ``sql`` does not make; that one binds each statement twice instead.
        warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
        return connection.execute(select).to_arrow_table()


def operators_of(connection: duckdb.DuckDBPyConnection, select: str) -> str:
    """What DuckDB did to give what a SELECT gives: its operators with their rows and times, as its JSON."""
    ((_, found),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {select}").fetchall()
    return str(found)


def found_within(connection: duckdb.DuckDBPyConnection, seconds: float, find: Callable[[], _Found]) -> _Found | None:
    """What is found by statements that take no longer; None where they do: then they are stopped.

    ``seconds`` are of this process's processor time: a plan is not worse for what else the machine does.
    """
    until = time.process_time() + seconds
    found, late = threading.Event(), threading.Event()

    def watch() -> None:
        while not found.wait(max(until - time.process_time(), _LEAST_WAIT)):
            if time.process_time() >= until:
                late.set()
                connection.interrupt()
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        return find()
    except duckdb.InterruptException:
        if not late.is_set():
            raise  # somebody else stopped it
        connection.abort()
        return None
    finally:
        found.set()
        watching.join()  # so that it stops no other statement


def is_worn(connection: duckdb.DuckDBPyConnection, rows: int) -> bool:
    """Whether there are so many notes that a new database is better; ``rows`` would be made anew there."""
    return notes(connection) > max(_NOTES, min(rows, _NOTES_BESIDE_ROWS))


def notes(connection: duckdb.DuckDBPyConnection) -> int:
    """How many notes of buffers there are, of those that are gone too."""
    # To the last row: until then the connection takes nothing new (``register``, ``create_function``).
    ((counted,),) = connection.execute("SELECT sum(approximate_size) FROM duckdb_eviction_queues()").fetchall()
    return int(counted)
