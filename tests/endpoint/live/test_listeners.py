from __future__ import annotations

from typing import Any

import pytest

from endpoint import create_app
from endpoint.live.listeners import Listeners, TooManyListeners
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, Exchange, run, until

CONTINUOUS = (
    f"SELECT * FROM NAMED WINDOW <http://ex/w> ON <{STREAM}> [RANGE 10s] {{ WINDOW <http://ex/w> {{ ?s ?p ?o }} }}"
)
QUERY: dict[str, Any] = {"method": "POST", "body": CONTINUOUS.encode(), "content_type": "application/sparql-query"}


def test_places_are_given_back_however_the_listener_ends() -> None:
    listeners = Listeners(1)
    for _ in range(2):
        with pytest.raises(KeyError), listeners.one_more():
            raise KeyError
    with listeners.one_more(), pytest.raises(TooManyListeners), listeners.one_more():
        raise AssertionError("there was no place")
    assert listeners.count == 0


def test_one_listener_too_many_is_told_to_come_back_later() -> None:
    async def check() -> None:
        backend = FakeBackend()
        backend.create_stream("s", StreamSettings(STREAM))
        app = create_app(Settings(threads=2, max_listeners=2), backend=backend)
        first = Exchange(app, "/sparql", accept="text/event-stream", **QUERY)
        await until(lambda: first.status)
        waiting = Exchange(app, "/sparql", accept="text/csv", **QUERY)
        await until(lambda: services_of(app).listeners.count == 2)
        for accept in ("text/event-stream", "text/csv"):
            refused = Exchange(app, "/sparql", accept=accept, **QUERY)
            await until(lambda: refused.complete)  # noqa: B023 - awaited in the same turn
            assert (refused.status, refused.headers["retry-after"]) == (503, "10")
            assert "max_listeners" in refused.json["detail"]
        await first.leave()
        again = Exchange(app, "/sparql", accept="text/event-stream", **QUERY)
        await until(lambda: again.status)
        assert again.status == 200
        await again.leave()
        await waiting.leave()
        assert services_of(app).listeners.count == 0
        services_of(app).readers.end()
        services_of(app).store.close()

    run(check())
