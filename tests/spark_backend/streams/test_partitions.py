"""Streams of several partitions: what requests, sources and watermarks say of one, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import KeyReused, NotFound
from protocol.sources import SourceBatch, SourceMessage
from protocol.streams import InvalidPartition, OnInvalid, StreamSettings, TimeKind
from spark_backend.streams.streams import Streams
from tests.spark_backend.streams.opened_streams import opened

TRIPLE = b"<http://ex/a> <http://ex/p> 1 ."


def post(streams: Streams, at: int, partition: int | None, key: str | None = None) -> int | None:
    return streams.append("s", TRIPLE, "text/turtle", at, key, partition).watermark


@pytest.mark.parametrize("on_invalid", list(OnInvalid))
def test_each_partition_is_known_after_a_restart(tmp_path: Path, on_invalid: OnInvalid) -> None:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, partitions=3, on_invalid=on_invalid)
    with opened(tmp_path) as streams:
        streams.create("s", settings)
        assert post(streams, 100, 0) is None
        assert post(streams, 50, 1, "k") is None
        assert streams.describe("s").waiting_for == ("2",)
        assert streams.advance("s", 20, 2).watermark == 20
    with opened(tmp_path) as streams:
        assert not streams.create("s", settings)
        assert streams.describe("s").partitions == {"0": 99, "1": 49, "2": 20}
        assert post(streams, 50, 1, "k") is None  # as it was answered
        with pytest.raises(KeyReused):
            post(streams, 50, 2, "k")
        assert post(streams, 70, 2) == 49
        assert (streams.describe("s").elements, streams.describe("s").waiting_for) == (3, ())
        assert streams.end("s").partitions == {"0": None, "1": None, "2": None}


def test_a_partition_that_is_not_there_takes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        for name, partitions in (("s", 3), ("one", 1)):
            streams.create(name, StreamSettings(f"http://ex/{name}", TimeKind.EVENT, partitions=partitions))
        with pytest.raises(InvalidPartition, match="0 to 2"):
            post(streams, 1, 3)
        with pytest.raises(InvalidPartition, match="0 to 2"):
            streams.advance("s", 1, 3)
        with pytest.raises(InvalidPartition, match="not divided"):
            streams.advance("one", 1, 1)
        assert streams.advance("one", 1, 0).partitions == {}
        assert (streams.describe("s").elements, streams.describe("s").watermark) == (0, None)


def test_a_source_names_the_partitions_that_it_reads(tmp_path: Path) -> None:
    def batch(at: int, partition: str) -> SourceBatch:
        body = f"<http://ex/a> <http://ex/at> {at} .".encode()
        return SourceBatch([SourceMessage(body, "text/turtle", "http://ex/topic", b"")], {partition: b"1"}, partition)

    settings = StreamSettings("http://ex/s", TimeKind.EVENT, timestamp_path=("http://ex/at",))
    with opened(tmp_path) as streams:
        streams.create("s", settings)
        described, know = streams.of_partitions("s")
        assert described == settings
        know(["t/0", "t/1"])
        streams.receive("s", batch(100, "t/0"))
        assert (streams.describe("s").watermark, streams.describe("s").waiting_for) == (None, ("t/1",))
    with opened(tmp_path) as streams:
        streams.receive("s", batch(50, "t/1"))
        assert streams.describe("s").watermark == 49
        assert streams.positions("s") == {"t/0": b"1", "t/1": b"1"}


def test_partitions_that_are_read_for_a_stream_that_is_deleted_are_not_awaited_by_the_next(tmp_path: Path) -> None:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT)
    with opened(tmp_path) as streams:
        streams.create("s", settings)
        _, know = streams.of_partitions("s")
        streams.drop("s")
        streams.delete_dropped()
        streams.create("s", settings)
        with pytest.raises(NotFound):
            know(["t/0"])
        streams.append("s", b"<http://ex/a> <http://ex/p> 1 .", "text/turtle", 5)
        assert streams.describe("s").watermark == 4
