from __future__ import annotations

import asyncio
import hashlib
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.wsgi import bridge as wsgi_bridge
from endpoint.wsgi.bridge import WAITING_BYTES, Aborted, WsgiBridge, WsgiResponse
from endpoint.wsgi.loop import ApplicationLoop

View = Callable[[Scope, Receive, Send], Any]
PATIENCE = 20


def with_lifespan(view: View) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await view(scope, receive, send)
            return
        for what in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{what}.complete"})

    return app


@contextmanager
def bridged(view: View) -> Iterator[WsgiBridge]:
    running = ApplicationLoop(with_lifespan(view))
    running.start()
    try:
        yield WsgiBridge(running)
    finally:
        running.stop()


def environ(method: str = "GET", path: str = "/", body: bytes = b"", **variables: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "wsgi.input": io.BytesIO(body),
    }
    if body:
        made["CONTENT_LENGTH"] = str(len(body))
    made.update(variables)
    setup_testing_defaults(made)
    return {name: value for name, value in made.items() if value is not None}


async def begin(send: Send, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def write(send: Send, data: bytes, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def whole_body(receive: Receive) -> tuple[bytes, int]:
    """The body, and how many messages it came in."""
    pieces = []
    while True:
        message = await receive()
        assert message["type"] == "http.request", message
        pieces.append(message["body"])
        if not message["more_body"]:
            return b"".join(pieces), len(pieces)


def problem(response: WsgiResponse) -> dict[str, Any]:
    assert ("Content-Type", "application/problem+json") in response.headers
    document: dict[str, Any] = json.loads(b"".join(response.body))
    assert document["status"] == response.status
    return document


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body, pieces = await whole_body(receive)
    await begin(send, (b"content-type", b"text/plain"), (b"x-pieces", str(pieces).encode()))
    await write(send, scope["method"].encode() + b" " + scope["raw_path"] + b"?" + scope["query_string"] + b"\n", True)
    await write(send, hashlib.sha256(body).hexdigest().encode())


def test_a_request_and_its_response_are_as_wsgi_has_them() -> None:
    with bridged(echo) as bridge:
        said: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> Any:
            said.extend((status, headers))
            return lambda data: None

        asked = environ("POST", "/a", b"body", QUERY_STRING="x=%2F", CONTENT_TYPE="text/plain")
        with closing(validator(bridge)(asked, start_response)) as body:  # type: ignore[type-var]  # its iterator has a close()
            assert b"".join(body) == b"POST /a?x=%2F\n" + hashlib.sha256(b"body").hexdigest().encode()
        assert said == ["200 OK", [("content-type", "text/plain"), ("x-pieces", "1")]]


def test_a_large_body_is_passed_on_in_pieces() -> None:
    body = bytes(range(256)) * (40 * 1024)  # 10 MiB
    with bridged(echo) as bridge:
        response = bridge.respond(environ("PUT", body=body))
        assert int(dict(response.headers)["x-pieces"]) >= 160
        assert b"".join(response.body).endswith(hashlib.sha256(body).hexdigest().encode())


@pytest.mark.parametrize("body", [b"", b"x" * 200_000])
def test_a_chunked_body_is_read_to_the_end_the_server_marks(body: bytes) -> None:
    chunked: dict[str, Any] = {
        "HTTP_TRANSFER_ENCODING": "chunked",
        "wsgi.input_terminated": True,
        "CONTENT_LENGTH": None,
    }
    with bridged(echo) as bridge:
        response = bridge.respond(environ("PUT", body=body, **chunked))
        assert b"".join(response.body).endswith(hashlib.sha256(body).hexdigest().encode())


def test_a_chunked_body_whose_end_is_not_marked_needs_a_length() -> None:
    with bridged(echo) as bridge:
        unmarked = environ("PUT", body=b"abc", HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH=None)
        assert "Content-Length" in problem(bridge.respond(unmarked))["detail"]


def test_a_body_that_breaks_off_is_not_taken_for_a_whole_one() -> None:
    came: list[str] = []

    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            came.append(message["type"])
            if not message.get("more_body"):
                return

    with bridged(view) as bridge:
        document = problem(bridge.respond(environ("PUT", body=b"abc", CONTENT_LENGTH="5")))
        assert (document["status"], "3 of 5 bytes" in document["detail"]) == (400, True)
    assert came == ["http.request", "http.disconnect"]


def test_a_body_that_the_server_cannot_read_is_told_so() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("invalid chunk header")

    with bridged(echo) as bridge:
        broken: dict[str, Any] = {
            "wsgi.input": Broken(),
            "HTTP_TRANSFER_ENCODING": "chunked",
            "wsgi.input_terminated": True,
        }
        assert "invalid chunk header" in problem(bridge.respond(environ("PUT", **broken)))["detail"]


def test_looking_whether_the_client_is_there_loses_nothing_of_the_body() -> None:
    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        got = b""
        for _ in range(50):
            try:
                got += (await asyncio.wait_for(receive(), 0))["body"]
            except TimeoutError:
                await asyncio.sleep(0)
        rest, _ = await whole_body(receive) if len(got) < 300_000 else (b"", 0)
        await begin(send)
        await write(send, hashlib.sha256(got + rest).hexdigest().encode())

    body = bytes(range(250)) * 1200
    with bridged(view) as bridge:
        assert b"".join(bridge.respond(environ("PUT", body=body)).body) == hashlib.sha256(body).hexdigest().encode()


def test_a_chunk_is_given_out_before_the_next_one_is_made() -> None:
    may_go_on = threading.Event()

    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        await begin(send)
        await write(send, b"one", more=True)
        await asyncio.to_thread(may_go_on.wait)
        await write(send, b"", more=True)
        await write(send, b"two")

    with bridged(view) as bridge:
        body = iter(bridge.respond(environ()).body)
        assert next(body) == b"one"
        may_go_on.set()
        assert list(body) == [b"two"]


def test_an_application_does_not_run_ahead_of_a_client_that_takes_nothing() -> None:
    begun: list[int] = []
    full = threading.Event()
    taken = threading.Event()
    going_on = threading.Event()
    released = threading.Event()

    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(until_disconnect(receive))
        await begin(send)
        while not gone.done():
            begun.append(1000)
            if taken.is_set():
                going_on.set()
            if sum(begun) > WAITING_BYTES:
                full.set()
            await write(send, bytes(1000), more=True)
            await asyncio.sleep(0)
        released.set()

    with bridged(view) as bridge:
        body = iter(bridge.respond(environ()).body)
        assert full.wait(PATIENCE)
        for _ in range(20):
            turn(bridge)
        assert sum(begun) <= WAITING_BYTES + 1000
        taken.set()
        for _ in range(100):
            next(body)
        assert going_on.wait(PATIENCE)
        close(body)
        assert released.wait(PATIENCE)


def turn(bridge: WsgiBridge) -> None:
    """Let the event loop turn once."""
    turned = threading.Event()
    bridge.running.tell(turned.set)
    assert turned.wait(PATIENCE)


async def until_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def close(body: Any) -> None:
    body.close()


class Listened:
    """A result stream that says nothing more, and notes when it is let go of."""

    def __init__(self, media_type: bytes = b"text/event-stream") -> None:
        self.let_go = threading.Event()
        self._media_type = media_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await begin(send, (b"content-type", self._media_type), (b"connection", b"keep-alive"))
        await write(send, b": heartbeat\n\n", more=True)
        await until_disconnect(receive)
        self.let_go.set()


def test_closing_the_response_lets_go_of_the_listener() -> None:
    listened = Listened()
    with bridged(listened) as bridge:
        response = bridge.respond(environ())
        assert next(iter(response.body)) == b": heartbeat\n\n"
        assert not listened.let_go.is_set()
        close(response.body)
        close(response.body)
        assert listened.let_go.wait(PATIENCE)
        assert list(response.body) == []


@pytest.mark.parametrize("silent", [True, False])
def test_a_client_that_hangs_up_is_noticed_while_there_is_nothing_to_write(
    monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr(wsgi_bridge, "LOOK_SECONDS", 0.01)
    let_go = threading.Event()

    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        if not silent:
            await begin(send)
        await until_disconnect(receive)
        let_go.set()

    with bridged(view) as bridge:
        gone: dict[str, Any] = {"waitress.client_disconnected": lambda: True}
        response = bridge.respond(environ(**gone))
        assert list(response.body) == [] or silent
        if not silent:
            close(response.body)
        assert let_go.wait(PATIENCE)


def test_a_head_request_gets_the_headers_and_ends_the_stream() -> None:
    listened = Listened()
    with bridged(listened) as bridge:
        response = bridge.respond(environ("HEAD"))
        assert (response.status, list(response.body)) == (200, [])
        assert listened.let_go.wait(PATIENCE)


def test_headers_of_the_connection_are_left_to_the_server_and_repeated_ones_are_kept() -> None:
    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        await begin(send, (b"connection", b"keep-alive"), (b"transfer-encoding", b"chunked"), (b"link", b"<a>"),
                    (b"link", b"<b>"), status=418)  # fmt: skip
        await write(send, b"")

    with bridged(view) as bridge:
        response = bridge.respond(environ())
        assert response.headers == [("link", "<a>"), ("link", "<b>")]
        assert response.status_line == "418 I'm a Teapot"


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise LookupError("secret")


class Panicking(BaseException):
    """As pyoxigraph's is."""


async def panics(scope: Scope, receive: Receive, send: Send) -> None:
    raise Panicking("secret")


async def forgets(scope: Scope, receive: Receive, send: Send) -> None:
    return


async def breaks_off(scope: Scope, receive: Receive, send: Send) -> None:
    await begin(send)
    await write(send, b"half", more=True)
    raise LookupError("secret")


@pytest.mark.parametrize("view", [fails, panics, forgets])
def test_an_application_that_fails_is_a_problem_without_its_innards(
    view: View, caplog: pytest.LogCaptureFixture
) -> None:
    with bridged(view) as bridge:
        document = problem(bridge.respond(environ()))
    assert document["status"] == 500
    assert "secret" not in document["detail"]
    assert ("secret" in caplog.text) is (view is not forgets)


def test_a_response_that_breaks_off_ends_the_connection_and_is_not_taken_for_whole() -> None:
    with bridged(breaks_off) as bridge:
        body = iter(bridge.respond(environ()).body)
        assert next(body) == b"half"
        with pytest.raises(Aborted):
            next(body)


@pytest.mark.parametrize("media_type", [b"text/event-stream", b"text/turtle"])
def test_a_stop_ends_what_is_being_listened_to(media_type: bytes) -> None:
    listened = Listened(media_type)
    with bridged(listened) as bridge:
        body = iter(bridge.respond(environ()).body)
        next(body)
        bridge.running.stop()
        assert listened.let_go.is_set()
        if media_type == b"text/event-stream":
            assert list(body) == []
        else:
            with pytest.raises(Aborted):
                next(body)
        assert problem(bridge.respond(environ()))["status"] == 503


def test_the_state_of_the_lifespan_is_every_requests_own_copy() -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope["state"]["kept"] = 1
        else:
            seen.append(dict(scope["state"]))
            scope["state"]["kept"] = 2
            await begin(send)
            await write(send, b"")
            return
        for what in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{what}.complete"})

    running = ApplicationLoop(app)
    running.start()
    for _ in range(2):
        list(WsgiBridge(running).respond(environ()).body)
    running.stop()
    assert seen == [{"kept": 1}, {"kept": 1}]


def test_many_exchanges_are_open_at_once() -> None:
    listened = [Listened() for _ in range(50)]
    waiting = iter(listened)

    async def view(scope: Scope, receive: Receive, send: Send) -> None:
        await next(waiting)(scope, receive, send)

    with bridged(view) as bridge:
        bodies = [bridge.respond(environ()).body for _ in listened]
        assert {next(iter(body)) for body in bodies} == {b": heartbeat\n\n"}
        for body in bodies:
            close(body)
        assert all(one.let_go.wait(PATIENCE) for one in listened)
