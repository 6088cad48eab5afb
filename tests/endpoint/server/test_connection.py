"""Requests that do not come whole, and too many connections, with a clock and a transport of the test's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from endpoint.server.connection import IDLE_SECONDS, LEAST_PACE, Connection, Connections

SECONDS = 20.0
HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = b""
        self.closed = self.aborted = self.ended = False
        self.reading = True

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


@dataclass
class Clock:
    """An event loop's, whose time the test moves; tasks run in the loop that turns."""

    now: float = 1000.0
    timers: list[asyncio.TimerHandle] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[..., Any], *arguments: Any) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(self.now + delay, callback, arguments, asyncio.get_running_loop())
        self.timers.append(timer)
        return timer

    def create_task(self, coroutine: Any) -> Any:
        return asyncio.get_running_loop().create_task(coroutine)

    def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.when() <= end and not timer.cancelled()]:
            first = min(due, key=asyncio.TimerHandle.when)
            self.timers.remove(first)
            self.now = first.when()
            first._run()
        self.now = end


class Door:
    """Connections to an application that reads its request and answers 204."""

    def __init__(self, most: int = 100) -> None:
        self.clock = Clock()
        self.left = 0
        self.bodies: list[bytes] = []
        self.read = asyncio.Event()
        self.read.set()
        self.refused: list[str] = []
        self.limits = Connections(SECONDS, most, self.refused.append)
        self.state = ServerState()
        self.config = uvicorn.Config(self.app, log_config=None, lifespan="off", ws="none", interface="asgi3")
        self.config.load()

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.read.wait()
        if scope["path"] == "/early":
            await Response("no", status_code=403)(scope, receive, send)
            return
        if scope["path"] in ("/events", "/cut-off"):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
        if scope["path"] == "/cut-off":
            return
        try:
            self.bodies.append(await Request(scope, receive).body())
        except ClientDisconnect:
            self.left += 1
        if scope["path"] == "/events":
            await receive()
        else:
            await Response(status_code=204)(scope, receive, send)

    def connection(self, loop: Any) -> Any:
        return self.limits.protocol()(config=self.config, server_state=self.state, app_state={}, _loop=loop)

    def connect(self) -> tuple[Connection, Transport]:
        connection = self.connection(self.clock)
        transport = Transport()
        connection.connection_made(transport)
        return connection, transport


async def turn() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def problem(transport: Transport) -> tuple[int, str]:
    """Status and detail of the last response."""
    head, _, body = transport.written.rpartition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    document = json.loads(body)
    return document["status"], document["detail"]


def run(check: Callable[[], Any]) -> None:
    asyncio.run(check())


@pytest.mark.parametrize(
    "sent", [b"P", HEAD, HEAD + b"\r\n", HEAD + b"\r\nabc", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 500]
)
def test_a_request_that_stops_is_ended_after_its_time(sent: bytes) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(sent)
        await turn()
        door.clock.pass_by(SECONDS - 0.5)
        assert not transport.is_closing()
        door.clock.pass_by(2)
        await turn()
        assert transport.is_closing()
        status, detail = problem(transport)
        assert (status, "20 s" in detail) == (408, True)
        assert door.refused == ["slow_request"]
        assert door.left == (HEAD + b"\r\n" in sent)
        assert transport.written.count(b"HTTP/1.1") == 1
        assert not door.limits.waiting

    run(check)


def test_a_connection_that_says_nothing_is_closed_without_a_word() -> None:
    async def check() -> None:
        door = Door()
        _, transport = door.connect()
        door.clock.pass_by(SECONDS + 1)
        assert (transport.is_closing(), transport.written, door.refused) == (True, b"", [])

    run(check)


