"""A WebSocket as a source: what comes while it is open comes once, in order."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.streams import StreamReader
from websockets.sync.server import ServerConnection, serve
from websockets.utils import accept_key

from endpoint.sources.connection import MOST_MESSAGES
from endpoint.sources.websocket.connection import WebSocketConnection
from endpoint.sources.websocket.fragments import FRAGMENT_BYTES, Answer, Fragments
from protocol.formats.media_types import MESSAGE_TYPE
from protocol.login import Login
from protocol.sources import SourceFailed, SourceMessage, SourceSettings, SourceState, SourceType
from tests.endpoint.sources.live_feeds import PATIENCE, Log, eventually, running, surroundings

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


def received(connection: WebSocketConnection, count: int) -> list[SourceMessage]:
    found: list[SourceMessage] = []
    while len(found) < count:
        batch = connection.take(5)
        assert batch is not None
        found += batch.messages
    return found


@pytest.mark.parametrize("long", ["x" * 500_000, [b"x" * 70_000] * 5, [b"x" * 100] * 3000, "é" * 150_000])
def test_a_message_that_is_too_long_is_told_and_what_comes_behind_it_is_read(long: Any) -> None:
    longest = ["y" * 200_000, b"y" * 200_000, [b"y" * 100_000] * 2]

    def handle(connection: ServerConnection) -> None:
        for message in ("1", long, *longest, b"\xff", "", "2"):
            connection.send(message)
        connection.recv()

    with served(handle) as (port, _):
        connection = WebSocketConnection(surroundings(settings(port), largest=200_000)())
        first, refused, *others = received(connection, 8)
        connection.close()
    sent = (long if isinstance(long, str) else "".join(part.decode() for part in long)).encode()
    assert first.body == b"1"
    assert [one.body for one in others] == [*[b"y" * 200_000] * 3, b"\xff", b"", b"2"]
    assert {one.refused for one in (first, *others)} == {None}
    assert refused.body == sent[:65536]
    assert refused.refused is not None
    assert f"has {len(sent)} bytes, and --max-request-bytes is 200000 bytes" in refused.refused


@pytest.mark.parametrize("seed", range(20))
def test_frames_are_divided_however_their_bytes_come(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [0, 1, 125, 126, 65535, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 3 * FRAGMENT_BYTES + 7]
    sent = []
    for _ in range(8):
        sent += [(Opcode.TEXT, chance.choice(lengths), False), (Opcode.PING, 5, True)]
        sent += [(Opcode.CONT, chance.choice(lengths), True), (Opcode.BINARY, chance.choice(lengths), True)]
    head = b"HTTP/1.1 101 Switching Protocols\r\nA: b\r\n\r\n"
    frames = [Frame(opcode, chance.randbytes(length), fin) for opcode, length, fin in sent]
    whole = head + b"".join(frame.serialize(mask=False) for frame in frames)
    fragments, given = Fragments(), bytearray()
    while whole:
        size = chance.choice([1, 2, 7, 100, 70_000])
        given += fragments.of(whole[:size])
        whole = whole[size:]
    assert given.startswith(head)
    reader = StreamReader()
    reader.feed_data(given[len(head) :])
    found: list[Frame] = []
    while reader.buffer:
        step = Frame.parse(reader.read_exact, mask=False, max_size=FRAGMENT_BYTES)
        with pytest.raises(StopIteration) as parsed:
            next(step)
        found.append(parsed.value.value)
    assert messages(found) == messages(frames)


def messages(frames: list[Frame]) -> list[tuple[Opcode, bytes]]:
    """What they say, and which control frames there are."""
    said: list[tuple[Opcode, bytes]] = []
    kind, body = Opcode.CONT, b""
    for frame in frames:
        if frame.opcode is Opcode.PING:
            said.append((frame.opcode, bytes(frame.data)))
            continue
        if frame.opcode is not Opcode.CONT:
            kind, body = frame.opcode, b""
        body += frame.data
        if frame.fin:
            said.append((kind, body))
    return said


def test_it_follows_no_redirect() -> None:
    with served(lambda connection: None) as (port, asked):
        moved = Response(302, "Found", Headers({"Location": f"ws://127.0.0.1:{port}/elsewhere", "Content-Length": "0"}))
        with served(lambda connection: None, answer=moved) as (first, _), pytest.raises(SourceFailed):
            WebSocketConnection(surroundings(settings(first), "ws:")())
        assert asked == []
        with pytest.raises(SourceFailed, match="may use"):
            WebSocketConnection(surroundings(settings(port), "ws://127.0.0.1:1/")())


def test_who_has_no_room_says_when_to_come_back() -> None:
    busy = Response(503, "Service Unavailable", Headers({"Retry-After": "77", "Content-Length": "0"}))
    with served(lambda connection: None, answer=busy) as (port, _), pytest.raises(SourceFailed, match="503") as failed:
        WebSocketConnection(surroundings(settings(port))())
    assert failed.value.retry_after == 77


def test_the_password_is_sent_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_SECRET_X", "secret")
    login = Login("me", password_variable="SPARQL_STREAMS_SECRET_X")
    with served(lambda connection: None) as (port, asked):
        WebSocketConnection(surroundings(settings(port, login=login))()).close()
    assert asked[0].headers["Authorization"] == "Basic bWU6c2VjcmV0"


def test_what_is_no_websocket_fails() -> None:
    with pytest.raises(SourceFailed, match=r"ws://127\.0\.0\.1:1/live\?a=b cannot be reached: Connection refused"):
        WebSocketConnection(surroundings(settings(1))())


@pytest.mark.parametrize("last", [b"\xf0\x00", Frame(Opcode.CLOSE, b"\x03\xe8bye").serialize(mask=False)])
def test_a_server_that_breaks_the_protocol_or_says_goodbye_need_not_close_the_connection(last: bytes) -> None:
    over = threading.Event()

    def serve_one(listening: socket.socket) -> None:
        connected, _ = listening.accept()
        with connected, connected.makefile("rb") as told:
            key = next(line.partition(b": ")[2].strip() for line in told if line.lower().startswith(b"sec-websocket-k"))
            head = f"HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{MESSAGE_TYPE}: {TURTLE}\r\n"
            accepted = f"Sec-WebSocket-Accept: {accept_key(key.decode())}\r\n\r\n"
            connected.sendall((head + accepted).encode() + Frame(Opcode.TEXT, b"1").serialize(mask=False) + last)
            over.wait(PATIENCE)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve_one, args=(listening,))
        server.start()
        connection = WebSocketConnection(surroundings(settings(listening.getsockname()[1]))())
        assert [message.body for message in received(connection, 1)] == [b"1"]
        with pytest.raises(SourceFailed):  # the library's ping would say so after 20 s
            connection.take(5)
        connection.close()
        over.set()
        server.join()


class Pong(threading.Event):
    """One that has not come yet when somebody waits for it ``late`` times."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self.late = late

    def wait(self, timeout: float | None = None) -> bool:
        self.late -= 1
        return self.late < 0


