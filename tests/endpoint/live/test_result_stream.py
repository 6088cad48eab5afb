from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from SPARQLWrapper import JSON, SPARQLWrapper
from starlette.applications import Starlette

from endpoint import create_app
from endpoint.backend import Ended, Evaluation, Failed, Progress
from endpoint.live import event_stream, replay, result_stream, subscription
from endpoint.live.channel import Bounds
from endpoint.live.hub import Hub
from endpoint.live.subscription import StartingPoint
from endpoint.services import services_of, set_services
from endpoint.settings import Settings
from protocol.formats import sse
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, Exchange, answer, continuous, run, settle, until
from tests.endpoint.store_queries.store_side import no_store_queries

EVENTS = {"Accept": "text/event-stream"}
RESULTS = "/queries/q/results"


def backend_with_query() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    backend.register("q", continuous(), standing=True)
    return backend


@asynccontextmanager
async def running(backend: FakeBackend) -> AsyncIterator[Starlette]:
    app = create_app(Settings(threads=2), backend=backend)
    async with app.router.lifespan_context(app):
        yield app


def test_the_headers_say_a_stream_that_nobody_keeps() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            listener = Exchange(app, RESULTS, accept="text/event-stream")
            await until(lambda: listener.body)
            assert listener.headers["content-type"].startswith("text/event-stream")
            assert "no-store" in listener.headers["cache-control"]
            assert listener.headers["vary"].lower().find("accept") >= 0
            assert listener.body.startswith(b":")  # something at once, for proxies that wait for it
            await listener.leave()

    run(check())


def test_what_is_given_out_once_the_client_has_seen_the_headers_is_not_missed() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            listener = Exchange(app, RESULTS, accept="text/event-stream")
            while listener.status is None:
                await asyncio.sleep(0)
            backend.evaluate("q", 1000, answer(1))
            await until(lambda: listener.instants == [1000])
            await listener.leave()

    run(check())


def test_events_are_as_the_documentation_has_them() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            listener = Exchange(app, RESULTS, accept="text/event-stream")
            await until(lambda: listener.status)
            backend.push(
                Evaluation("q", 8000, answer(1)), Progress("q", 8000, 9000), Failed("q", 9000, "division by zero"),
                Ended("q", "all streams have ended"),
            )  # fmt: skip
            await listener.task
            answered, progress, failed, ended = listener.events
            assert answered == {"id": sse.resume_token(8000), "data": answer(1).decode()}
            assert progress == {
                "event": "progress", "data": '{"time":"1970-01-01T00:00:08Z","watermark":"1970-01-01T00:00:09Z"}'
            }  # fmt: skip
            assert failed["event"] == "error"
            assert '"detail":"division by zero"' in failed["data"]
            assert '"time":"1970-01-01T00:00:09Z"' in failed["data"]
            assert ended["event"] == "end"

    run(check())


def test_heartbeats_are_comments_and_come_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert event_stream.HEARTBEAT_SECONDS < 15
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.001)

    async def check() -> None:
        async with running(backend_with_query()) as app:
            listener = Exchange(app, RESULTS, accept="text/event-stream")
            await until(lambda: len(listener.chunks) > 5)
            assert listener.events == []
            assert all(chunk.startswith(b": ") and chunk.endswith(b"\n\n") for chunk in listener.chunks)
            await listener.leave()

    run(check())


@pytest.mark.parametrize("ahead", [True, False])
def test_a_resume_point_that_these_streams_cannot_have_given_is_warned_of(ahead: bool) -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.push(Progress("q", 5000, 5000))
        async with running(backend) as app:
            last = sse.resume_token(9000 if ahead else 5000)
            listener = Exchange(app, RESULTS, accept="text/event-stream", last_event_id=last)
            await until(lambda: listener.body)
            assert (b": warning: Last-Event-ID is of the answer at 1970-01-01T00:00:09Z" in listener.body) is ahead
            assert (b"complete up to 1970-01-01T00:00:05Z only" in listener.body) is ahead
            backend.evaluate("q", 9000, answer(1))
            backend.evaluate("q", 10000, answer(2))
            await until(lambda: 10000 in listener.instants)
            assert listener.instants == ([10000] if ahead else [9000, 10000])
            await listener.leave()

    run(check())


