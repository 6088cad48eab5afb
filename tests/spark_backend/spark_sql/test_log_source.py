"""What the log source reads, without Spark: all partitions' rows, against the window's content in one place."""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import NotFound
from protocol.windows.spec import (
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    SessionWindow,
    TimeWindow,
    TriplePart,
    Unit,
    WindowSpec,
)
from spark_backend.evaluation.contents.rows import contents
from spark_backend.log.reader import LogReader
from spark_backend.log.reading import run
from spark_backend.spark_sql.windows import source
from spark_backend.spark_sql.windows.source import StreamLogWindow, source_options
from tests.spark_backend.evaluation.evaluated_log import Element, Site

XSD = "http://www.w3.org/2001/XMLSchema#"
Row = tuple[int, str, str, str, int]
"""Instant, s, p, o, time."""

_terms = st.sampled_from(["<http://ex/a>", "<http://ex/b>", "<http://ex/c>"])
_triples = st.lists(
    st.tuples(_terms, _terms, st.sampled_from([f'"{n}"^^<{XSD}integer>' for n in range(3)])), max_size=4
)
_requests = st.lists(st.lists(st.tuples(st.integers(0, 60), _triples), min_size=1, max_size=4), max_size=8)
_partitions = st.none() | st.builds(
    Partition,
    st.sampled_from([(), (TriplePart.SUBJECT,), (TriplePart.PREDICATE, TriplePart.OBJECT)]),
    st.sampled_from([(), ("http://ex/a",), ("http://ex/b", "http://ex/c")]),
).filter(lambda partition: partition != Partition())
_windows = st.one_of(
    st.builds(TimeWindow, st.integers(1, 25), st.integers(1, 25), st.integers(-9, 9), st.none(), st.integers(0, 9)),
    st.builds(NowWindow),
    st.builds(LandmarkWindow, st.none() | st.integers(-5, 40), st.none(), st.none()),
    st.builds(CountWindow, st.integers(1, 9), st.sampled_from(Unit), partition=_partitions),
    st.builds(SessionWindow, st.integers(1, 12), partition=_partitions),
)
_instants = st.lists(st.integers(-10, 70), min_size=1, max_size=6, unique=True).map(sorted)
_some = st.dictionaries(st.sampled_from(["s", "p"]), st.lists(_terms, max_size=2), max_size=2)


def read(
    root: Path, window: WindowSpec, instants: Sequence[int], terms: Mapping[str, Collection[str]] | None = None
) -> list[dict[str, Any]]:
    """The rows of all partitions, read as tasks do: by what has been pickled."""
    source = StreamLogWindow(source_options(root, "s", window, instants, terms))
    reader = pickle.loads(pickle.dumps(source.reader(None)))
    parts = [pickle.loads(pickle.dumps(part)) for part in reader.partitions()]
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def rows(read: list[dict[str, Any]]) -> list[Row]:
    return sorted((row["instant"], row["s"], row["p"], row["o"], row["t"]) for row in read)


def expected(site: Site, window: WindowSpec, instants: Sequence[int]) -> list[Row]:
    """The rows of the window's content at each instant by itself."""
    reader = LogReader(site.layout.streams / "s")
    return sorted(
        (instant, row["s"], row["p"], row["o"], row["time"])
        for instant in instants
        for row in contents(reader, window, [instant]).rows.to_pylist()
    )


@given(_requests, st.integers(0, 30), _windows, _instants, _some)
@settings(max_examples=60, deadline=None)
def test_the_partitions_have_a_windows_rows_each_at_its_instants(
    requests: list[list[Element]], lateness: int, window: WindowSpec, instants: list[int], terms: dict[str, list[str]]
) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "FULL_ROWS", 4)
        patch.setattr(source, "_ROWS_OF_PARTITION", 3)
        patch.setattr(source, "_ROWS_OF_BATCH", 2)
        site = Site(Path(directory), lateness=lateness)
        for request in requests:
            site.append(request)
        whole = expected(site, window, instants)
        assert rows(read(Path(directory), window, instants)) == whole
        chosen = [row for row in whole if all(row["spo".index(name) + 1] in some for name, some in terms.items())]
        assert rows(read(Path(directory), window, instants, terms)) == chosen
        site.close()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_number_that_is_none_has_no_number_to_compare(site: Site) -> None:
    texts = [f'"NaN"^^<{XSD}double>', f'"1.5"^^<{XSD}double>', '"a"', "<http://ex/o>"]
    site.append([(5, [("<http://ex/a>", "<http://ex/p>", text) for text in texts])])
    found = {row["o"]: (row["k"], row["n"]) for row in read(site.layout.root, TimeWindow(10, 10, 0), [10])}
    assert {text: number for text, (_, number) in found.items()} == dict(
        zip(texts, (None, 1.5, None, None), strict=True)
    )
    assert all(number is None or not math.isnan(number) for _, number in found.values())
    assert found[texts[0]][0] == found[texts[1]][0] != found[texts[3]][0]


def test_an_empty_stream_is_one_partition_without_rows(site: Site) -> None:
    reader = StreamLogWindow(source_options(site.layout.root, "s", TimeWindow(10, 10, 0), [10])).reader(None)
    (only,) = reader.partitions()
    assert list(reader.read(only)) == []


def test_a_log_is_read_in_parts_of_about_the_same_size(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FULL_ROWS", 10)
    monkeypatch.setattr(source, "_ROWS_OF_PARTITION", 25)
    for time in range(1, 11):
        site.append([(time, [("<http://ex/a>", "<http://ex/p>", f'"{time} {n}"') for n in range(10)])])
    reader = StreamLogWindow(source_options(site.layout.root, "s", TimeWindow(10, 10, 0), [10])).reader(None)
    assert [sum(batch.num_rows for batch in reader.read(part)) for part in reader.partitions()] == [30, 30, 30, 10]


def test_a_log_that_was_deleted_is_an_error(site: Site) -> None:
    reader = StreamLogWindow(source_options(site.layout.root, "none", TimeWindow(10, 10, 0), [10])).reader(None)
    with pytest.raises(NotFound):
        reader.partitions()
