"""Occurrences as a table: those of the log at each instant, however it came to be as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.spec import TimeWindow
from spark_backend.evaluation.tables import EvaluationTables
from tests.spark_backend.evaluation.evaluated_log import Element, Site

_terms = st.sampled_from(["<http://ex/a>", "<http://ex/b>", '"1"'])
_elements = st.lists(st.tuples(st.integers(1, 30), st.lists(st.tuples(_terms, _terms, _terms), max_size=3)), max_size=8)
_batches = st.lists(_elements, min_size=1, max_size=5)
_instants = st.lists(st.integers(1, 45), min_size=1, max_size=4, unique=True).map(sorted)


@contextmanager
def _tables() -> Iterator[tuple[Site, EvaluationTables, duckdb.DuckDBPyConnection]]:
    with TemporaryDirectory() as directory, duckdb.connect(config={"threads": 1}) as connection:
        site = Site(Path(directory), lateness=3)
        yield site, EvaluationTables(connection, site.layout.streams, site.layout.statics), connection
        site.close()


def _expected(elements: Sequence[Element], width: int, instant: int) -> list[tuple[object, ...]]:
    """By definition: an occurrence takes part at an instant if one of its elements does."""
    found: dict[tuple[object, ...], int] = {}
    latest: int | None = None
    for time, triples in elements:
        seen = None if latest is None else latest - 4
        entry = time if seen is None else max(time, seen + 1)
        for triple in triples:
            occurrence = (*triple, time)
            found[occurrence] = min(entry, found.get(occurrence, entry))
        latest = time if latest is None else max(time, latest)
    return sorted(
        (*occurrence, entry)
        for occurrence, entry in found.items()
        if entry <= instant and occurrence[3] > instant - width  # type: ignore[operator]  # a time
    )


@settings(max_examples=60, deadline=None)
@given(_batches, st.integers(1, 20), _instants)
def test_the_occurrences_at_an_instant_are_those_of_the_log_however_it_has_grown(
    batches: list[list[Element]], width: int, instants: list[int]
) -> None:
    with _tables() as (site, tables, connection):
        window = TimeWindow(width, 1, -width)
        sent: list[Element] = []
        for number, batch in enumerate(batches):
            if batch:
                site.append(batch)
            sent += batch
            tables.refresh()
            for at in (instants[-1:], instants) if number % 2 else (instants,):
                rows = connection.execute(
                    f"SELECT instant, s, p, o, t, entry FROM {tables.occurrences('s', window, tuple(at))} x"
                ).fetchall()
                for instant in at:
                    assert sorted(row[1:] for row in rows if row[0] == instant) == _expected(sent, width, instant)


def test_what_is_asked_for_no_more_is_not_kept_and_comes_back_when_it_is() -> None:
    with _tables() as (site, tables, connection):
        window = TimeWindow(10, 1, -10)
        for start in range(0, 60_000, 12_000):
            times = range(start + 1, start + 12_001)
            site.append([(time, [("<http://ex/a>", "<http://ex/p>", '"1"')]) for time in times])
            tables.refresh()
            select = tables.occurrences("s", window, (start + 12_000,))
            assert connection.execute(f"SELECT count(*) FROM {select} x").fetchall() == [(10,)]
        assert tables.lasting_rows < 30_000
        select = tables.occurrences("s", window, (500,))
        assert connection.execute(f"SELECT min(t), max(t) FROM {select} x").fetchall() == [(491, 500)]


def test_the_occurrences_of_two_windows_are_there_together() -> None:
    with _tables() as (site, tables, connection):
        site.append([(time, [("<http://ex/a>", "<http://ex/p>", '"1"')]) for time in range(1, 21)])
        tables.refresh()
        narrow = tables.occurrences("s", TimeWindow(2, 1, -2), (20,))
        wide = tables.occurrences("s", TimeWindow(10, 1, -10), (20,))
        counted = connection.execute(f"SELECT (SELECT count(*) FROM {narrow} x), (SELECT count(*) FROM {wide} x)")
        assert counted.fetchall() == [(2, 10)]
