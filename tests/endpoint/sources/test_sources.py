"""All sources of an endpoint, from one start to the next."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from endpoint.sources.run import SourceRun
from endpoint.sources.sources import Sources
from protocol.errors import Unavailable
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.sources import SourceDescription, SourceSettings, SourceState, SourceType
from protocol.streams import StreamDescription, StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.sources.live_feeds import PATIENCE, eventually


@pytest.mark.parametrize(
    ("type", "scheme", "topics"),
    [
        (SourceType.MQTT, "mqtt", ("a",)),
        (SourceType.KAFKA, "kafka", ("a",)),
        (SourceType.SSE, "http", ()),
        (SourceType.LDES, "http", ()),
        (SourceType.WEBSOCKET, "ws", ()),
    ],
)
def test_an_address_that_is_no_longer_allowed_is_not_asked(
    tmp_path: Path, type: SourceType, scheme: str, topics: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        backend = FakeBackend()
        backend.create_stream(
            "s", StreamSettings("http://ex/s", source=SourceSettings(type, url, topics, "text/turtle"))
        )
        sources = Sources(backend, NOTHING, tmp_path, 1000)
        sources.start()
        try:
            eventually(lambda: described(sources).state is SourceState.FAILING)
            assert "--allow-fetch" in str(described(sources).error)
            with pytest.raises(BlockingIOError):
                listening.accept()
        finally:
            sources.stop()


def test_who_stops_waits_no_longer_for_many_sources_than_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endpoint.sources.sources._STOP_SECONDS", 0.5)
    waited: list[float] = []

    def join(run: SourceRun, seconds: float) -> None:
        waited.append(seconds)
        run._thread.join(seconds)

    monkeypatch.setattr(SourceRun, "join", join)
    released = threading.Event()
    monkeypatch.setattr(Sources, "_connected", lambda sources, surroundings: released.wait(PATIENCE))
    backend = FakeBackend()
    sources = Sources(backend, NOTHING, tmp_path, 1000)
    for name in ("a", "b", "c", "d"):
        backend.create_stream(name, StreamSettings(f"http://ex/{name}"))
        sources.begin(name, SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle"))
    sources.stop()
    released.set()
    assert len(waited) == 4
    assert max(waited[1:]) < 0.25, "the first one has had the time of all"


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n\r\n"


@pytest.mark.parametrize(
    ("type", "scheme", "said"),
    [
        (SourceType.SSE, "http", b""),
        (SourceType.LDES, "http", b""),
        (SourceType.LDES, "http", _HEAD),
        (SourceType.WEBSOCKET, "ws", b""),
    ],
)
def test_the_connection_of_a_deleted_stream_is_closed_though_the_other_side_says_nothing(
    tmp_path: Path, type: SourceType, scheme: str, said: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/"
        backend = FakeBackend()
        sources = Sources(backend, AllowList.of([url]), tmp_path, 1000)
        backend.create_stream("s", StreamSettings("http://ex/s"))
        began = time.monotonic()
        for _ in range(2):  # the next one of this name waits for nobody
            sources.begin("s", SourceSettings(type, url, (), "text/turtle"))
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(PATIENCE)
                connection.recv(65536)
                connection.sendall(said)
                sources.end("s")
                assert connection.recv(1) == b""
        sources.stop()
        assert time.monotonic() - began < 8, "no limit of time was over"
        ended = sources._ending["s"]
        eventually(lambda: not ended.is_alive)
        assert ended.describe().failures == 0, "what is broken off has not failed"


def test_a_client_is_taken_over_also_where_a_source_of_another_kind_had_its_name_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SourceRun, "start", lambda run: None)
    monkeypatch.setattr(SourceRun, "is_alive", property(lambda run: True))
    sources = Sources(FakeBackend(), NOTHING, tmp_path, 1000)
    mqtt = SourceSettings(SourceType.MQTT, "mqtt://127.0.0.1:1", ("a",), "text/turtle")
    sse = SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    runs: list[SourceRun] = []
    for source in (mqtt, sse, mqtt):
        sources.begin("s", source)
        runs.append(sources._runs["s"])
        sources.end("s")
    assert [run._before for run in runs] == [None, None, runs[0]]


def test_a_stream_that_was_made_anew_while_sources_are_begun_again_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former, present = (SourceSettings(SourceType.SSE, f"http://127.0.0.1:1/{n}", (), "text/turtle") for n in "ab")
    backend = FakeBackend()
    sources = Sources(backend, NOTHING, tmp_path, 1000)
    backend.create_stream("gone", StreamSettings("http://ex/gone", source=former))
    backend.create_stream("s", StreamSettings("http://ex/s", source=former))
    listed = backend.streams()
    for name in ("gone", "s"):
        backend.delete_stream(name)
        sources.end(name)
    backend.create_stream("s", StreamSettings("http://ex/s", source=present))
    monkeypatch.setattr(backend, "streams", lambda: listed)
    started: list[SourceSettings] = []
    monkeypatch.setattr(SourceRun, "start", lambda run: started.append(run._surroundings.settings))
    sources._restore()
    sources.begin("s", present)
    assert started == [present]


def test_a_source_without_a_thread_is_begun_when_it_is_asked_for_again_and_keeps_no_other_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, source = FakeBackend(), SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    start, failing = SourceRun.start, [True]

    def started(run: SourceRun) -> None:
        if failing and failing.pop():
            raise RuntimeError("can't start new thread")
        start(run)

    for name in ("a", "b"):
        backend.create_stream(name, StreamSettings(f"http://ex/{name}", source=source))
    sources = Sources(backend, NOTHING, tmp_path, 1000)
    monkeypatch.setattr(SourceRun, "start", started)
    sources.start()
    eventually(lambda: sources.describe("b") is not None)
    assert sources.describe("a") is None
    sources.begin("a", source)
    assert sources.describe("a") is not None
    sources.stop()


def test_the_source_of_a_stream_that_has_ended_is_stopped_after_a_restart_too(tmp_path: Path) -> None:
    backend = FakeBackend()
    source = SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    backend.create_stream("s", StreamSettings("http://ex/s", source=source))
    backend.end_stream("s")
    sources = Sources(backend, NOTHING, tmp_path, 1000)
    sources.start()
    eventually(lambda: described(sources).state is SourceState.STOPPED)
    assert "has ended" in (described(sources).error or "")


@pytest.mark.parametrize("stopped", [True, False])
def test_an_end_before_the_backend_is_there_is_no_failure_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stopped: bool
) -> None:
    backend = FakeBackend()
    sources = Sources(backend, NOTHING, tmp_path, 1000)

    def streams() -> list[StreamDescription]:
        if stopped:
            sources.stop()
        raise Unavailable("the backend is not running")

    def wait(seconds: float) -> bool:
        sources.stop()
        return True

    monkeypatch.setattr(backend, "streams", streams)
    monkeypatch.setattr(sources._stopping, "wait", wait)
    sources._restore()
    assert ("no source is started yet" in caplog.text) is not stopped


def test_sources_begin_as_soon_as_a_backend_that_could_not_be_built_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = FakeBackend()
    source = SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    backend.create_stream("s", StreamSettings("http://ex/s", source=source))
    there, failures = backend.streams, iter([Unavailable("the backend is not running")] * 3)

    def streams() -> list[StreamDescription]:
        if (failure := next(failures, None)) is not None:
            raise failure
        return there()

    started: list[str] = []
    monkeypatch.setattr(backend, "streams", streams)
    monkeypatch.setattr(SourceRun, "start", lambda run: started.append(run._surroundings.stream))
    monkeypatch.setattr("endpoint.sources.sources._RETRY_SECONDS", 0.0)
    Sources(backend, NOTHING, tmp_path, 1000)._restore()
    assert started == ["s"]
    assert caplog.text.count("no source is started yet") == 1


def test_what_deleted_streams_had_is_let_go_when_it_has_ended(tmp_path: Path) -> None:
    source = SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    sources = Sources(FakeBackend(), NOTHING, tmp_path, 1000)
    for number in range(3):
        sources.begin(f"s{number}", source)
        sources.end(f"s{number}")
        eventually(lambda: not any(run.is_alive for run in sources._ending.values()))
    assert list(sources._ending) == ["s2"]


def described(sources: Sources) -> SourceDescription:
    return sources.describe("s") or SourceDescription(SourceState.CONNECTING)


def test_sources_for_which_no_thread_could_be_started_begin_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = FakeBackend()
    source = SourceSettings(SourceType.SSE, "http://127.0.0.1:1/", (), "text/turtle")
    for name in ("a", "b"):
        backend.create_stream(name, StreamSettings(f"http://ex/{name}", source=source))
    failures = iter([RuntimeError("can't start new thread")] * 3)
    started: list[str] = []

    def start(run: SourceRun) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure
        started.append(run._surroundings.stream)

    monkeypatch.setattr(SourceRun, "start", start)
    monkeypatch.setattr("endpoint.sources.sources._RETRY_SECONDS", 0.0)
    sources = Sources(backend, NOTHING, tmp_path, 1000)
    with pytest.raises(RuntimeError, match="can't start"):
        sources.begin("a", source)
    assert sources.describe("a") is None
    sources._restore()
    assert sorted(started) == ["a", "b"]
    assert caplog.text.count("can't start new thread") == 2
    sources.stop()
