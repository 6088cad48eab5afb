"""Matches with intervals: those that a window's content has at each instant, by one row each."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.instances import content_bounds
from protocol.windows.spec import TimeWindow
from spark_backend.compiler.sql.interval_part import TriplePlace
from spark_backend.evaluation.contents.digests import Digests
from spark_backend.evaluation.contents.rows import contents
from spark_backend.evaluation.contents.triple_matches import ArrivedRows, TripleMatches
from spark_backend.log.reader import LogReader
from tests.spark_backend.evaluation.evaluated_log import Element, Site

A, B, ONE = "<http://ex/a>", "<http://ex/b>", '"1"'
_triples = st.tuples(st.sampled_from([A, B]), st.sampled_from([A, B]), st.sampled_from([A, ONE]))
_elements = st.lists(st.tuples(st.integers(1, 30), st.lists(_triples, max_size=3)), min_size=1, max_size=8)
_patterns = st.tuples(*(st.sampled_from([None, None, part]) for part in (A, B, ONE))).filter(
    lambda pattern: None in pattern
)


@settings(max_examples=40, deadline=None)
@given(st.lists(_elements, min_size=1, max_size=4), _patterns, st.integers(0, 8), st.data())
def test_each_triple_of_a_windows_content_is_there_by_one_row(
    batches: list[list[Element]], pattern: TriplePlace, lateness: int, data: st.DataObject
) -> None:
    """Elements out of order, late, at equal times and again; asked with the log as it is when an instant is due."""
    with TemporaryDirectory() as directory, duckdb.connect(config={"threads": 1}) as connection:
        site = Site(Path(directory), lateness=lateness)
        reader = LogReader(site.layout.streams / "s")
        joined = ["o"] if pattern[2] is None else []
        arrived = ArrivedRows(connection, "arrived", joined)
        matches, upto = TripleMatches(pattern, joined), 0
        rows: list[dict[str, Any]] = []
        for batch in batches:
            site.append(batch)
            reader.refresh()
            if reader.watermark <= upto:
                continue
            before, upto = upto, data.draw(st.integers(upto + 1, reader.watermark))
            matches.add(connection, arrived.of(reader.entered(before, upto)))
            rows += [] if matches.new is None else matches.new.rows.to_pylist()
            for instant in range(1, upto + 1):
                width = data.draw(st.integers(1, 25))
                window = TimeWindow(width, 1, -width)
                after, _ = content_bounds(window, instant)
                found = [
                    tuple(part or row[name] for name, part in zip("spo", pattern, strict=True))
                    for row in rows
                    if row["prev"] <= after < row["time"] and row["entry"] <= instant
                ]
                held = contents(reader, window, [instant]).rows.to_pylist()
                expected = {
                    (row["s"], row["p"], row["o"])
                    for row in held
                    if all(part in (None, row[name]) for name, part in zip("spo", pattern, strict=True))
                }
                assert sorted(found) == sorted(expected)
        reader.close()
        site.close()


def test_old_matches_are_found_by_a_term_as_long_as_they_are_not_forgotten() -> None:
    with TemporaryDirectory() as directory, duckdb.connect(config={"threads": 1}) as connection:
        site = Site(Path(directory), lateness=0)
        site.append([(time, [(f"<http://ex/{time}>", A, ONE)]) for time in range(1, 101)])
        reader = LogReader(site.layout.streams / "s")
        matches = TripleMatches((None, A, ONE), ["s"])
        arrived = ArrivedRows(connection, "arrived", ["s"])
        for time in range(99):
            matches.add(connection, arrived.of(reader.entered(time, time + 1)))
        matches.add(connection, arrived.of(reader.entered(99, 99)))
        assert matches.count == 99
        wanted = connection.execute("SELECT hash('<http://ex/40>') AS h").fetchnumpy()["h"]
        assert matches.near("s", wanted + np.uint64(1)) is None
        for after in (10, 39):
            matches.forget(after)
            near = matches.near("s", wanted)
            assert near is not None
            assert [row["time"] for row in near.rows.to_pylist()] == [40]
        matches.forget(40)
        assert matches.near("s", wanted) is None
        assert matches.count == 59
        reader.close()
        site.close()


@pytest.mark.parametrize("sizes", [[3, 0, 1], [1, 1, 1, 1, 8], [5]])
def test_digests_have_what_was_added(sizes: list[int]) -> None:
    digests, chance, added = Digests(), np.random.default_rng(1), []
    for size in sizes:
        more = chance.integers(0, 2**63, size).astype(np.uint64)
        digests.add(more)
        added += more.tolist()
    for one in added:
        assert digests.have_any(np.array([one, 5], np.uint64))
        assert not digests.have_any(np.array([one - 1], np.uint64))
    assert not digests.have_any(np.empty(0, np.uint64))
