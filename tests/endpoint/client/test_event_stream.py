from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import click
import httpx
import pytest
from httpx_sse import ServerSentEvent
from hypothesis import given
from hypothesis import strategies as st

from endpoint.client.event_stream import events, events_awaited, follow
from protocol.formats.sse import HEARTBEAT, resume_point, resume_token
from protocol.formats.sse import event as written

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
Read = tuple[str, str, str]


def read(pieces: Iterable[str]) -> list[Read]:
    """Name, data and id of the events in a text that comes in these pieces."""
    response = httpx.Response(200, headers=EVENT_STREAM, content=(piece.encode() for piece in pieces))
    return [(event.event, event.data, event.id) for event in events(response)]


async def awaited(pieces: Iterable[str]) -> list[Read]:
    async def content() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece.encode()

    response = httpx.Response(200, headers=EVENT_STREAM, content=content())
    return [(event.event, event.data, event.id) async for event in events_awaited(response)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data: a\n\n", [("message", "a", "")]),
        ("data:a\r\rdata: b\r\n\r\n", [("message", "a", ""), ("message", "b", "")]),
        ("data:  two spaces\ndata\ndata: x\n\n", [("message", " two spaces\n\nx", "")]),
        (": heartbeat\n\nid: 7\nevent: end\ndata: {}\n\n: heartbeat\n\n", [("end", "{}", "7")]),
        ("id: 1\ndata: a\n\n: heartbeat\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "1")]),
        ("id: 1\ndata:\n\n: heartbeat\n\nid: 2\ndata:\n\n", [("message", "", "1"), ("message", "", "2")]),
        ("id: 1\ndata: a\n\nid: 2\nevent: resume\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "2")]),
        ("id: 1\ndata: a\n\nretry: 5\n\nretry: soon\n\n", [("message", "a", "1")]),
        ("id: a\0b\nunknown: x\ndata: a\n\n", [("message", "a", "")]),
        ("event: only\n\ndata: not dispatched", []),
        ("data: line\u2028separator\x85next\n\n", [("message", "line\u2028separator\x85next", "")]),
    ],
)
def test_events_are_read_as_the_standard_says(text: str, expected: list[Read]) -> None:
    assert read([text]) == expected
    assert asyncio.run(awaited(list(text))) == expected


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])), st.booleans())),
    st.integers(min_value=1, max_value=7),
)
def test_what_the_server_writes_is_read_back_whatever_pieces_it_comes_in(
    sent: list[tuple[str, bool]], size: int
) -> None:
    text = b"".join(
        HEARTBEAT + written(data.encode(), name="progress" if named else None, identifier=str(number))
        for number, (data, named) in enumerate(sent)
    ).decode().replace("\n", "\r\n")  # fmt: skip
    expected = [("progress" if named else "message", data, str(number)) for number, (data, named) in enumerate(sent)]
    assert read(text[start : start + size] for start in range(0, len(text), size)) == expected


class Answers:
    """Gives one scripted answer a request, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.client = httpx.Client(transport=httpx.MockTransport(self.answer), base_url="http://server/")
        self.pauses: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def follow(self, **options: Any) -> Iterator[ServerSentEvent]:
        return follow(self.client, "GET", "results", pause=self.pauses.append, **options)


def stream(text: str) -> httpx.Response:
    return httpx.Response(200, headers=EVENT_STREAM, text=text)


END = "event: end\ndata: {}\n\n"


def test_a_stream_that_breaks_is_resumed_after_its_last_event() -> None:
    server = Answers(
        stream("id: 1\ndata: a\n\nid: 2\ndata: b\n\n"), httpx.ReadError("reset"), stream("data: c\n\n" + END)
    )
    assert [event.data for event in server.follow(params={"since": "beginning"})] == ["a", "b", "c", "{}"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "2", "2"]
    assert [request.url.query for request in server.requests] == [b"since=beginning", b"", b""]
    assert server.pauses == [1.0, 2.0]


def test_an_id_alone_is_no_event_and_is_resumed_from() -> None:
    server = Answers(stream(resume_point(7).decode()), stream("data: a\n\n" + END))
    assert [event.data for event in server.follow(params={"since": "beginning"})] == ["a", "{}"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, resume_token(7)]


def test_a_server_that_restarts_is_waited_for() -> None:
    server = Answers(stream("id: 1\ndata: a\n\n"), httpx.Response(503), httpx.ConnectError("no"), stream(END))
    assert [event.event for event in server.follow()] == ["message", "end"]
    assert server.pauses == [1.0, 2.0, 4.0]


def test_a_server_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(click.ClickException, match="nothing answers at results"):
        next(Answers(httpx.ConnectError("refused")).follow())


def test_a_refusal_is_told_with_its_detail() -> None:
    problem = httpx.Response(404, json={"title": "Not found", "detail": "there is no query 'x'"})
    with pytest.raises(click.ClickException, match="Not found: there is no query 'x'"):
        next(Answers(problem).follow())


def test_an_answer_that_is_no_stream_is_an_error() -> None:
    with pytest.raises(click.ClickException, match="application/json, not with a stream"):
        next(Answers(httpx.Response(200, json={})).follow())
