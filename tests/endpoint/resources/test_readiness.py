from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from starlette.applications import Starlette

from endpoint import create_app
from endpoint.readers.errors import Overloaded, ReaderEnded
from endpoint.readers.pool import ReaderPool
from endpoint.resources import health
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.errors import Unavailable
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend


def failing(error: Exception) -> Callable[..., AbstractAsyncContextManager[None]]:
    """In place of ``ReaderPool.answer``."""

    @asynccontextmanager
    async def answer(*arguments: object) -> AsyncGenerator[None, None]:
        if arguments:
            raise error
        yield

    return answer


@pytest.mark.parametrize(
    ("error", "ready", "detail"),
    [
        (Unavailable("no process could be started"), False, "no process could be started"),
        (ReaderEnded("the process ended"), False, "the process ended"),
        (OSError("no space left"), False, "no space left"),
        (Overloaded("256 queries are waiting"), True, "256 queries are waiting"),
    ],
)
def test_what_is_wrong_with_one_shot_queries_is_said_but_not_that_they_are_many(
    monkeypatch: pytest.MonkeyPatch, error: Exception, ready: bool, detail: str
) -> None:
    monkeypatch.setattr(ReaderPool, "answer", failing(error))
    with TestClient(create_app(Settings(threads=2), backend=FakeBackend())) as client:
        response = client.get("/health/ready")
        assert response.status_code == (200 if ready else 503)
        assert response.json()["parts"]["oneShot"] == {"ready": ready, "detail": detail}


@pytest.mark.parametrize("there", [True, False])
def test_a_query_that_waits_is_told_from_one_that_nobody_will_answer(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(ReaderPool, "answer", failing(TimeoutError()))
    monkeypatch.setattr(ReaderPool, "processes", [1] if there else [])
    with TestClient(create_app(Settings(threads=2), backend=FakeBackend())) as client:
        part = client.get("/health/ready?part=oneShot").json()["parts"]["oneShot"]
        assert part["ready"] is there
        assert ("wait for their turn" in part["detail"]) is there


def test_health_is_answered_while_every_thread_is_at_work() -> None:
    app: Starlette = create_app(Settings(threads=1), backend=FakeBackend())
    free = threading.Event()

    def wait() -> None:
        free.wait(30)

    with TestClient(app) as client:
        client.get("/health/live")
        services_of(app).threads._work.put(wait)
        try:
            for path in ("/health", "/health/live", "/health/ready"):
                assert client.get(path).status_code == 200
        finally:
            free.set()
    assert health.ONE_SHOT_SECONDS < 10, "a probe has to have its answer before it gives up"
