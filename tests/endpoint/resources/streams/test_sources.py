"""Sources over HTTP: begun with their streams, described with them, refused where the server may not read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from endpoint import create_app
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.formats.allow_list import AllowList
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.cancelling import MOMENTS, cancelled
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, run


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def app(data: Path, folder: Path, backend: FakeBackend, *allowed: str) -> TestClient:
    settings = Settings(threads=2, data=data, allow_fetch=AllowList.of([f"file://{folder}", *allowed]))
    return TestClient(create_app(settings, backend=backend))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def source(path: Path) -> dict[str, Any]:
    return {"source": {"type": "file", "url": path.as_uri()}}


def test_a_source_fills_its_stream_until_that_is_deleted(tmp_path: Path, folder: Path) -> None:
    backend = FakeBackend()
    path = folder / "a.ndjson"
    path.write_text('{"@id":"a:1"}\nnot RDF\n')
    with app(tmp_path / "data", folder, backend) as client:
        assert client.put("/streams/a", json=source(path)).status_code == 201
        assert client.put("/streams/a", json=source(path)).status_code == 200
        assert client.put("/streams/a", json={}).status_code == 409
        until(lambda: len(backend.appended) == 1)
        # What is stored is there a moment before the source says that it is.
        until(lambda: client.get("/streams/a").json()["sourceState"]["messages"] == 2)
        until(lambda: client.get("/streams/a").json()["sourceState"]["state"] == "running")
        described = client.get("/streams/a").json()
        assert described["source"] == source(path)["source"]
        assert described["sourceState"] | {"bytes": 0} == {
            "state": "running", "lastError": None, "notice": None, "noticeAt": None, "notices": 0,
            "messages": 2, "bytes": 0, "rejected": 1, "failures": 0,
        }  # fmt: skip
        metrics = client.get("/metrics").text
        assert 'sparql_streams_source_messages_total{stream="a"} 2.0' in metrics
        assert 'sparql_streams_source_state{state="running",stream="a"} 1.0' in metrics
    append(path, '{"@id":"a:2"}\n')
    with app(tmp_path / "data", folder, backend) as client:
        until(lambda: len(backend.appended) == 2)
        assert client.delete("/streams/a").status_code == 204
        append(path, '{"@id":"a:3"}\n')
        assert "sourceState" not in client.put("/streams/a", json={}).json()
    assert [one.body for one in backend.appended] == [b'{"@id":"a:1"}', b'{"@id":"a:2"}']


def test_a_password_that_is_not_there_is_a_warning(tmp_path: Path, folder: Path) -> None:
    password = tmp_path / "password"
    login = {"user": "me", "passwordFile": str(password)}
    settings = Settings(threads=2, data=tmp_path / "data", allow_fetch=AllowList.of(["http://127.0.0.1:9/"]))
    web = {"type": "sse", "url": "http://127.0.0.1:9/events", **login}
    with TestClient(create_app(settings, backend=FakeBackend())) as client:
        made = client.put("/streams/a", json={"source": web})
        assert made.status_code == 201
        (warning,) = made.json()["warnings"]
        assert str(password) in warning
        password.write_text("secret\n")
        assert "warnings" not in client.put("/streams/a", json={"source": web}).json()


def test_what_the_server_may_not_read_is_refused_and_nothing_is_made(tmp_path: Path, folder: Path) -> None:
    backend = FakeBackend()
    with app(tmp_path / "data", folder, backend) as client:
        for url in ("file:///etc/passwd", f"file://{folder}/../x"):
            answer = client.put("/streams/a", json={"source": {"type": "file", "url": url}})
            assert answer.status_code == 403, answer.text
            assert "--allow-fetch" in answer.json()["detail"]
        wrong = source(folder) | {"source": {**source(folder)["source"], "contentType": "text/csv"}}
        assert client.put("/streams/a", json=wrong).status_code == 415
        assert client.get("/streams/a").status_code == 404


def test_a_file_in_which_nothing_ends_a_message_is_refused(tmp_path: Path, folder: Path) -> None:
    backend = FakeBackend()
    with app(tmp_path / "data", folder, backend) as client:
        for name, content_type in (("a.ttl", None), ("a.jsonld", None), ("a.nt", "text/turtle"), ("", "text/turtle")):
            wrong = {"type": "file", "url": (folder / name).as_uri(), "contentType": content_type}
            answer = client.put("/streams/a", json={"source": wrong})
            assert answer.status_code == 400, name
            assert "is N-Triples, N-Quads or newline-delimited JSON" in answer.json()["detail"]
        plain = {"type": "file", "url": (folder / "a.ndjson").as_uri(), "contentType": "application/json"}
        answer = client.put("/streams/a", json={"source": plain, "context": {"@vocab": "http://ex/"}})
        assert answer.status_code == 400
        assert client.get("/streams/a").status_code == 404
        for name, content_type in (("a.ttl", "application/n-triples"), ("d", None), ("b.nq", None), ("c.jsonl", None)):
            right = {"type": "file", "url": (folder / name).as_uri(), "contentType": content_type}
            assert client.put(f"/streams/{name[0]}", json={"source": right}).status_code == 201, name


def test_plain_json_is_a_content_type_of_a_source_whose_stream_has_a_context(tmp_path: Path, folder: Path) -> None:
    backend = FakeBackend()
    address = "ws://127.0.0.1:9/"
    with app(tmp_path / "data", folder, backend, address) as client:
        plain = {"source": {"type": "websocket", "url": address, "contentType": "application/json"}}
        assert client.put("/streams/a", json=plain).status_code == 415
        assert client.put("/streams/a", json=plain | {"context": {"@vocab": "http://ex/"}}).status_code == 201


def test_a_source_that_cannot_be_read_says_so_and_comes_back(tmp_path: Path, folder: Path) -> None:
    backend = FakeBackend()
    with app(tmp_path / "data", folder, backend) as client:
        client.put("/streams/a", json=source(folder / "a.nt"))
        until(lambda: client.get("/streams/a").json()["sourceState"]["state"] == "failing")
        assert "there is no file" in client.get("/streams").json()["streams"][0]["sourceState"]["lastError"]
        (folder / "a.nt").write_text("<a:a> <a:p> <a:o> .\n")
        until(lambda: client.get("/streams/a").json()["sourceState"]["state"] == "running")
        until(lambda: len(backend.appended) == 1)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stream_whose_making_is_cancelled_has_its_source(
    tmp_path: Path, folder: Path, moment: tuple[int, bool]
) -> None:
    async def check(asgi: Starlette) -> None:
        services = services_of(asgi)
        await cancelled(services.hub, moment, put(asgi, folder))
        there = bool(services.backend.streams())
        assert (services.sources.describe("a") is not None) is there

    checked(tmp_path, folder, check)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stream_that_takes_the_name_of_one_whose_removal_is_cancelled_has_its_source(
    tmp_path: Path, folder: Path, moment: tuple[int, bool]
) -> None:
    async def check(asgi: Starlette) -> None:
        services = services_of(asgi)
        await put(asgi, folder)
        await cancelled(services.hub, moment, Exchange(asgi, "/streams/a", method="DELETE").task)
        gone = not services.backend.streams()
        assert (services.sources.describe("a") is None) is gone
        await put(asgi, folder)
        assert services.sources.describe("a") is not None

    checked(tmp_path, folder, check)


def put(asgi: Starlette, folder: Path) -> asyncio.Task[Any]:
    body = json.dumps(source(folder / "a.ndjson")).encode()
    return Exchange(asgi, "/streams/a", method="PUT", body=body).task


def checked(tmp_path: Path, folder: Path, check: Callable[[Starlette], Awaitable[None]]) -> None:
    async def alive() -> None:
        settings = Settings(threads=2, data=tmp_path / "data", allow_fetch=AllowList.of([f"file://{folder}"]))
        asgi = create_app(settings, backend=FakeBackend())
        async with asgi.router.lifespan_context(asgi):
            await check(asgi)

    run(alive())
