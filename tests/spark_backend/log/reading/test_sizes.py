"""How much of a log a reader would read, told by the bounds of frames alone, against looking at all of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.time import BEFORE_ALL
from protocol.windows.spec import Unit
from spark_backend.log.reader import LogReader
from spark_backend.log.reading import last, run
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import event_stream, request, triple

elements = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=12)


@contextmanager
def reading(elements: list[tuple[int, int]], lateness: int) -> Iterator[LogReader]:
    """A reader of a log with elements (time, triples), a frame each, some of them in one run."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "FULL_ROWS", 4)
        log = StreamLog.open(Path(directory) / "s", event_stream(lateness), lambda: 0)
        for time, triples in elements:
            log.append(request((time, [triple(str(n)) for n in range(triples)])))
        reader = LogReader(Path(directory) / "s")
        yield reader
        reader.close()
        log.close()


@given(elements, st.integers(0, 30), st.integers(-1, 35), st.integers(0, 36))
@settings(max_examples=40, deadline=None)
def test_an_estimate_is_exact_for_all_that_is_held_and_never_misses_or_exceeds_it(
    elements: list[tuple[int, int]], lateness: int, after: int, width: int
) -> None:
    with reading(elements, lateness) as reader:
        total = sum(triples for _, triples in elements)
        assert reader.triples_about(BEFORE_ALL, 31) == total
        there = sum(triples for time, triples in elements if after < time <= after + width)
        about = reader.triples_about(after, after + width)
        assert 0 <= about <= total
        assert about or not there
        stretches = reader.stretches(after, after + width)
        assert there <= sum(stretch.triples for stretch in stretches) <= total
        read = [row for stretch in stretches for rows in reader.rows_of(stretch) for row in rows.to_pylist()]
        assert sum(after < row["time"] <= after + width and row["s"] is not None for row in read) == there


@given(elements, st.integers(0, 10), st.integers(1, 9), st.integers(0, 35))
@settings(max_examples=40, deadline=None)
def test_where_many_are_counted_the_last_ones_are_in_a_scan_from_there_on_perhaps_with_more(
    elements: list[tuple[int, int]], lateness: int, count: int, upto: int
) -> None:
    with reading(elements, lateness) as reader:
        exact = reader.last_from(count, upto, Unit.TRIPLES)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(last, "_MANY", 1)
            assert reader.last_from(count, upto, Unit.TRIPLES) <= exact
