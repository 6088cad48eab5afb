"""Reading Server-Sent Events (HTML Standard, section 9.2.6), and following a result stream across reconnects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import click
import httpx

from endpoint.client.http import broken, check, unreachable
from protocol.formats.media_types import EVENT_STREAM

SILENCE_SECONDS = 45.0
"""Heartbeats are at most 15 s apart: a connection silent for three of them is dead."""
LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Event:
    """A dispatched event: its name (``message`` by default), its data, and the last id seen up to it."""

    name: str
    data: str
    id: str


class EventParser:
    """Lines in, events out; keeps ``last_id`` and ``retry`` (ms) as the standard says."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry: int | None = None
        self._name = ""
        self._data: list[str] = []
        self._first = True

    def feed(self, line: str) -> Event | None:
        """Take one line, without its end; the event, if the line was the empty one that dispatches it."""
        if self._first:
            line, self._first = line.removeprefix("\ufeff"), False
        if not line:
            name, data = self._name or "message", self._data
            self._name, self._data = "", []
            return Event(name, "\n".join(data), self.last_id) if data else None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                self._data.append(value)
            case "event":
                self._name = value
            case "id" if "\0" not in value:
                self.last_id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry = int(value)
        return None


class LineSplitter:
    """Text in pieces, lines out: they end with LF, CR LF or CR (and not with the other ends ``splitlines`` knows)."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> Iterator[str]:
        text = self._rest + piece
        # A CR at the very end may be half of a CR LF.
        held = text.endswith("\r")
        *lines, self._rest = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if held:
            self._rest += "\r"
        yield from lines


def follow(
    http: httpx.Client,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    content: bytes | None = None,
    last_id: str = "",
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Event]:
    """The events of a result stream until its ``end``, resumed after the last one whenever the connection breaks.

    Raises ClickException if the server cannot be reached at first, or refuses.
    """
    params = dict(params or {})
    connected = False
    wait = 1.0
    while True:
        sent = {"Accept": EVENT_STREAM, "Cache-Control": "no-store", **(headers or {})}
        if last_id:
            sent["Last-Event-ID"] = last_id
            # The resume point is the start from here on.
            params.pop("since", None)
        parser, lines = EventParser(last_id), LineSplitter()
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=10.0)
        try:
            with http.stream(method, url, headers=sent, params=params, content=content, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    if connected and response.status_code in (502, 503, 504):
                        raise httpx.ReadError("the server is starting")
                    check(response)
                if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
                    raise click.ClickException(
                        "the endpoint answered with "
                        f"{response.headers.get('content-type', 'no content type')}, not with a stream of events: "
                        "only a continuous query has one"
                    )
                connected, wait = True, 1.0
                for piece in response.iter_text():
                    for line in lines.feed(piece):
                        event = parser.feed(line)
                        last_id = parser.last_id
                        if event is None:
                            continue
                        yield event
                        if event.name == "end":
                            return
        except httpx.HTTPError as error:
            if not connected:
                raise unreachable(url, error) from None
            click.echo(f"the connection broke ({broken(error)}): trying again in {wait:g} s", err=True)
        else:
            click.echo(f"the connection was closed: trying again in {wait:g} s", err=True)
        pause(wait)
        wait = min(2 * wait, LONGEST_PAUSE)