def test_a_byte_now_and_then_does_not_keep_a_request_open_but_a_steady_pace_does() -> None:
    async def check() -> None:
        door = Door()
        slow, slow_transport = door.connect()
        steady, steady_transport = door.connect()
        for connection in (slow, steady):
            connection.data_received(HEAD + b"\r\n")
        for _ in range(30):
            await turn()
            if not slow_transport.is_closing():
                slow.data_received(b"x")
            steady.data_received(b"x" * LEAST_PACE)
            door.clock.pass_by(1)
        assert slow_transport.is_closing()
        assert not steady_transport.is_closing()
        steady.data_received(b"x" * (100_000 - 30 * LEAST_PACE))
        await turn()
        assert b" 204 " in steady_transport.written
        assert not steady_transport.is_closing()

    run(check)


def test_the_time_in_which_the_server_does_not_read_is_not_the_clients() -> None:
    async def check() -> None:
        door = Door()
        door.read.clear()
        connection, transport = door.connect()
        connection.data_received(HEAD + b"\r\n" + b"x" * 70_000)
        await turn()
        assert not transport.reading
        door.clock.pass_by(10 * SECONDS)
        assert not transport.is_closing()
        door.read.set()
        await turn()
        connection.data_received(b"x" * 30_000)
        await turn()
        assert b" 204 " in transport.written

    run(check)


