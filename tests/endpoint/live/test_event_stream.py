from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Message

from endpoint.live import event_stream
from endpoint.live.event_stream import EventStreamResponse, OpenedEvents
from endpoint.live.listeners import Listeners, TooManyListeners
from protocol.errors import NotFound
from tests.endpoint.live.live_side import run


class Connection:
    """A client that stays, and what became of the events it listened to."""

    def __init__(self, *, takes: int = 1000) -> None:
        self.sent: list[Message] = []
        self.left = False
        self._takes = takes

    async def ask(self, listeners: Listeners, *events: bytes, method: str = "GET") -> None:
        @asynccontextmanager
        async def open_events() -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
            try:
                yield given()
            finally:
                self.left = True

        async def given() -> AsyncGenerator[bytes, None]:
            for event in events:
                yield event

        await self.call(EventStreamResponse(listeners, open_events), method)

    async def call(self, response: EventStreamResponse, method: str = "GET") -> None:
        scope: dict[str, Any] = {"type": "http", "method": method, "path": "/queries/q/results"}
        await response(scope, asyncio.Event().wait, self._send)  # type: ignore[arg-type]  # it never has a message

    async def _send(self, message: Message) -> None:
        if len(self.sent) == self._takes:
            await asyncio.Event().wait()
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def test_events_go_out_as_they_are_and_the_response_ends_with_them() -> None:
    async def check() -> None:
        connection, listeners = Connection(), Listeners(1)
        await connection.ask(listeners, b"data: 1\n\n", b"data: 2\n\n")
        assert connection.body == b"data: 1\n\ndata: 2\n\n"
        assert connection.sent[-1]["more_body"] is False
        assert (connection.left, listeners.count) == (True, 0)

    run(check())


def test_a_connection_that_takes_nothing_for_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(event_stream, "STALLED_SECONDS", 0.01)
    caplog.set_level("INFO", "endpoint.live.event_stream")

    async def check() -> None:
        connection, listeners = Connection(takes=2), Listeners(1)
        await connection.ask(listeners, b"data: 1\n\n", b"data: 2\n\n")
        assert connection.body == b"data: 1\n\n"
        assert (connection.left, listeners.count) == (True, 0)

    run(check())
    assert "gave up a listener of /queries/q/results" in caplog.text


def test_what_keeps_the_events_from_opening_is_raised_before_anything_is_sent() -> None:
    def open_events() -> OpenedEvents:
        raise NotFound("there is no query 'q'")

    async def check() -> None:
        connection, listeners = Connection(), Listeners(1)
        with pytest.raises(NotFound):
            await connection.call(EventStreamResponse(listeners, open_events))
        with listeners.one_more(), pytest.raises(TooManyListeners):
            await connection.ask(listeners)
        assert connection.sent == []

    run(check())


def test_head_has_the_headers_and_no_event() -> None:
    async def check() -> None:
        connection = Connection()
        await connection.ask(Listeners(1), b"data: 1\n\n", method="HEAD")
        assert connection.body == b""
        assert (b"vary", b"Accept") in connection.sent[0]["headers"]
        assert connection.left

    run(check())
