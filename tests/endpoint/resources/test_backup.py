"""``GET /backup``: an archive of what the backend and the store gave, and nothing left behind."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

import pyoxigraph as ox
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from endpoint import create_app
from endpoint.readers import response
from endpoint.resources.backup import ArchiveResponse, archive
from endpoint.services import services_of
from endpoint.settings import Settings
from endpoint.sinks.sink_files import KeptSink, SinkFiles
from protocol.evaluation_limits import NO_LIMITS
from protocol.grammar.parser import parse_live
from protocol.sinks.settings import SinkSettings, SinkType
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, run, settle, until


def test_an_archive_has_the_store_as_it_is_and_nothing_is_left(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path / "data"), backend=FakeBackend())
    with TestClient(app) as client:
        client.post("/sparql", data={"update": "INSERT DATA { <http://ex/a> <http://ex/p> 1 }"})
        told = client.get("/backup")
        assert told.status_code == 200
        assert told.headers["content-type"] == "application/x-tar"
        data = services_of(app).data
        assert not list(data.glob("backup-*"))
    with tarfile.open(fileobj=io.BytesIO(told.content)) as archive:
        archive.extractall(tmp_path / "copy", filter="data")
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {"format", "streams", "store"}
    assert len(ox.Store.read_only(str(tmp_path / "copy" / "store"))) == 1


def test_what_others_may_not_read_they_may_not_in_a_copy_either(tmp_path: Path) -> None:
    directory, copy = tmp_path / "backup-x", tmp_path / "copy"
    sink = KeptSink("q", "a", SinkSettings(SinkType.WEBHOOK, "http://e/", "json", headers=(("X-Key", "secret"),)), "")
    SinkFiles(directory).write(sink, 1000)
    with tarfile.open(fileobj=io.BytesIO(b"".join(archive(directory)))) as found:
        found.extractall(copy, filter="data")
    assert SinkFiles(copy).kept() == [sink]
    assert [S_IMODE(path.stat().st_mode) for path in (copy / "sinks" / "q").iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize("before", [True, False])
def test_a_query_that_takes_the_place_of_one_of_the_other_kind_meanwhile_is_there(tmp_path: Path, before: bool) -> None:
    """``before``: it was one of the store, else it was one over streams."""
    backend = FakeBackend()
    app = create_app(Settings(data=tmp_path / "data"), backend=backend)
    with TestClient(app) as client:
        live, copied = services_of(app).live, backend.backup
        if before:
            live.register("q", parse_live("ASK {}"), standing=True, limits=NO_LIMITS)

        def replaced_before(directory: Path) -> None:
            if not before:
                live.register("q", parse_live("ASK {}"), standing=True, limits=NO_LIMITS)
            copied(directory)

        def replaced_after(directory: Path) -> None:
            copied(directory)
            live.remove("q")

        backend.backup = replaced_after if before else replaced_before  # type: ignore[method-assign]
        archive = client.get("/backup").content
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        assert "live/queries/q.json" in found.getnames()


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
@pytest.mark.parametrize("sent", [0, 2])
def test_nothing_is_left_when_the_client_leaves(tmp_path: Path, spec_version: str, sent: int) -> None:
    directory = tmp_path / "backup-x"
    (directory / "streams").mkdir(parents=True)
    (directory / "streams" / "log").write_bytes(bytes(10_000))
    messages: list[Message] = []

    async def receive() -> Message:
        await until(lambda: len(messages) >= sent)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if len(messages) >= sent:
            raise ConnectionError if spec_version == "2.4" else asyncio.CancelledError
        messages.append(message)

    async def answer() -> None:
        scope = {"type": "http", "asgi": {"spec_version": spec_version}}
        with suppress(ClientDisconnect):
            await ArchiveResponse(directory)(scope, receive, send)

    run(answer())
    assert len(messages) == sent
    assert not directory.exists()


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_nothing_is_left_when_the_client_takes_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec_version: str
) -> None:
    monkeypatch.setattr(response, "STALLED_SECONDS", 0.02)
    directory = tmp_path / "backup-x"
    directory.mkdir()
    (directory / "file").write_bytes(b"x")
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)
        if len(messages) == 2:
            await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    run(ArchiveResponse(directory)({"type": "http", "asgi": {"spec_version": spec_version}}, receive, send))
    assert [message.get("more_body") for message in messages] == [None, True]
    assert not directory.exists()


def test_what_a_backup_that_was_cut_short_left_is_removed_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "data" / "backup-x" / "streams").mkdir(parents=True)
    with TestClient(create_app(Settings(data=tmp_path / "data"), backend=FakeBackend())):
        assert not (tmp_path / "data" / "backup-x").exists()


def test_a_second_server_takes_nothing_of_the_backup_that_the_first_one_makes(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    with TestClient(create_app(settings, backend=FakeBackend())):
        being_made = tmp_path / "data" / "backup-x"
        being_made.mkdir()
        with pytest.raises(OSError, match="another server"), TestClient(create_app(settings, backend=FakeBackend())):
            raise AssertionError("only one can own the data directory")
        assert being_made.exists()


def test_nothing_is_left_when_the_request_is_cancelled_while_the_copy_is_made(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    backend = FakeBackend()
    copied = backend.backup

    def slowly(directory: Path) -> None:
        begun.set()
        assert go_on.wait(10)
        copied(directory)

    backend.backup = slowly  # type: ignore[method-assign]

    async def check() -> None:
        app = create_app(Settings(data=tmp_path), backend=backend)
        async with app.router.lifespan_context(app):
            asking = Exchange(app, "/backup").task
            await until(begun.is_set)
            asking.cancel()
            await settle()
            go_on.set()
            await asyncio.wait([asking])
            assert not list(tmp_path.glob("backup-*"))

    run(check())