def test_a_client_that_waits_to_be_told_to_go_on_is_not_slow() -> None:
    async def check() -> None:
        door = Door()
        door.read.clear()
        connection, transport = door.connect()
        connection.data_received(HEAD + b"Expect: 100-continue\r\n\r\n")
        door.clock.pass_by(3 * SECONDS)
        assert not transport.is_closing()
        door.read.set()
        await turn()
        assert transport.written.startswith(b"HTTP/1.1 100 ")
        door.clock.pass_by(2 * SECONDS)
        assert problem(transport)[0] == 408

    run(check)


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_an_upgrade_is_an_offer_that_is_not_taken_without_a_word(
    protocol: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        connection, transport = Door().connect()
        connection.data_received(
            b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol
        )
        await turn()
        assert b" 204 " in transport.written
        connection.connection_lost(None)

    run(check)
    assert caplog.text == ""


def test_listening_takes_as_long_as_it_takes() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        door.clock.pass_by(3600)
        assert not transport.is_closing()
        assert not door.limits.waiting
        connection.connection_lost(None)
        await turn()

    run(check)


def test_who_takes_nothing_of_a_response_that_was_cut_off_does_not_keep_its_connection() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(b"GET /cut-off HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        seen = [(transport.closed, transport.aborted)]
        door.clock.pass_by(10)
        assert [*seen, (transport.closed, transport.aborted)] == [(True, False), (True, True)]
        connection.connection_lost(None)
        await turn()

    run(check)


def test_a_response_that_a_server_cuts_off_which_stops_is_no_fault_with_a_stack_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        for task in door.state.tasks:  # as uvicorn does
            task.cancel()
        await turn()
        assert transport.closed
        assert not transport.written.endswith(b"0\r\n\r\n")
        connection.connection_lost(None)

    run(check)
    assert not [record for record in caplog.records if record.exc_info]


def test_a_response_that_was_cut_off_is_no_whole_one_for_clients_of_http_1_0_either() -> None:
    async def check() -> None:
        door, loop = Door(), asyncio.get_running_loop()
        server = await loop.create_server(partial(door.connection, loop), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET /cut-off HTTP/1.0\r\n\r\n")
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()

    run(check)


def test_what_has_its_answer_already_must_not_go_on_sending_for_ever() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(HEAD.replace(b"/x", b"/early") + b"\r\n")
        await turn()
        assert b" 403 " in transport.written
        for _ in range(30):
            if not transport.is_closing():
                connection.data_received(b"x")
            door.clock.pass_by(1)
        assert transport.is_closing()
        assert b" 408 " not in transport.written

    run(check)


def test_who_is_refused_before_all_is_sent_and_has_asked_to_close_can_read_why() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(HEAD.replace(b"/x", b"/early") + b"Connection: close\r\n\r\n" + b"x" * 70000)
        await turn()
        assert b" 403 " in transport.written
        assert (transport.ended, transport.closed, transport.reading) == (True, False, True)
        written = transport.written
        for _ in range(3):
            connection.data_received(b"x" * 100000)
            door.clock.pass_by(1)
        assert (transport.closed, transport.reading, transport.written) == (False, True, written)
        door.clock.pass_by(10)
        assert transport.closed
        connection.connection_lost(None)
        assert not door.limits.waiting

    run(check)


@pytest.mark.parametrize("request_line", [b"GET /early", b"POST /early"])
def test_who_has_sent_all_and_asked_to_close_is_closed_at_once(request_line: bytes) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        body = b"Content-Length: 2\r\n\r\nab" if request_line.startswith(b"POST") else b"\r\n"
        connection.data_received(request_line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + body)
        await turn()
        assert b" 403 " in transport.written
        assert transport.closed

    run(check)


async def answered(connection: Connection, transport: Transport, number: int) -> None:
    """Send a connection's request of this number, from 1, which is answered."""
    connection.data_received(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await turn()
    assert transport.written.count(b" 204 ") == number


def test_each_request_of_a_connection_has_its_own_time() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        for number in range(1, 30):
            await answered(connection, transport, number)
            door.clock.pass_by(4)
            assert not transport.is_closing()
        connection.data_received(HEAD)
        door.clock.pass_by(SECONDS - 5)
        assert not transport.is_closing()
        door.clock.pass_by(5)
        assert problem(transport)[0] == 408

    run(check)


def test_a_connection_waits_for_its_next_request_longer_than_clients_keep_it_which_has_its_time_then() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        for number in range(1, 4):
            await answered(connection, transport, number)
            door.clock.pass_by(IDLE_SECONDS - 1)
            assert not transport.is_closing()
        connection.data_received(HEAD)
        door.clock.pass_by(SECONDS - 1)
        assert not transport.is_closing()
        door.clock.pass_by(2)
        assert problem(transport)[0] == 408
        connection, transport = door.connect()
        connection.data_received(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        written = transport.written
        door.clock.pass_by(IDLE_SECONDS + 1)
        assert (transport.is_closing(), transport.written) == (True, written)
        assert door.refused == ["slow_request"]

    run(check)


def test_a_connection_whose_request_was_refused_before_it_was_whole_waits_no_longer_for_the_next_one() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(HEAD.replace(b"100000", b"2").replace(b"/x", b"/early") + b"\r\n")
        await turn()
        assert b" 403 " in transport.written
        connection.data_received(b"ab")
        door.clock.pass_by(IDLE_SECONDS - 1)
        assert (transport.is_closing(), list(door.limits.waiting)) == (False, [connection])
        door.clock.pass_by(2)
        assert (transport.is_closing(), door.refused) == (True, [])

    run(check)


WHOLE = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1"


@pytest.mark.parametrize(
    "sent",
    [
        [b"\r\n" + WHOLE, WHOLE + b"\r\n"], [WHOLE + b"\r\n" + WHOLE + b"\n"], [WHOLE, b"\r\n", WHOLE, b"\r\n"],
        [WHOLE, b"\r", b"\n" + WHOLE, b"\r"], [WHOLE + b"\r", b"\n" + WHOLE],
    ],
)  # fmt: skip
def test_an_empty_line_before_a_request_is_passed_over(sent: list[bytes]) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        for part in sent:
            connection.data_received(part)
            await turn()
        assert transport.written.count(b" 204 ") == transport.written.count(b"HTTP/1.1") == 2
        assert not transport.is_closing()

    run(check)


def whole(body: bytes, *, chunks: int) -> bytes:
    """A request with this body, in so many chunks; 0: its length is said."""
    head = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"
    if not chunks:
        return b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)
    size = -(-len(body) // chunks) or 1
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"%sTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % (head, coded)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=30), st.integers(0, 3)), min_size=1, max_size=3), st.data())
def test_bodies_are_those_that_were_sent_wherever_what_comes_is_cut(
    requests: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    sent = b"".join(whole(body, chunks=chunks) for body, chunks in requests)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sent) - 1), max_size=6)))

    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        for begin, end in pairwise([0, *cuts, len(sent)]):
            connection.data_received(sent[begin:end])
            await turn()
        assert door.bodies == [body for body, _ in requests]
        assert transport.written.count(b" 204 ") == len(requests)

    run(check)


def test_a_connection_that_says_an_empty_line_is_closed_without_a_word() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(b"\r\n")
        door.clock.pass_by(SECONDS + 1)
        assert (transport.is_closing(), transport.written, door.refused) == (True, b"", [])
        connection, transport = door.connect()
        connection.data_received(b"\r\n\r\n" + WHOLE)
        assert problem(transport)[0] == 400

    run(check)


def test_half_open_connections_give_way_to_newer_ones_the_oldest_first() -> None:
    async def check() -> None:
        door = Door(most=3)
        half_open = [door.connect() for _ in range(3)]
        half_open[1][0].data_received(HEAD)
        newer, newer_transport = door.connect()
        assert [transport.is_closing() for _, transport in half_open] == [True, False, False]
        door.connect()
        assert problem(half_open[1][1])[0] == 408
        newer.data_received(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        assert b" 204 " in newer_transport.written

    run(check)


def test_where_all_connections_are_in_use_a_further_one_is_told_to_come_again() -> None:
    async def check() -> None:
        door = Door(most=2)
        listening = [door.connect() for _ in range(2)]
        for connection, _ in listening:
            connection.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        _, transport = door.connect()
        assert problem(transport)[0] == 503
        assert b"Retry-After" in transport.written
        assert transport.is_closing()
        assert not any(other.is_closing() for _, other in listening)
        for connection, _ in listening:
            connection.connection_lost(None)
        await turn()

    run(check)


def test_those_that_were_told_to_go_take_nobodys_place_and_are_gone_soon() -> None:
    async def check() -> None:
        door = Door(most=2)
        busy, (slow, slow_transport) = door.connect()[0], door.connect()
        busy.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.data_received(HEAD)
        # The client takes nothing of its refusal, so that its connection stays for a while.
        newer, _ = door.connect()
        assert problem(slow_transport)[0] == 408
        newer.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        busy.connection_lost(None)
        last, last_transport = door.connect()
        assert not last_transport.is_closing()
        door.clock.pass_by(5)
        assert slow_transport.aborted
        slow.connection_lost(None)
        assert not door.limits.ended
        # As many as before, and no more.
        last.data_received(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await turn()
        assert problem(door.connect()[1])[0] == 503
        for connection in (newer, last):
            connection.connection_lost(None)
        await turn()

    run(check)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET /" + b"x" * 100_000, 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
    ],
)  # fmt: skip
def test_what_is_no_http_is_refused_in_a_problem_document_and_counted(sent: bytes, status: int) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(sent)
        await turn()
        assert problem(transport)[0] == status
        assert transport.is_closing()
        assert door.refused == ["malformed_request"]

    run(check)


def test_a_body_that_breaks_off_badly_under_a_response_closes_the_connection() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(b"POST /events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        await turn()
        assert b"first" in transport.written
        connection.data_received(b"xyz\r\n")
        await turn()
        assert transport.is_closing()
        assert transport.written.count(b"HTTP/1.1") == 1

    run(check)


@pytest.mark.parametrize(
    "head",
    [
        b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nContent-Length: 44\r\n",
        b"POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_request_that_may_end_at_two_places_is_refused_with_all_that_follows(head: bytes) -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(head + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        await turn()
        assert transport.is_closing()
        status, detail = problem(transport)
        assert (status, "Content-Length" in detail) == (400, True)
        assert transport.written.startswith(b"HTTP/1.1 400")
        assert transport.written.count(b"\r\n\r\n") == 1

    run(check)


def test_a_head_request_that_may_end_at_two_places_is_refused_without_a_body() -> None:
    async def check() -> None:
        door = Door()
        connection, transport = door.connect()
        connection.data_received(
            b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        await turn()
        assert transport.is_closing()
        assert transport.written.startswith(b"HTTP/1.1 400")
        assert transport.written.endswith(b"\r\n\r\n")

    run(check)
