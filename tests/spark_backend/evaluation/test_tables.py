"""What is known of tables without asking them, and which of them stay."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.spec import TimeWindow
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.evaluation import tables as of_tables
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.statics.tables import StaticTables
from tests.spark_backend.compiler.one_shot import Graphs
from tests.spark_backend.evaluation.evaluated_log import Element, Site

_terms = st.sampled_from(["<http://ex/a>", "<http://ex/b>", '"1"'])
_elements = st.lists(
    st.tuples(st.integers(1, 30), st.lists(st.tuples(_terms, _terms, _terms), max_size=4)), max_size=10
)
_instants = st.lists(st.integers(1, 45), min_size=1, max_size=5, unique=True).map(sorted)


@settings(max_examples=50, deadline=None)
@given(_elements, st.integers(1, 20), _instants, st.booleans())
def test_a_window_has_at_an_instant_as_many_triples_as_are_different_in_it(
    elements: list[Element], width: int, instants: list[int], timed: bool
) -> None:
    with TemporaryDirectory() as directory, duckdb.connect(config={"threads": 1}) as connection:
        site = Site(Path(directory))
        site.append(elements)
        tables = EvaluationTables(connection, site.layout.streams, site.layout.statics)
        window = TimeWindow(width, 1, 0)
        for at in (tuple(instants), *((instant,) for instant in instants)):
            name = tables.window("s", window, at, timed=timed)
            for instant in at:
                content = {
                    triple for time, triples in elements if instant - width < time <= instant for triple in triples
                }
                assert tables.size(name, instant) == len(content)
        site.close()


@pytest.mark.parametrize("most_joined", [0, 100])
def test_what_was_read_of_a_file_goes_with_it(
    most_joined: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Static patterns of queries that are gone take no memory, nor do joins of them, whether or not they are kept."""
    monkeypatch.setattr(of_tables, "_MOST_JOINED", most_joined)
    monkeypatch.setattr(of_tables, "_MOST_JOINED_OF_EACH", 0)
    site = Site(tmp_path)
    site.statics = StaticTables(
        site.layout.statics, Graphs({None: "<http://ex/a> <http://ex/p> 1 ; <http://ex/q> 2 ."})
    )
    with duckdb.connect(config={"threads": 1}) as connection:
        tables = EvaluationTables(connection, site.layout.streams, site.layout.statics)
        for name in "pq":
            pattern = StaticPattern("default", None, predicate=f"<http://ex/{name}>")
            file = site.statics.file(pattern)
            assert file is not None
            tables.static(pattern.table, file)
            joined = tables.static_join(f"SELECT s FROM {pattern.table}", {pattern.table: file})
            tables.refresh()
            assert connection.execute(f"SELECT * FROM {joined}").fetchall() == [("<http://ex/a>",)]
            assert tables.lasting_rows == 1
            assert tables.rows(joined) == 1
            site.statics.forget([file], ())
            tables.refresh()
            assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []
            assert tables.lasting_rows == tables.rows(joined) == 0
    site.close()
