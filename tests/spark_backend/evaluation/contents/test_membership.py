"""Rows and the instants whose windows they are in, against the definition."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.instances import content_bounds
from protocol.windows.spec import TimeWindow
from spark_backend.evaluation.contents.membership import instants_of_rows

_rows = st.lists(st.tuples(st.integers(-20, 60), st.integers(-30, 70)), max_size=30)
_windows = st.builds(
    TimeWindow, st.integers(1, 25), st.integers(1, 25), st.integers(-9, 9), st.none(), st.integers(0, 9)
)
_instants = st.lists(st.integers(-10, 70), min_size=1, max_size=12, unique=True).map(sorted)


@settings(deadline=None)
@given(_rows, _windows, _instants)
def test_a_row_is_in_the_windows_it_lies_in_at_the_instants_after_it_was_seen(
    rows: list[tuple[int, int]], window: TimeWindow, instants: list[int]
) -> None:
    bounds = [(instant, *content_bounds(window, instant)) for instant in instants]
    table = pa.table(
        {
            "time": pa.array([time for time, _ in rows], pa.int64()),
            "seen": pa.array([seen for _, seen in rows], pa.int64()),
        }
    )
    assert instants_of_rows(table, bounds).to_pylist() == [
        [instant for instant, after, upto in bounds if after < time <= upto and seen < instant] for time, seen in rows
    ]
