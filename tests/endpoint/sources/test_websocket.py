"""A WebSocket as a source: what comes while it is open comes once, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from endpoint.sources.web import MESSAGE_TYPE
from endpoint.sources.websocket.connection import WebSocketConnection
from protocol.login import Login
from protocol.sources import SourceFailed, SourceSettings, SourceState, SourceType
from tests.endpoint.sources.live_feeds import Log, eventually, running, surroundings

TURTLE = "text/turtle"
Handle = Callable[[ServerConnection], None]


@contextmanager
def served(
    handle: Handle, port: int = 0, answer: Response | None = None, told: str | None = TURTLE
) -> Iterator[tuple[int, list[Request]]]:
    """A server that answers each connection with ``handle``; gives its port, and what it was asked."""
    asked: list[Request] = []

    def look(connection: ServerConnection, request: Request) -> Response | None:
        asked.append(request)
        return answer

    def tell(connection: ServerConnection, request: Request, response: Response) -> None:
        if told is not None:
            response.headers[MESSAGE_TYPE] = told

    with serve(handle, "127.0.0.1", port, process_request=look, process_response=tell) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.socket.getsockname()[1], asked
        finally:
            server.shutdown()
            thread.join()


def settings(port: int, **given: Any) -> SourceSettings:
    return SourceSettings(SourceType.WEBSOCKET, f"ws://127.0.0.1:{port}/live?a=b", **given)


def test_messages_come_once_in_order_and_again_after_the_server_was_away() -> None:
    log = Log()
    sent = 0

    def handle(connection: ServerConnection) -> None:
        nonlocal sent
        for _ in range(500):
            sent += 1
            # Text and bytes are the same to it.
            connection.send(str(sent) if sent % 2 else str(sent).encode())

    port = 0
    with served(handle, port) as (port, asked), running(WebSocketConnection, settings(port), log) as run:
        eventually(lambda: len(log.bodies) >= 1000)
        assert run.describe().failures > 0, "it was closed after each 500"
        assert "is lost" in (run.describe().notice or "")
        assert asked[0].path == "/live?a=b"
    with running(WebSocketConnection, settings(port), log) as run:
        eventually(lambda: run.describe().state is SourceState.FAILING)
        before = len(log.bodies)
        with served(handle, port):
            eventually(lambda: len(log.bodies) >= before + 500)
    assert [int(body) for body in log.bodies] == list(range(1, len(log.bodies) + 1))
    assert log.content_types == {TURTLE}
    assert log.at == {}


def test_the_settings_say_the_type_where_the_channel_does_not() -> None:
    with served(lambda connection: connection.send("{}"), told=None) as (port, _):
        with pytest.raises(SourceFailed, match="say it with the source's contentType"):
            WebSocketConnection(surroundings(settings(port))())
        connection = WebSocketConnection(surroundings(settings(port, content_type="application/json"))())
        batch = connection.take(5)
        connection.close()
    assert batch is not None
    assert [(message.body, message.content_type) for message in batch.messages] == [(b"{}", "application/json")]


def test_it_follows_no_redirect_and_has_no_message_that_is_too_long() -> None:
    with served(lambda connection: connection.send("x" * 2000)) as (port, asked):
        connection = WebSocketConnection(surroundings(settings(port), largest=1000)())
        with pytest.raises(SourceFailed, match="was closed"):
            connection.take(5)
        connection.close()
        moved = Response(302, "Found", Headers({"Location": f"ws://127.0.0.1:{port}/elsewhere", "Content-Length": "0"}))
        with served(lambda connection: None, answer=moved) as (first, _), pytest.raises(SourceFailed):
            WebSocketConnection(surroundings(settings(first), "ws:")())
        assert len(asked) == 1
        with pytest.raises(SourceFailed, match="may use"):
            WebSocketConnection(surroundings(settings(port), "ws://127.0.0.1:1/")())


def test_the_password_is_sent_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_SECRET_X", "secret")
    login = Login("me", password_variable="SPARQL_STREAMS_SECRET_X")
    with served(lambda connection: None) as (port, asked):
        WebSocketConnection(surroundings(settings(port, login=login))()).close()
    assert asked[0].headers["Authorization"] == "Basic bWU6c2VjcmV0"


def test_what_is_no_websocket_fails() -> None:
    with pytest.raises((OSError, SourceFailed)):
        WebSocketConnection(surroundings(settings(1))())