def test_a_client_that_leaves_releases_everything() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            listeners = [Exchange(app, RESULTS, accept="text/event-stream") for _ in range(10)]
            await until(lambda: services_of(app).hub.listeners() == {"q": 10})
            for listener in listeners:
                await listener.leave()
            assert services_of(app).hub.listeners() == {}

    run(check())


def test_a_listener_whose_connection_takes_nothing_holds_up_nobody_and_is_cut_off() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            hub = Hub(backend, no_store_queries(), bounds=Bounds(entries=8))
            hub.bind()
            backend.listen(hub.receive)
            set_services(app, replace(services_of(app), hub=hub))
            fast = Exchange(app, RESULTS, accept="text/event-stream")
            slow = Exchange(app, RESULTS, takes=asyncio.Event(), accept="text/event-stream")
            await until(lambda: services_of(app).hub.listeners() == {"q": 2})
            for n in range(1, 41):
                backend.evaluate("q", n, answer(n))
                await settle()
            await until(lambda: fast.instants == list(range(1, 41)))
            slow.takes.set()
            await slow.task
            assert slow.instants == [1]
            last = slow.events[-1]
            assert last["event"] == "error"
            assert f'"lastEventId":"{sse.resume_token(1)}"' in last["data"]
            resumed = Exchange(app, RESULTS, accept="text/event-stream", last_event_id=slow.events[0]["id"])
            await until(lambda: resumed.instants == list(range(2, 41)))
            await fast.leave()
            await resumed.leave()

    run(check())


class SlowHistory(FakeBackend):
    """Gives back what is past up to an instant, and the rest of it when it may go on."""

    upto = 3
    replays = 0

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def replay(self, *asked: Any, **more: Any) -> Iterator[Any]:
        self.replays += 1
        for outcome in super().replay(*asked, **more):
            if outcome.instant > self.upto:
                self.goes_on.wait()
            yield outcome


def slow_history() -> SlowHistory:
    """With five answers of a query."""
    backend = SlowHistory()
    backend.create_stream("s", StreamSettings(STREAM))
    backend.register("q", continuous(), standing=True)
    for instant in range(1, 6):
        backend.evaluate("q", instant, answer(instant))
    return backend


def test_a_slow_replay_goes_out_as_it_comes_and_is_there_for_others_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "_KEPT_BACK_SECONDS", 0.01)
    monkeypatch.setattr(replay, "CHUNK", 1)

    async def check() -> None:
        backend = slow_history()
        async with running(backend) as app:
            first = Exchange(app, RESULTS + "?since=beginning", accept="text/event-stream")
            await until(lambda: first.instants == [1, 2, 3])
            second = Exchange(app, RESULTS + "?since=beginning", accept="text/event-stream")
            await settle()
            backend.goes_on.set()
            await until(lambda: first.instants == second.instants == [1, 2, 3, 4, 5])
            assert backend.replays == 1
            await first.leave()
            await second.leave()

    run(check())


def test_who_leaves_a_slow_replay_lets_others_go_on_and_comes_back_to_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "_KEPT_BACK_SECONDS", 0.01)
    monkeypatch.setattr(replay, "CHUNK", 1)

    async def check() -> None:
        backend = slow_history()
        async with running(backend) as app:
            listener = Exchange(app, RESULTS + "?since=beginning", accept="text/event-stream")
            await until(lambda: listener.instants == [1, 2, 3])
            leaving = asyncio.ensure_future(listener.leave())
            await settle()
            backend.goes_on.set()
            await leaving
            again = Exchange(app, RESULTS, accept="text/event-stream", last_event_id=listener.events[-1]["id"])
            await until(lambda: again.instants == [4, 5])
            await again.leave()

    run(check())


