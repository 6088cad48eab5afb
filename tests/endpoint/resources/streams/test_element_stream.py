"""A stream's own elements as events (docs/http.md, "Reading a stream")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.streams import StreamElement, StreamGap, StreamSettings, TimeKind
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, run, until

EVENTS = "text/event-stream"
ONE = StreamElement(0, 1_000, b"<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> <http://e/c> .\n")
TWO = StreamElement(1, 500, b"")
THREE = StreamElement(2, 2_000, b"<http://e/a> <http://e/p> <http://e/d> <http://e/g> .\n")


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings("http://e/s", TimeKind.EVENT))
    backend.advance("s", 1_999)
    return backend


async def listened(backend: FakeBackend, path: str, events: int, **headers: Any) -> list[dict[str, str]]:
    exchange = Exchange(create_app(Settings(threads=2), backend=backend), path, accept=EVENTS, **headers)
    await until(lambda: len(exchange.events) >= events)
    assert (exchange.status, exchange.headers["content-type"].partition(";")[0]) == (200, EVENTS)
    await exchange.leave()
    return exchange.events


def test_an_element_is_an_event_with_its_triples_and_a_progress_event_with_its_time(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]
    exchanged: list[dict[str, str]] = []

    async def test() -> None:
        app = create_app(Settings(threads=2), backend=backend)
        exchange = Exchange(app, "/streams/s?since=beginning", accept=EVENTS)
        await until(lambda: len(exchange.events) == 6)
        assert b" <http://e/b> .\ndata: <http://e/a> <http://e/p> <http://e/c> .\n\n" in exchange.body
        exchanged.extend(exchange.events)
        await exchange.leave()

    run(test())
    assert [event.get("id") for event in exchanged[::2]] == ["0" * 15 + "0", "0" * 15 + "1", "0" * 15 + "2"]
    assert [json.loads(event["data"]) for event in exchanged[1::2]] == [
        {"time": f"1970-01-01T00:00:0{time}Z", "watermark": "1970-01-01T00:00:01.999Z"} for time in ("1", "0.500", "2")
    ]
    assert exchanged[4]["data"] == "<http://e/a> <http://e/p> <http://e/d> <http://e/g> ."


def test_a_listener_goes_on_after_the_event_it_had_last(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]
    token = "0" * 15 + "1"
    for path, headers in (("/streams/s", {"last_event_id": token}), (f"/streams/s?lastEventId={token}", {})):

        async def test(path: str = path, headers: dict[str, str] = headers) -> None:
            events = await listened(backend, path, 2, **headers)
            assert [event["id"] for event in events if "id" in event] == ["0" * 15 + "2"]

        run(test())


def test_ids_tell_a_stream_from_one_that_had_its_name_before(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]
    backend.incarnation = 3

    async def test(last_event_id: str, wanted: list[str]) -> None:
        events = await listened(backend, "/streams/s", 2 * len(wanted), last_event_id=last_event_id)
        assert [event["id"] for event in events if "id" in event] == wanted

    number = "0" * 15
    run(test(number + "13", [number + "23"]))
    for of_another in (number + "1", number + "12"):
        run(test(of_another, [number + "03", number + "13", number + "23"]))


def test_since_leaves_out_what_is_older(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]

    async def test() -> None:
        events = await listened(backend, "/streams/s?since=1000", 2)
        assert [event["id"] for event in events if "id" in event] == ["0" * 15 + "2"]

    run(test())


def test_until_leaves_out_what_is_later_and_ends_once_nothing_earlier_can_come(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]

    async def test() -> None:
        path = "/streams/s?since=700&until=1999"
        exchange = Exchange(create_app(Settings(threads=2), backend=backend), path, accept=EVENTS)
        await exchange.task
        assert [event["id"] for event in exchange.events if "id" in event] == ["0" * 15 + "0"]
        assert [event.get("event", "message") for event in exchange.events] == ["message", "progress", "end"]

    run(test())


def test_a_time_that_is_to_come_is_waited_for(backend: FakeBackend) -> None:
    backend.followed += [ONE, TWO, THREE]

    async def test() -> None:
        path = "/streams/s?since=beginning&until=2000"
        exchange = Exchange(create_app(Settings(threads=2), backend=backend), path, accept=EVENTS)
        await until(lambda: len(exchange.events) == 6)
        assert not exchange.task.done()
        backend.advance("s", 2_000)
        await exchange.task
        assert json.loads(exchange.events[-1]["data"])["reason"]

    run(test())


@pytest.mark.parametrize(("since", "reset"), [("500", True), ("700", False), ("1000", False), ("beginning", False)])
def test_since_a_time_that_is_held_no_more_is_a_reset(backend: FakeBackend, since: str, reset: bool) -> None:
    backend.followed += [ONE, TWO, THREE]
    backend.retained["s"] = 700

    async def test() -> None:
        events = await listened(backend, f"/streams/s?since={since}", 2)
        resets = [event["data"] for event in events if event.get("event") == "reset"]
        assert resets == (['{"time":"1970-01-01T00:00:00.700Z"}'] if reset else [])

    run(test())


def test_what_is_held_no_more_is_a_reset_and_the_end_of_the_stream_is_the_end(backend: FakeBackend) -> None:
    backend.followed += [StreamGap(700), ONE]
    backend.end_stream("s")

    async def test() -> None:
        app = create_app(Settings(threads=2), backend=backend)
        exchange = Exchange(app, "/streams/s?since=beginning", accept=EVENTS)
        await exchange.task
        assert [event.get("event", "message") for event in exchange.events] == ["reset", "message", "progress", "end"]
        assert json.loads(exchange.events[0]["data"]) == {"time": "1970-01-01T00:00:00.700Z"}

    run(test())


def test_of_many_who_listen_to_a_stream_one_looks_whether_there_is_more(backend: FakeBackend) -> None:
    count = 30

    async def test() -> None:
        app = create_app(Settings(threads=2), backend=backend)
        exchanges = [Exchange(app, "/streams/s", accept=EVENTS) for _ in range(count)]
        await until(lambda: all(exchange.body for exchange in exchanges))
        await until(lambda: backend.calls.count("reach") > 5)
        assert backend.calls.count("take") == count  # each once, to see that there is nothing
        backend.followed += [ONE]
        await until(lambda: all(exchange.events for exchange in exchanges))
        for exchange in exchanges:
            await exchange.leave()

    run(test())


def test_a_stream_that_is_deleted_ends(backend: FakeBackend) -> None:
    async def test() -> None:
        exchange = Exchange(create_app(Settings(threads=2), backend=backend), "/streams/s", accept=EVENTS)
        await until(lambda: exchange.body)
        backend.delete_stream("s")
        await exchange.task
        assert json.loads(exchange.events[-1]["data"]) == {"reason": "the stream was deleted"}

    run(test())


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/streams/s", {"Last-Event-ID": "17"}, 400),
        ("/streams/s?lastEventId=x", {}, 400),
        ("/streams/s?since=soon", {}, 400),
        ("/streams/s?until=later", {}, 400),
        ("/streams/t", {}, 404),
    ],
)
def test_what_cannot_be_listened_to_is_an_ordinary_error(
    backend: FakeBackend, path: str, headers: dict[str, str], status: int
) -> None:
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        assert client.get(path, headers={"Accept": EVENTS, **headers}).status_code == status
        assert client.get("/streams/s", headers={"Accept": "text/html,*/*;q=0.8"}).json()["name"] == "s"
