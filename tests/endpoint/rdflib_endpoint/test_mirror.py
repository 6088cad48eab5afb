"""Requests and changes of the application's graph, one before the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad
from rdflib import Graph, Literal, URIRef

from endpoint.graphs.change import Change
from endpoint.rdflib_endpoint.mirror import GraphMirror, Mirrored
from protocol.errors import Unavailable

A = URIRef("http://ex/a")


class Services:
    """A store that tells of changes, which wait until they are let go on."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.store = SimpleNamespace(listen=self.told.append, oxigraph=[])
        self.changes = self
        self.made: list[str] = []
        self.goes_on = asyncio.Event()
        self.fails = False
        self.refusals = Counter[str]()
        self.answered: list[int] = []

    async def make(self, change: Change) -> bool:
        # What has begun is made, whoever is cancelled.
        return await asyncio.shield(asyncio.ensure_future(self._made(change)))

    async def _made(self, change: Change) -> bool:
        await self.goes_on.wait()
        if self.fails:
            raise Unavailable("not now")
        self.made.append(change.text)
        for tell in self.told:
            tell()
        return True

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.answered.append(message["status"])


@pytest.fixture
def asked() -> list[int]:
    """How many changes were made when a request came through."""
    return []


def mirrored(monkeypatch: pytest.MonkeyPatch, graph: Graph, services: Services, asked: list[int]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(len(services.made))

    monkeypatch.setattr("endpoint.rdflib_endpoint.mirror.services_of", lambda app: services)
    mirror = Mirrored(app, GraphMirror(graph))
    return lambda: mirror({"type": "http", "app": None}, None, services.send)  # type: ignore[arg-type]


def test_a_request_waits_for_what_is_on_its_way(monkeypatch: pytest.MonkeyPatch, asked: list[int]) -> None:
    async def main() -> None:
        services = Services()
        request = mirrored(monkeypatch, Graph(), services, asked)
        both = [asyncio.ensure_future(request()) for _ in range(2)]
        # The first has taken what there is to bring, and waits; the second finds nothing more.
        for _ in range(50):
            await asyncio.sleep(0.01)
        assert asked == []
        services.goes_on.set()
        await asyncio.gather(*both)
        assert asked == [1, 1]

    asyncio.run(main())


def test_what_could_not_be_brought_is_brought_later(monkeypatch: pytest.MonkeyPatch, asked: list[int]) -> None:
    async def main() -> None:
        services, graph = Services(), Graph()
        services.goes_on.set()
        request = mirrored(monkeypatch, graph, services, asked)
        await request()
        services.fails = True
        graph.add((A, A, A))
        await request()
        assert services.answered == [503]
        services.fails = False
        await request()
        assert asked == [1, 2]
        assert "<http://ex/a> <http://ex/a> <http://ex/a>" in services.made[-1]

    asyncio.run(main())


def test_a_request_that_is_cancelled_brings_what_it_has_begun_to(
    monkeypatch: pytest.MonkeyPatch, asked: list[int]
) -> None:
    async def main() -> None:
        services, graph = Services(), Graph()
        graph.add((A, A, Literal(1)))
        request = mirrored(monkeypatch, graph, services, asked)
        leaving = asyncio.ensure_future(request())
        await asyncio.sleep(0.1)
        leaving.cancel()
        other = asyncio.ensure_future(request())
        await asyncio.sleep(0.1)
        assert asked == []
        services.goes_on.set()
        await asyncio.wait([leaving, other])
        assert leaving.cancelled()
        assert asked == [1]
        assert len(services.made) == 1

    asyncio.run(main())


def test_a_change_is_brought_without_a_request(monkeypatch: pytest.MonkeyPatch, asked: list[int]) -> None:
    async def main() -> None:
        services, graph = Services(), Graph()
        services.goes_on.set()
        await mirrored(monkeypatch, graph, services, asked)()
        graph.add((A, A, A))
        async with asyncio.timeout(60):
            while len(services.made) < 2:
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_a_change_is_no_error_where_the_loop_has_ended_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    services, graph = Services(), Graph()
    services.goes_on.set()
    asyncio.run(mirrored(monkeypatch, graph, services, [])())
    # Looked at a moment before it was closed.
    looks = iter([False])
    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.is_closed", lambda self: next(looks, True))
    graph.add((A, A, A))
    assert len(graph) == 1


def test_an_update_is_answered_where_the_graph_does_not_take_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        services, graph, sent = Services(), Graph(), list[Any]()
        services.goes_on.set()
        services.store.oxigraph = [Quad(NamedNode(A), NamedNode(A), NamedNode(A))]
        add, errors = graph.store.add, [OSError("no room")]

        def full(*args: Any, **kwargs: Any) -> None:
            if errors:
                raise errors.pop()
            add(*args, **kwargs)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if not sent:
                await services.make(Change("an update of the request's", None))
            await send({"type": "http.response.start"})

        async def send(message: Any) -> None:
            sent.append(len(graph))

        graph.store.add = full  # type: ignore[method-assign]
        monkeypatch.setattr("endpoint.rdflib_endpoint.mirror.services_of", lambda app: services)
        request = Mirrored(app, GraphMirror(graph))
        for _ in range(2):
            await request({"type": "http", "app": None}, None, send)  # type: ignore[arg-type]
        assert sent == [0, 1]
        assert "not in the rdflib graph yet" in caplog.text

    asyncio.run(main())


def test_an_answer_waits_for_no_changes_that_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        services, graph, sent = Services(), Graph(), list[Any]()
        services.goes_on.set()

        class Store:
            """One that is read only while the application changes its graph."""

            listen = staticmethod(services.told.append)

            @property
            def oxigraph(self) -> list[Any]:
                graph.add((A, A, Literal(len(graph))))
                return []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await services.make(Change("an update of the request's", None))
            await send({"type": "http.response.start"})

        async def send(message: Any) -> None:
            sent.append(message)

        services.store = Store()  # type: ignore[assignment]
        monkeypatch.setattr("endpoint.rdflib_endpoint.mirror.services_of", lambda app: services)
        mirrored = Mirrored(app, GraphMirror(graph))
        await asyncio.wait_for(mirrored({"type": "http", "app": None}, None, send), 10)  # type: ignore[arg-type]
        assert sent == [{"type": "http.response.start"}]

    asyncio.run(main())
