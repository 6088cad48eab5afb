"""A stream is made, ended or deleted while others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest

from protocol.errors import Conflict
from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.layout import Layout
from spark_backend.log.format.segment import ActiveSegment
from spark_backend.log.writer import StreamLog
from spark_backend.streams.shapes import StreamShapes
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import _watermark_before_end
from tests.spark_backend.streams.opened_streams import opened

OTHER = StreamSettings("http://ex/other", TimeKind.EVENT)


def meanwhile(streams: Streams, changed: list[str]) -> Callable[..., None]:
    """A slow step, within which another thread appends to the other stream."""

    def append() -> None:
        streams.append("other", b"<http://ex/a> <http://ex/p> 1 .", "text/turtle", 1)
        changed.append("other")

    def step(*_: object) -> None:
        other = Thread(target=append, daemon=True)
        other.start()
        other.join(timeout=20)

    return step


def test_the_shapes_of_a_stream_are_read_while_others_are_appended_to(tmp_path: Path) -> None:
    changed: list[str] = []
    with opened(tmp_path) as streams:
        streams.create("other", OTHER)
        with patch.object(StreamShapes, "check", meanwhile(streams, changed)):
            assert streams.create("s", StreamSettings("http://ex/s", shape="http://ex/shape"))
        assert changed == ["other"]


def test_of_two_that_make_a_stream_at_once_one_has_made_it(tmp_path: Path) -> None:
    settings = StreamSettings("http://ex/s")

    def made_by_another(_: object) -> None:
        with patch.object(StreamShapes, "check"):
            assert streams.create("s", settings)

    with opened(tmp_path) as streams:
        with patch.object(StreamShapes, "check", side_effect=made_by_another):
            assert not streams.create("s", settings)
        streams.drop("s")
        streams.delete_dropped()
        other = StreamSettings("http://ex/other")
        with patch.object(StreamShapes, "check", side_effect=made_by_another), pytest.raises(Conflict):
            streams.create("s", other)


def test_no_stream_is_made_whose_url_is_the_iri_of_another(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("f", StreamSettings(streams.url("g")))
        streams.create("h", StreamSettings(streams.url("i/late")))
        for name, other in (("g", "f"), ("i", "h")):
            with pytest.raises(Conflict, match=f"/streams/{name}.* is that of the stream {other} already"):
                streams.create(name, StreamSettings(f"http://ex/{name}"))
            assert [stream.name for stream in streams.describe_all()] == ["f", "h"]


def test_what_cannot_be_closed_keeps_nothing_else_open(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("other", OTHER)
        failing = patch.object(ActiveSegment, "trim", side_effect=OSError(5, "Input/output error"))
        with failing, patch.object(streams._parsers, "close") as closed:
            with pytest.raises(OSError, match="Input/output error"):
                streams.close()
            closed.assert_called_once_with()


def test_a_log_that_cannot_be_written_keeps_no_other_from_letting_go_of_what_is_old(tmp_path: Path) -> None:
    told: list[str] = []

    def retain(log: StreamLog, *_: object) -> None:
        told.append(log._directory.name)
        raise OSError(5, "Input/output error")

    with opened(tmp_path) as streams:
        streams.create("s", StreamSettings("http://ex/s"))
        streams.create("other", OTHER)
        with patch.object(StreamLog, "retain", retain), pytest.raises(OSError, match="Input/output error"):
            streams.retain({})
        assert sorted(told) == sorted([streams.read("s"), streams.read("other")])


def test_a_large_stream_is_deleted_while_others_are_appended_to(tmp_path: Path) -> None:
    changed: list[str] = []
    with opened(tmp_path) as streams:
        streams.create("other", OTHER)
        streams.create("s", StreamSettings("http://ex/s", TimeKind.EVENT))
        with patch.object(StreamLog, "delete", meanwhile(streams, changed)):
            streams.drop("s")
            streams.delete_dropped()
        assert changed == ["other"]


def test_how_far_the_clock_was_before_the_end_is_in_the_log_whatever_ticks_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [10_000]
    advance = StreamLog.advance
    ended: dict[str, Instant] = {}

    with opened(tmp_path, lambda: now[0]) as streams:

        def after_a_tick(log: StreamLog, watermark: Instant) -> Instant:
            now[0] += 20
            streams.tick()
            return ended.setdefault(log._directory.name, advance(log, watermark))

        streams.create("s", StreamSettings("http://ex/s"))
        streams.read("s/late")
        streams.read("s/rejected")
        now[0] = 20_000
        streams.tick()
        monkeypatch.setattr(StreamLog, "advance", after_a_tick)
        streams.end("s")
        assert len(ended) == 3
        for name, watermark in ended.items():
            assert _watermark_before_end(Layout(tmp_path).streams / name) == watermark
