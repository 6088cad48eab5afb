"""What is known of windows' tables without asking them: how many triples they have at an instant."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.spec import TimeWindow
from spark_backend.evaluation.tables import EvaluationTables
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
