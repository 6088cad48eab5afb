"""Which watermarks can be said of a stream: none that would make all that comes late."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ProtocolError
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
