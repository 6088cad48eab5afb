from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from endpoint import create_app
from endpoint.life import Life
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.errors import StorageFull
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, run, settle, until

ASK = {"query": "ASK { ?s ?p 'kept' }"}
INSERT = {"update": "INSERT DATA { <http://ex/s> <http://ex/p> 'kept' }"}


def settings(**given: Any) -> Settings:
    return Settings(threads=2, **given)


def test_the_backend_listens_to_the_hub_before_it_starts_and_is_stopped_at_the_end() -> None:
    backend = FakeBackend()
    with TestClient(create_app(settings(), backend=backend)):
        # Sources and sinks ask at once, when it was started, what there is.
        assert backend.calls[:2] == ["listen", "start"]
    assert backend.calls.count("stop") == 1


def test_an_application_has_its_services_once_it_was_started() -> None:
    backend = FakeBackend()
    app = create_app(settings(query_timeout=7), backend=backend)
    with pytest.raises(RuntimeError, match="not been started"):
        services_of(app)
    with TestClient(app):
        services = services_of(app)
        assert (services.backend, services.query_limits.seconds) == (backend, 7)


def test_graphs_in_a_data_directory_are_kept(tmp_path: Path) -> None:
    for expected in (False, True):
        with TestClient(create_app(settings(data=tmp_path / "new"), backend=FakeBackend())) as client:
            assert client.get("/sparql", params=ASK).json()["boolean"] is expected
            client.post("/sparql", data=INSERT)


def test_a_data_directory_of_a_later_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    app = create_app(settings(data=tmp_path), backend=FakeBackend())
    (tmp_path / "format").write_text("2\n")
    with pytest.raises(ValueError, match="written by a later version"), TestClient(app):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["format"]
    (tmp_path / "format").unlink()
    with TestClient(app):
        assert (tmp_path / "format").read_text() == "1\n"


def test_a_data_directory_that_cannot_be_written_is_named_with_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(ValueError, match=r"data: .*file/below.* cannot be written"),
        TestClient(create_app(settings(data=tmp_path / "file" / "below"), backend=FakeBackend())),
    ):
        pass


def test_a_data_directory_that_has_lost_its_store_is_not_served_until_one_is_made(tmp_path: Path) -> None:
    app = create_app(settings(data=tmp_path), backend=FakeBackend())
    for beside in ("streams", "catalogue.json"):
        (tmp_path / beside).mkdir()
        with (
            pytest.raises(ValueError, match=f"{tmp_path}/store.* is missing: restore it.*, or make it"),
            TestClient(app),
        ):
            pass
        assert {path.name for path in tmp_path.iterdir()} == {beside}
        (tmp_path / beside).rmdir()
    (tmp_path / "streams").mkdir()
    (tmp_path / "store").mkdir()
    with TestClient(app) as client:
        assert client.get("/sparql", params=ASK).json()["boolean"] is False


def test_without_a_data_directory_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TestClient(create_app(settings(), backend=FakeBackend())) as client:
        client.post("/sparql", data=INSERT)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_files_are_loaded_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<http://ex/s> <http://ex/p> 'kept' .")
    with TestClient(create_app(settings(load=(tmp_path / "a.ttl",)), backend=FakeBackend())) as client:
        assert client.get("/sparql", params=ASK).json()["boolean"] is True


def test_a_start_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("nonsense")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    app = create_app(settings(load=(tmp_path / "a.ttl",)), backend=FakeBackend())
    with pytest.raises(ValueError, match=r"a\.ttl"), TestClient(app):
        pass
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_second_start_that_fails_stops_the_backend_as_well() -> None:
    backend = FakeBackend()
    app = create_app(settings(), backend=backend)
    with TestClient(app):
        pass
    backend.failures["start"] = OSError("no room")
    with pytest.raises(OSError, match="no room"), TestClient(app):
        pass
    assert (backend.calls.count("start"), backend.calls.count("stop")) == (2, 2)


def test_mounted_under_a_prefix_it_starts_with_the_first_request() -> None:
    backend = FakeBackend()
    inner = create_app(settings(base_url="http://ex/rdf"), backend=backend)
    outer = Starlette(routes=[Mount("/rdf", inner)])
    with TestClient(outer, follow_redirects=False) as client:
        assert backend.calls == []
        assert client.post("/rdf/sparql", data=INSERT).status_code == 204
        assert client.get("/rdf/sparql", params=ASK).json()["boolean"] is True
        assert backend.calls.count("start") == 1
        page = client.get("/rdf/sparql", headers={"Accept": "text/html"})
        assert page.headers["location"] == "/rdf/"
        assert client.get("/rdf/").status_code == 200
        direct = client.put("/rdf/graphs/a%20b", content="<> <p> 1 .", headers={"Content-Type": "text/turtle"})
        assert direct.headers["location"] == "http://ex/rdf/graphs/a%20b"
        assert services_of(inner).hub.listeners() == {}
    # Nobody passes the end of a lifespan on; what follows is what the exit of the process does.
    services_of(inner).store.close()