@pytest.mark.parametrize(
    ("silent", "came"), [([], True), ([True], False), ([False, True], False), ([False, False, False], True)]
)
def test_who_sends_while_the_answer_to_a_ping_is_awaited_is_there(silent: list[bool], came: bool) -> None:
    left = [True, *silent]  # whatever was before the ping
    assert Answer(Pong(len(silent)), lambda: left.pop(0)).wait(20) is came
    assert left == []


def test_a_server_that_is_let_wait_is_not_silent() -> None:
    def send(connection: ServerConnection) -> None:
        for number in range(2 * MOST_MESSAGES):
            connection.send(str(number))
        with suppress(ConnectionClosed):
            connection.recv()

    with served(send) as (port, _), closing(WebSocketConnection(surroundings(settings(port))())) as source:
        connection: Any = source._connection
        eventually(lambda: len(source._waiting._messages) == MOST_MESSAGES and connection.recv_messages.paused)
        answer = connection.ping()
        # Nothing comes, and so it may be for as long as it takes to store what has.
        assert [answer._pong.wait(0), *(connection._is_silent() for _ in range(3))] == [False] * 4
        taken = 0
        while taken < 2 * MOST_MESSAGES:
            batch = source.take(PATIENCE)
            assert batch is not None
            taken += batch.count
        assert answer.wait(PATIENCE)
        assert [connection._is_silent(), connection._is_silent()][1]