def test_a_failing_replay_is_the_last_event() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.evaluate("q", 1000, answer(1))
        hub = Hub(backend, no_store_queries())
        hub.bind()
        backend.failures["replay"] = RuntimeError("the disk is gone: /secret/path")
        stream = result_stream.result_events(await hub.subscribe("q", StartingPoint(0)))
        told = b"".join([event async for event in stream])
        assert b"event: error" in told
        assert b"secret" not in told

    run(check())


def test_a_subscription_that_cannot_be_had_is_an_error_before_any_header() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            missing = Exchange(app, "/queries/nothing/results", accept="text/event-stream")
            await missing.task
            assert (missing.status, missing.headers["content-type"]) == (404, "application/problem+json")

    run(check())


def test_the_hub_stopping_completes_every_response() -> None:
    async def check() -> None:
        backend = backend_with_query()
        async with running(backend) as app:
            listener = Exchange(app, RESULTS, accept="text/event-stream")
            await until(lambda: services_of(app).hub.listeners())
            await services_of(app).hub.stop()
            await listener.task
            assert listener.complete
            assert listener.events == []

    run(check())


@contextmanager
def served(app: Starlette) -> Iterator[tuple[uvicorn.Server, str]]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="on"))
    started = threading.Event()
    startup = server.startup

    async def announced(*arguments: Any, **given: Any) -> None:
        await startup(*arguments, **given)
        started.set()

    server.startup = announced  # type: ignore[method-assign]  # of this one object
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(30)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.server
def test_over_a_real_server_results_stream_resume_and_are_let_go_of() -> None:
    backend = backend_with_query()
    app = create_app(Settings(threads=2), backend=backend)
    with served(app) as (_, url), httpx.Client(base_url=url, timeout=20) as client:
        with client.stream("GET", RESULTS, headers=EVENTS) as response:
            assert response.status_code == 200
            backend.evaluate("q", 1000, answer(1))
            backend.evaluate("q", 2000, answer(2))
            lines = response.iter_lines()
            ids = [line.removeprefix("id: ") for line in until_data(lines, 2) if line.startswith("id: ")]
        assert ids == [sse.resume_token(1000), sse.resume_token(2000)]
        with client.stream("GET", RESULTS, headers={**EVENTS, "Last-Event-ID": ids[0]}) as response:
            lines = response.iter_lines()
            assert until_data(lines, 1)[-1] == "data: " + answer(2).decode()
            backend.push(Ended("q", "over"))
            assert "event: end" in list(lines)  # and then the connection closes

        async def released() -> None:
            await until(lambda: services_of(app).hub.listeners() == {})

        anyio.run(released)


def until_data(lines: Iterator[str], count: int) -> list[str]:
    """The lines up to the ``count``-th answer."""
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line.startswith('data: {"head"'):
            count -= 1
            if count == 0:
                return seen
    raise AssertionError("the stream ended before")


@pytest.mark.server
def test_a_client_that_knows_nothing_of_streams_gets_a_table_from_a_real_server() -> None:
    backend = backend_with_query()
    app = create_app(Settings(threads=2), backend=backend)
    with served(app) as (_, url):
        wrapper = SPARQLWrapper(f"{url}/sparql")
        wrapper.setQuery(
            "SELECT ?n FROM NAMED WINDOW <http://e/w> ON <streams/s> [RANGE PT1S] "
            "WHERE { WINDOW <http://e/w> { ?s ?p ?n } }"
        )
        wrapper.setReturnFormat(JSON)
        stop = threading.Event()

        def evaluations() -> None:
            instant = 0
            while not stop.wait(0.01):
                instant += 1000
                for query in backend.queries():
                    if not query.standing:
                        backend.evaluate(query.name, instant, answer(7))

        feeder = threading.Thread(target=evaluations)
        feeder.start()
        try:
            table: Any = wrapper.query().convert()
        finally:
            stop.set()
            feeder.join()
        assert [row["n"]["value"] for row in table["results"]["bindings"]] == ["7"]
