"""What an evaluator holds is bounded, however long it goes on, and no answer tells when it began anew."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from protocol.windows.spec import TimeWindow
from spark_backend.evaluation import database
from tests.spark_backend.evaluation.evaluated_log import Element, Site, bindings, one_shot

WINDOW = TimeWindow(20, 10, 0)
QUERY = """SELECT ?e ?v { GRAPH <http://ex/w> { ?e <http://ex/room> ?r . ?e <http://ex/value> ?v }
    FILTER(REGEX(STR(?e), "^http://ex/[e](0|[1-9]+)")) }"""


def elements(count: int) -> list[Element]:
    """One each 10 ms, each with terms that no other has."""
    return [
        (10 * n + 5, [(f"<http://ex/e{n}>", f"<http://ex/{p}>", f'"{n}"') for p in ("room", "value")])
        for n in range(count)
    ]


def test_what_is_held_after_many_instants_with_new_terms_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_NOTES", 300)
    site, given = Site(tmp_path), elements(80)
    name = site.prepare("q", QUERY, WINDOW)
    site.append(given)
    held = []
    for instant in range(10, 810, 10):
        site.evaluator.refresh()
        (answer,) = site.answers(name, [instant])
        assert bindings(answer) == one_shot(QUERY, given, WINDOW, instant)
        held.append(database.notes(site.evaluator._connection))
    most_of_one = max(after - before for before, after in pairwise(held))
    assert 0 < most_of_one < 100
    assert max(held) <= 300 + most_of_one
    site.close()


def test_rows_that_take_long_to_make_anew_outweigh_notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(database, "_NOTES", 0)
    with database.connect(2**28, tmp_path) as connection:
        assert not database.is_worn(connection, rows=0)
        connection.execute("SELECT count(*) FROM range(9) a JOIN range(9) b USING (range)").fetchall()
        assert database.is_worn(connection, rows=0)
        assert not database.is_worn(connection, rows=1000)


def test_rows_whose_result_was_not_read_to_its_end_are_let_go_of_and_the_error_is_told(tmp_path: Path) -> None:
    connection = database.connect(2**28, tmp_path)
    rows = pa.table({"n": range(100_000)})

    def read_some() -> None:
        with database.rows_as(connection, one=rows, other=rows):
            connection.execute("SELECT * FROM one, other").fetchmany(10)
            raise MemoryError("too much")

    with pytest.raises(MemoryError, match="too much"):
        read_some()
    with database.rows_as(connection, one=rows):  # nothing is in use, and the name is free
        assert connection.sql("SELECT count(*) FROM one").fetchall() == [(100_000,)]
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM one")
    connection.close()


def test_after_a_statement_that_was_stopped_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    connection = database.connect(2**28, tmp_path)
    connection.execute("CREATE TABLE t AS SELECT range AS n FROM range(100_000)")

    def find() -> list[tuple[int]]:
        connection.execute("SELECT * FROM t").fetchmany(10)
        return connection.execute("SELECT count(*) FROM t a, t b WHERE a.n * b.n % 7 = 1").fetchall()

    assert database.found_within(connection, 0.05, find) is None
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(100_000,)]
    connection.close()


def test_a_statement_that_waits_for_the_processor_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    with database.connect(2**28, tmp_path) as connection:
        pairs = "SELECT count(*) FROM range(3_000) one(n), range(3_000) other(n) WHERE one.n * other.n > 0"
        found = database.found_within(connection, 0.001, lambda: connection.execute(pairs).fetchall())
    assert found == [(2_999**2,)]


def test_optimizers_are_left_out_of_planning_until_others_are(tmp_path: Path) -> None:
    def planned_without(*optimizers: str) -> set[str]:
        database.plan_without(connected, *optimizers)
        (told,) = connected.execute("SELECT current_setting('disabled_optimizers')").fetchone() or ()
        return set(told.split(","))

    with database.connect(1 << 28, tmp_path) as connected:
        (told,) = connected.execute("SELECT current_setting('disabled_optimizers')").fetchone() or ()
        always = set(told.split(","))
        assert "partial_aggregate_pushdown" in always
        assert planned_without("join_order") == always | {"join_order"}
        assert planned_without() == always
