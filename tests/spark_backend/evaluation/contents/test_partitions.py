"""The contents of partitioned windows against their definition, whatever was asked for before."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.rsp.oracle import CountWindow as OracleWindow
from conformance.rsp.oracle import OracleStream, Triple
from protocol.windows.spec import CountWindow, Partition, TriplePart, Unit
from spark_backend.evaluation.contents import partitions
from spark_backend.evaluation.contents.partitions import PartitionContents
from spark_backend.evaluation.contents.rows import contents
from spark_backend.log.reader import LogReader
from spark_backend.log.reading import run
from spark_backend.log.writer import StreamLog
from tests.spark_backend.evaluation.evaluated_log import Site
from tests.spark_backend.log.log_oracle import event_stream, request, triple

_terms = st.sampled_from([f"<http://ex/{name}>" for name in "abc"])
_elements = st.lists(
    st.tuples(st.integers(0, 40), st.lists(st.tuples(_terms, _terms, _terms), max_size=4, unique=True)), max_size=4
)
_windows = st.builds(
    CountWindow,
    st.integers(1, 3),
    st.sampled_from(Unit),
    partition=st.builds(
        Partition,
        st.lists(st.sampled_from(TriplePart), max_size=2, unique=True).map(tuple),
        st.lists(st.sampled_from(["http://ex/a", "http://ex/b", "http://ex/x"]), max_size=2, unique=True).map(tuple),
    ).filter(lambda partition: partition != Partition()),
)
_asked = st.lists(st.lists(st.integers(-2, 45), min_size=1, max_size=5, unique=True).map(sorted), max_size=3)


def content_by_definition(stream: OracleStream, window: CountWindow, t: int) -> dict[Triple, int]:
    assert window.partition is not None
    keys = (*window.partition.parts, *(f"<{iri}>" for iri in window.partition.properties))
    return OracleWindow("s", size=window.size, by=window.unit.value, partition=keys).timed(stream, t)


@given(st.lists(st.tuples(_elements, _asked), max_size=5), st.integers(0, 30), _windows)
@settings(max_examples=100, deadline=None)
def test_contents_are_the_last_of_each_key(
    requests: list[tuple[list[tuple[int, list[Triple]]], list[list[int]]]], lateness: int, window: CountWindow
) -> None:
    """Up to the watermark an answer is what it will always be; so what is kept of it may be gone on from."""
    with TemporaryDirectory() as directory, patch.object(run, "FULL_ROWS", 4), patch.object(partitions, "_PORTION", 2):
        site = Site(Path(directory), lateness=lateness)
        stream = OracleStream(lateness)
        reader = LogReader(site.layout.streams / "s")
        kept = PartitionContents(reader)
        for elements, asked in requests:
            site.append(elements)
            for time, triples in elements:
                stream.append(time, triples)
            reader.refresh()
            for instants in asked:
                reached = [t for t in instants if stream.watermark is not None and t <= stream.watermark]
                if not reached:
                    continue
                found = contents(reader, window, reached, kept)
                rows = found.rows.to_pylist()
                at = [reached] * len(rows) if found.instants is None else found.instants.to_pylist()
                for t in reached:
                    told: dict[Triple, int] = {}
                    for row, held in zip(rows, at, strict=True):
                        if t in held:
                            triple = (row["s"], row["p"], row["o"])
                            told[triple] = max(row["time"], told.get(triple, row["time"]))
                    assert told == content_by_definition(stream, window, t)
        reader.close()
        site.close()


@pytest.mark.parametrize("asked_before", [True, False])
def test_what_retention_has_taken_is_in_no_content_kept_or_not(tmp_path: Path, asked_before: bool) -> None:
    log = StreamLog.open(tmp_path / "s", event_stream(retention=100), lambda: 0, segment_bytes=1)
    reader = LogReader(tmp_path / "s")
    kept = PartitionContents(reader)
    window = CountWindow(1, Unit.ELEMENTS, partition=Partition((TriplePart.SUBJECT,)))
    for time in (10, 20, 110):
        log.append(request((time, [triple(str(time))])))
    reader.refresh()
    if asked_before:
        assert sorted(contents(reader, window, [109], kept).rows["time"].to_pylist()) == [10, 20]
    for time in (112, 250):
        log.append(request((time, [triple(str(time))])))
    reader.refresh()
    assert reader.retained_from is not None
    found = contents(reader, window, [249], kept).rows["time"].to_pylist()
    assert sorted(found) == [time for time in (10, 20, 110, 112) if time > reader.retained_from]
    reader.close()
    log.close()


def test_a_window_of_each_key_goes_on_from_what_it_held(tmp_path: Path) -> None:
    """What is far back is read once: with each instant only what has entered since."""
    site = Site(tmp_path, lateness=0)
    site.append([(time, [(f"<http://ex/{time % 3}>", "<http://ex/p>", '"x"')]) for time in range(1, 40)])
    reader = LogReader(site.layout.streams / "s")
    kept = PartitionContents(reader)
    window = CountWindow(1, Unit.ELEMENTS, partition=Partition((TriplePart.SUBJECT,)))
    contents(reader, window, [20], kept)
    with patch.object(reader, "entered", wraps=reader.entered) as entered:
        assert contents(reader, window, [25, 30], kept).rows.num_rows > 3
        assert min(call.args[0] for call in entered.mock_calls) == 20
        entered.reset_mock()
        assert sorted(contents(reader, window, [31], kept).rows["time"].to_pylist()) == [29, 30, 31]
        assert min(call.args[0] for call in entered.mock_calls) == 30
    reader.close()
    site.close()
