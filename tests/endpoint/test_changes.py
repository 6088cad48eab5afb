"""Who changes the graphs, and when: one after another, few waiting, and nobody else held up."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from endpoint import create_app
from endpoint.changes import Changes, TooManyChanges
from endpoint.graphs.change import Change
from endpoint.graphs.store import GraphStore
from endpoint.graphs.writer_process import WriterEnded, WriterProcess
from endpoint.settings import Settings
from protocol.errors import StorageFull, Unavailable
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.graphs.test_store_limits import RUNAWAY
from tests.endpoint.live.live_side import run, until
from tests.endpoint.readers.asking import numbers

SMALL = Change("INSERT DATA { <http://ex/s> <http://ex/p> 1 }")


class Panic(BaseException):
    """As pyoxigraph's is."""


class HeldStore(GraphStore):
    """Changes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.released = threading.Event()

    def change(self, change: Change) -> bool:
        self.begun.append(change.text)
        self.released.wait()
        return True


def test_changes_wait_for_their_turn_and_no_more_than_a_few() -> None:
    async def main() -> None:
        store = HeldStore()
        changes = Changes(store, FakeBackend(), most_waiting=2)
        asked = [asyncio.ensure_future(changes.make(Change(str(number)))) for number in range(3)]
        await until(lambda: changes.waiting == 2)
        with pytest.raises(TooManyChanges, match="2 updates are waiting"):
            await changes.make(Change("one too many"))
        asked[1].cancel()
        store.released.set()
        assert await asked[0]
        assert await asked[2]
        # The one whose client left before its turn was never begun.
        assert store.begun == ["0", "2"]
        changes.stop()

    run(main())


def test_a_change_that_waits_too_long_is_turned_away_and_never_done() -> None:
    async def main() -> None:
        store = HeldStore()
        changes = Changes(store, FakeBackend(), waiting_seconds=0.05)
        first = asyncio.ensure_future(changes.make(Change("first")))
        await until(lambda: store.begun == ["first"])
        with pytest.raises(TooManyChanges, match="it was not begun"):
            await changes.make(Change("second"))
        store.released.set()
        await first
        assert await changes.make(Change("third"))
        assert store.begun == ["first", "third"]
        changes.stop()

    run(main())


def test_a_client_that_leaves_does_not_take_the_turn_along() -> None:
    async def main() -> None:
        store = HeldStore()
        changes = Changes(store, FakeBackend())
        first = asyncio.ensure_future(changes.make(Change("first")))
        await until(lambda: store.begun == ["first"])
        first.cancel()
        second = asyncio.ensure_future(changes.make(Change("second")))
        await until(lambda: changes.waiting == 1)
        assert store.begun == ["first"]
        store.released.set()
        assert await second
        changes.stop()

    run(main())


class FullBackend(FakeBackend):
    def store_changed(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_change_that_continuous_queries_could_not_be_told_of_says_that_it_is_stored(tmp_path: Path) -> None:
    async def main() -> None:
        store = GraphStore(tmp_path / "store")
        changes = Changes(store, FullBackend())
        with pytest.raises(Unavailable, match="stored, but"):
            await changes.make(SMALL)
        assert len(list(store.quads())) == 1
        changes.stop()
        store.close()

    run(main())


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), Unavailable("the graphs cannot be read now"), MemoryError(), Panic()]
)
def test_whatever_keeps_continuous_queries_from_being_told_a_change_that_is_stored_is_said_to_be(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise error

    def made_and_lost(writer: WriterProcess, *asked: Any) -> bool:
        raise WriterEnded("the process that changes the store was ended")

    async def main() -> None:
        store, backend = GraphStore(tmp_path / "store"), FakeBackend()
        monkeypatch.setattr(backend, "store_changed", broken)
        changes = Changes(store, backend)
        with pytest.raises(Unavailable, match="stored, but continuous queries could not be told yet: "):
            await changes.make(SMALL)
        # Where nobody knows whether it was made, it is not said to be stored.
        monkeypatch.setattr(WriterProcess, "commit", made_and_lost)
        with pytest.raises(WriterEnded):
            await changes.make(SMALL)
        changes.stop()
        store.close()

    run(main())


def test_continuous_queries_read_the_graphs_again_where_nobody_knows_whether_a_change_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store, backend = GraphStore(tmp_path / "store"), FakeBackend()
        changes, commit = Changes(store, backend), WriterProcess.commit

        def made_and_lost(writer: WriterProcess, *asked: Any) -> bool:
            commit(writer, *asked)
            raise WriterEnded("the process that changes the store was ended")

        monkeypatch.setattr(WriterProcess, "commit", made_and_lost)
        with pytest.raises(WriterEnded):
            await changes.make(SMALL)
        assert len(list(store.quads())) == 1
        assert backend.calls == ["store_changed"]
        changes.stop()
        store.close()

    run(main())


@pytest.mark.parametrize("path", ["/streams/t", "/streams/s"])
def test_where_there_is_no_room_it_is_507(
    client: TestClient, backend: FakeBackend, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(122, "Disk quota exceeded")

    monkeypatch.setattr(backend, "create_stream", full)
    monkeypatch.setattr(backend, "append", full)
    if path == "/streams/t":
        response = client.put(path)
    else:
        response = client.post(path, content=b"<a:a> <a:b> <a:c> .", headers={"Content-Type": "text/turtle"})
    assert response.status_code == 507
    assert response.headers["content-type"] == "application/problem+json"
    assert "make room" in response.json()["detail"]
    assert 'sparql_streams_refused_total{reason="storage_full"} 1.0' in client.get("/metrics").text


def test_other_errors_of_the_system_stay_unexpected(
    client: TestClient, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(backend, "create_stream", broken)
    with pytest.raises(OSError, match="Input/output error"):
        client.put("/streams/t")


def test_a_store_without_room_is_507_and_health_says_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    message = "the store could not be written (No space left on device)"

    def full(*_: object) -> bool:
        raise StorageFull(message)

    monkeypatch.setattr(GraphStore, "change", full)
    monkeypatch.setattr(GraphStore, "full", message)
    assert client.get("/health").json()["store"] == {"state": "full", "detail": message}
    update = {"Content-Type": "application/sparql-update"}
    assert client.post("/sparql", content=SMALL.text.encode(), headers=update).status_code == 507
    graph = {"Content-Type": "text/turtle"}
    assert client.put("/graphs?default", content=b"<a:a> <a:b> <a:c> .", headers=graph).status_code == 507
    assert client.get("/sparql?query=ASK%20%7B%7D").status_code == 200


def test_updates_that_wait_hold_up_neither_health_nor_metrics(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(GraphStore, "change", lambda *_: released.wait())
    with ThreadPoolExecutor(12) as clients:
        asked = [clients.submit(client.post, "/sparql", data={"update": SMALL.text}) for _ in range(12)]
        try:
            while "sparql_streams_updates_waiting 11.0" not in client.get("/metrics").text:
                assert client.get("/health").status_code == 200
        finally:
            released.set()
        assert [one.result().status_code for one in asked] == [204] * 12


def test_an_update_over_its_time_is_504_and_counted(backend: FakeBackend) -> None:
    with TestClient(create_app(Settings(threads=2, update_timeout=2.0), backend=backend)) as client:
        assert client.post("/sparql", data={"update": numbers()}).status_code == 204
        response = client.post("/sparql", data={"update": RUNAWAY})
        assert response.status_code == 504
        assert "--update-timeout" in response.json()["detail"]
        assert 'sparql_streams_refused_total{reason="update_timeout"} 1.0' in client.get("/metrics").text