def test_mounted_where_it_cannot_start_it_says_so_and_tells_nobody_where_the_data_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    inner = create_app(settings(data=tmp_path / "file" / "below"), backend=FakeBackend())
    with TestClient(Starlette(routes=[Mount("/rdf", inner)])) as client:
        refused = client.get("/rdf/sparql", params=ASK)
    assert (refused.status_code, refused.headers["content-type"]) == (503, "application/problem+json")
    assert "only one can own the data directory" in refused.json()["detail"]
    assert str(tmp_path) not in refused.text
    assert f"'{tmp_path}/file/below' cannot be written" in caplog.text


def test_mounted_where_there_is_no_room_to_start_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(directory: Path) -> None:
        raise StorageFull(f"the disk of {directory} has nothing left")

    monkeypatch.setattr("endpoint.graphs.store.require_space", full)
    inner = create_app(settings(), backend=FakeBackend())
    with TestClient(Starlette(routes=[Mount("/rdf", inner)])) as client:
        refused = client.get("/rdf/sparql", params=ASK)
    assert (refused.status_code, "cannot be started" in refused.json()["detail"]) == (503, True)


def test_only_the_origins_named_may_ask() -> None:
    app = create_app(settings(cors_origins=("https://a.example",)), backend=FakeBackend())
    with TestClient(app) as client:
        for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
            response = client.get("/sparql", params=ASK, headers={"Origin": origin})
            assert response.headers.get("access-control-allow-origin") == allowed


def test_a_page_may_read_what_a_stream_says_of_its_messages() -> None:
    backend = FakeBackend()
    with TestClient(create_app(settings(), backend=backend)) as client:
        client.put("/streams/rooms", content='{"time": "event"}')
        headers = {"Origin": "https://a.example", "Accept": "text/event-stream"}
        answer = client.head("/streams/rooms", headers=headers)
    assert answer.headers["RDF-Message-Content-Type"] == "application/n-quads"
    assert "RDF-Message-Content-Type" in answer.headers["Access-Control-Expose-Headers"]


def test_importing_the_application_imports_no_spark() -> None:
    script = "import sys; from endpoint import create_app; print(*{'pyspark', 'duckdb', 'fastapi'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout.strip() == b""


def test_readers_that_may_need_more_memory_than_there_is_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    for memory, warned in ((2**26, False), (2**50, True)):
        caplog.clear()
        with TestClient(create_app(settings(readers=2, max_readers=2, query_memory=memory), backend=FakeBackend())):
            assert ("2 queries at once" in caplog.text) is warned


@pytest.mark.parametrize(
    ("base_url", "prefix", "mounted"),
    [("", "", ""), ("https://example.org/rsp", "/rsp", ""), ("https://example.org/rsp", "/rsp", "/rsp")],
)
def test_a_slash_at_the_end_leads_to_the_path_without_it_below_the_prefix_that_clients_know(
    base_url: str, prefix: str, mounted: str
) -> None:
    outer = Starlette(routes=[Mount(mounted, create_app(settings(base_url=base_url), backend=FakeBackend()))])
    with TestClient(outer, base_url="http://example.org", follow_redirects=False) as client:
        for request, path in {
            "GET /sparql/?query=ASK%20%7B%7D&timeout=1": "/sparql?query=ASK%20%7B%7D&timeout=1",
            "POST /streams/rooms/": "/streams/rooms",
            "PUT /queries/warm//": "/queries/warm",
        }.items():
            method, _, sent = request.partition(" ")
            answer = client.request(method, f"{mounted}{sent}")
            assert (answer.status_code, answer.headers["Location"]) == (307, f"{prefix}{path}")
        assert client.get(f"{mounted}/nothing/").status_code == 404


@pytest.mark.parametrize("part", ["_built", "start"])
def test_a_mounted_endpoint_is_started_though_the_request_that_starts_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    backend = FakeBackend()
    owner = Life if part == "_built" else backend
    whole = getattr(owner, part)

    def slowly(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return whole(*arguments)

    monkeypatch.setattr(owner, part, slowly)
    app = create_app(settings(data=tmp_path), backend=backend)

    async def check() -> None:
        asking = Exchange(app, "/streams").task
        await until(begun.is_set)
        asking.cancel()
        await settle()
        go_on.set()
        await asyncio.wait([asking])
        assert asking.cancelled()
        again = Exchange(app, "/streams")
        await again.task
        assert again.status == 200
        async with app.router.lifespan_context(app):
            assert backend.calls.count("start") == 1

    run(check())
