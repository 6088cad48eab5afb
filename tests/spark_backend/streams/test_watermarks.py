"""Which watermarks can be said of a stream: none that would make all that comes late."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from protocol.errors import ProtocolError, StorageFull
from protocol.streams import StreamSettings, TimeKind
from tests.spark_backend.streams.opened_streams import elements, opened


def test_the_time_of_arrival_is_the_clock_s_alone(tmp_path: Path) -> None:
    with opened(tmp_path, lambda: 5000) as streams:
        streams.create("s", StreamSettings("http://ex/s", TimeKind.ARRIVAL))
        for watermark in (1000, 9000):
            with pytest.raises(ProtocolError, match="for event streams"):
                streams.advance("s", watermark)
        streams.append("s", b"<http://ex/a> <http://ex/p> 1 .", "text/turtle", None)
        assert [time for time, _ in elements(tmp_path, streams, "s")] == [5000]
        assert streams.end("s").ended


def test_no_watermark_is_further_ahead_of_the_clock_than_a_message_may_be(tmp_path: Path) -> None:
    with opened(tmp_path, lambda: 5000) as streams:
        streams.create("s", StreamSettings("http://ex/s", TimeKind.EVENT, max_ahead=1000))
        with pytest.raises(ProtocolError, match=r"1970-01-01T00:00:06\.001Z is more than PT1S"):
            streams.advance("s", 6001)
        assert streams.describe("s").watermark is None
        assert streams.advance("s", 6000).watermark == 6000


def test_a_stream_that_the_clock_cannot_move_holds_up_no_other_and_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1_000_000

    def unwritable() -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    def full(watermark: object) -> NoReturn:
        raise StorageFull("the disk is full")

    with opened(tmp_path, lambda: now) as streams:
        for name in ("arrival", "event", "arrival-2", "event-2"):
            time = TimeKind.EVENT if name.startswith("event") else TimeKind.ARRIVAL
            timeout = 1000 if time is TimeKind.EVENT else None
            streams.create(name, StreamSettings(f"http://ex/{name}", time, idle_timeout=timeout))
            at = 5000 if time is TimeKind.EVENT else None
            streams.append(name, b"<http://ex/a> <http://ex/p> 1 .", "text/turtle", at)
        with monkeypatch.context() as broken:
            broken.setattr(streams._log("arrival"), "tick", unwritable)
            broken.setattr(streams._log("event"), "advance", full)
            for _ in range(3):
                streams.tick()
                now += 1500
        streams.tick()
        reached = {stream.name: stream.watermark for stream in streams.describe_all()}
        assert reached == {"arrival": now - 1, "event": 9499, "arrival-2": now - 1, "event-2": 9499}
    assert [record.getMessage() for record in caplog.records] == [
        "the clock cannot move the watermark of the stream arrival: Read-only file system",
        "the clock cannot move the watermark of the stream event: the disk is full",
    ]
