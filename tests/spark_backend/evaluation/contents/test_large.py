"""The content of a large window is the same set as that of a small one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.windows.spec import CountWindow, TimeWindow, Unit
from spark_backend.evaluation import tables
from spark_backend.evaluation.contents.large import without_repetitions
from spark_backend.evaluation.tables import EvaluationTables
from tests.spark_backend.evaluation.evaluated_log import Element, Site

TERMS = ("<http://ex/a>", "<http://ex/b>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"NaN"')
Triple = tuple[str, str, str]

_triples = st.tuples(*[st.sampled_from(TERMS)] * 3)
_elements = st.lists(st.tuples(st.integers(1, 30), st.lists(_triples, max_size=4)), max_size=10)


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGE", 1)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        yield made


def slice_of(triples: list[Triple]) -> pa.Table:
    columns = list(zip(*triples, strict=True)) or [(), (), ()]
    rows = {name: pa.array(column, pa.string()) for name, column in zip("spo", columns, strict=True)}
    return pa.table({"time": pa.array(range(len(triples)), pa.int64()), **rows})


@settings(max_examples=25, deadline=None)
@given(st.lists(_triples, max_size=12))
def test_what_is_there_twice_is_left_out_once_and_nothing_else(triples: list[Triple]) -> None:
    with duckdb.connect() as made:
        found = without_repetitions(made, slice_of(triples), timed=False)
    assert found is not None
    assert sorted(zip(*(found[name].to_pylist() for name in "spo"), strict=True)) == sorted(set(triples))


@pytest.mark.parametrize(("count", "known"), [(1, True), (2, False)])
def test_the_times_of_repetitions_are_left_to_who_compares_them(
    connection: duckdb.DuckDBPyConnection, count: int, known: bool
) -> None:
    found = without_repetitions(connection, slice_of([("<a>", "<b>", "<c>")] * count), timed=True)
    assert (found is not None) is known


def test_triples_of_one_digest_are_not_taken_for_the_same() -> None:
    class SameDigest:
        """A connection whose digests are all alike."""

        def register(self, name: str, rows: pa.Table) -> None:
            self.count = rows.num_rows

        def unregister(self, name: str) -> None: ...

        def execute(self, sql: str) -> SameDigest:
            return self

        def fetchnumpy(self) -> dict[str, object]:
            return {"digest": np.zeros(self.count, dtype="uint64")}

    rows = slice_of([("<a>", "<b>", "<c>"), ("<a>", "<b>", "<d>")])
    assert without_repetitions(SameDigest(), rows, timed=False) is None  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    _elements,
    st.one_of(
        st.builds(TimeWindow, st.integers(1, 20), st.integers(1, 9), st.just(0)),
        st.builds(CountWindow, st.integers(1, 6), st.sampled_from(Unit), st.just(1)),
    ),
    st.integers(1, 35),
    st.booleans(),
)
def test_a_large_window_has_the_rows_it_has_as_a_small_one(
    elements: list[Element], window: TimeWindow | CountWindow, instant: int, timed: bool
) -> None:
    with TemporaryDirectory() as directory, duckdb.connect(config={"threads": 1}) as made:
        site = Site(Path(directory))
        site.append(elements)
        contents = []
        for large in (1, 10**9):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(tables, "LARGE", large)
                of = EvaluationTables(made, site.layout.streams, site.layout.statics)
                of._made = large  # names of its own
                name = of.window("s", window, (instant,), timed=timed)
                rows = made.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()
                contents.append((rows, of.size(name, instant)))
        assert contents[0] == contents[1]
        site.close()


def test_contents_that_are_too_large_together_are_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_KEPT_ROWS", 3)
    site = Site(tmp_path)
    site.append([(time, [(TERMS[0], TERMS[1], f'"{time}"')]) for time in range(1, 9)])
    with duckdb.connect() as made:
        of = EvaluationTables(made, site.layout.streams, site.layout.statics)
        names = [of.window("s", TimeWindow(2, 2, 0), (instant,)) for instant in (2, 4, 6)]
        of.make_room()
        assert made.execute(f"SELECT count(*) FROM {names[2]}").fetchone() == (2,)
        for name in names[:2]:
            with pytest.raises(duckdb.CatalogException):
                made.execute(f"FROM {name}")
    site.close()
