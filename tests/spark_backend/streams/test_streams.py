"""A stream is made, ended or deleted while others go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import pytest

from protocol.errors import Conflict, NotFound
from protocol.sources import SourceBatch, SourceMessage
from protocol.streams import AppendReceipt, OnInvalid, StreamDescription, StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.source_messages import read_messages
from spark_backend.layout import Layout
from spark_backend.log.format.segment import ActiveSegment
from spark_backend.log.writer import StreamLog
from spark_backend.streams.late import LateElements
from spark_backend.streams.shapes import StreamShapes
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import _watermark_before_end
from tests.spark_backend.streams.opened_streams import opened

OTHER = StreamSettings("http://ex/other", TimeKind.EVENT)
EVENTS = StreamSettings("http://ex/s", TimeKind.EVENT)
DIVERTING = replace(EVENTS, on_invalid=OnInvalid.DIVERT)


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


def made_anew(streams: Streams, settings: StreamSettings) -> None:
    """Another stream is there under the name of ``s``, with the streams beside it."""
    streams.drop("s")
    streams.delete_dropped()
    streams.create("s", settings)
    streams.read("s/late")
    streams.read("s/rejected")


def posted(streams: Streams, body: bytes, at: Instant) -> AppendReceipt:
    return streams.append("s", body, "text/turtle", at)


def test_streams_are_listed_while_one_of_them_is_deleted(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", EVENTS)
        streams.create("other", OTHER)
        describe = streams.describe

        def deleted_meanwhile(name: str) -> StreamDescription:
            if name == "other":
                streams.drop("s")
            return describe(name)

        with patch.object(streams, "describe", deleted_meanwhile):
            assert [stream.name for stream in streams.describe_all()] == ["other"]


def test_the_watermark_of_a_stream_that_is_deleted_meanwhile_is_not_that_of_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", EVENTS)
        anew = patch("spark_backend.streams.streams.check_watermark", lambda *_: made_anew(streams, EVENTS))
        with anew, pytest.raises(NotFound):
            streams.advance("s", 1_000)
        assert streams.describe("s").watermark is None


def test_a_stream_that_ends_and_is_deleted_meanwhile_ends_nothing_beside_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", DIVERTING)
        end = StreamLog.end

        def ended_and_deleted(log: StreamLog) -> None:
            end(log)
            if not made:
                made.append("s")
                made_anew(streams, DIVERTING)

        made: list[str] = []
        with patch.object(StreamLog, "end", ended_and_deleted):
            streams.end("s")
        assert posted(streams, b"no RDF", 5).rejected == 1
        posted(streams, b"<a:a> <a:b> 1 .", 5)
        posted(streams, b"<a:a> <a:b> 2 .", 2)
        assert streams.describe("s/late").elements == 1


def test_a_late_element_that_is_copied_while_its_stream_is_deleted_ends_nothing_beside_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", EVENTS)
        posted(streams, b"<a:a> <a:b> 1 .", 5)
        copy = LateElements.copy

        def ended_and_deleted(late: LateElements, log: StreamLog) -> None:
            copy(late, log)
            streams._logs["s"].end()
            made_anew(streams, EVENTS)

        with patch.object(LateElements, "copy", ended_and_deleted):
            posted(streams, b"<a:a> <a:b> 2 .", 2)
        assert not streams.describe("s/late").ended
        assert not streams.describe("s/rejected").ended


def test_a_late_element_whose_stream_is_deleted_before_it_is_copied_was_stored(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", EVENTS)
        posted(streams, b"<a:a> <a:b> 1 .", 5)
        posted(streams, b"<a:a> <a:b> 2 .", 2)
        copy = LateElements.copy

        def deleted_before(late: LateElements, log: StreamLog) -> None:
            streams.drop("s")
            streams.delete_dropped()
            copy(late, log)

        with patch.object(LateElements, "copy", deleted_before):
            assert posted(streams, b"<a:a> <a:b> 3 .", 2).elements == 1
        assert streams.describe_all() == []


def test_what_a_stream_rejects_that_is_deleted_meanwhile_is_not_beside_the_next(tmp_path: Path) -> None:
    made: list[str] = []

    def read(*asked: Any, **settings: Any) -> Any:
        if not made:
            made.append("s")
            made_anew(streams, DIVERTING)
        return read_elements(*asked, **settings)

    with opened(tmp_path) as streams:
        streams.create("s", DIVERTING)
        with patch("spark_backend.streams.streams.read_elements", read), pytest.raises(NotFound):
            posted(streams, b"no RDF", 5)
        assert streams.describe("s").rejected == 0


def test_what_is_received_for_a_stream_that_is_deleted_meanwhile_is_not_beside_the_next(tmp_path: Path) -> None:
    def read(*asked: Any) -> Any:
        made_anew(streams, EVENTS)
        return read_messages(*asked)

    batch = SourceBatch([SourceMessage(b"no RDF", "text/turtle", "file:///x", b"1")], {"x": b"1"})
    with opened(tmp_path) as streams:
        streams.create("s", EVENTS)
        with patch("spark_backend.streams.streams.read_messages", read), pytest.raises(NotFound):
            streams.receive("s", batch)
        assert streams.describe("s").rejected == 0
        assert streams.positions("s") == {}


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
        for taken in ("f", "f/late", "h/rejected"):
            with pytest.raises(Conflict, match=f"/streams/{taken} is that of the stream {taken[0]} already"):
                streams.create("j", StreamSettings(streams.url(taken)))
        assert streams.create("j", StreamSettings(streams.url("f/other")))


def test_of_many_streams_those_there_are_cost_a_new_one_next_to_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        made: list[int] = []
        for number in range(12):
            with patch.object(Streams, "url", autospec=True, side_effect=Streams.url) as url:
                streams.create(f"s{number}", StreamSettings(f"http://ex/{number}"))
            made.append(url.call_count)
        assert len(set(made)) == 1, "no URLs of others are made"


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


def test_an_append_does_not_wait_until_the_clock_has_moved_all_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = StreamLog.tick
    appended: list[int] = []

    def while_one_is_moved(log: StreamLog) -> Instant | None:
        thread = Thread(
            target=lambda: appended.append(streams.append("b", b"<a:a> <a:b> 1 .", "text/turtle", None).elements),
            daemon=True,
        )
        thread.start()
        thread.join(5)
        assert appended, "it waits"
        return tick(log)

    with opened(tmp_path, lambda: 10_000) as streams:
        streams.create("a", StreamSettings("http://ex/a"))
        streams.create("b", StreamSettings("http://ex/b"))
        with monkeypatch.context() as moving:
            moving.setattr(StreamLog, "tick", while_one_is_moved)
            streams.tick()
        assert appended == [1, 1]


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
