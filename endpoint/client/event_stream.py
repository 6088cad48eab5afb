"""The events of a result stream (HTML Standard, section 9.2.6), followed across reconnects."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing

import click
import httpx
from httpx_sse import EventSource, ServerSentEvent

from endpoint.client.http import broken, check, unreachable
from protocol.formats.media_types import EVENT_STREAM
from protocol.formats.sse import RESUME

SILENCE_SECONDS = 45.0
"""Heartbeats are at most 15 s apart: a connection silent for three of them is dead."""
LONGEST_PAUSE = 30.0


class Dispatched:
    """Which of httpx-sse's events are events.

    Once it has seen an id, it gives one for every blank line, also for that after a heartbeat: without data, and with
    the id of the event before. What the endpoint sends without data, the answer of a CONSTRUCT that has no triples, has
    an id of its own. An id alone, which is no event, has a name that says so (``protocol.formats.sse.resume_point``).
    """

    def __init__(self) -> None:
        self._last_id = ""

    def __call__(self, event: ServerSentEvent) -> bool:
        """Whether it is one; to be asked of all in turn."""
        known, self._last_id = event.id == self._last_id, event.id
        return bool(event.data) or (not known and event.event != RESUME)


def events(response: httpx.Response) -> Iterator[ServerSentEvent]:
    """The events of a response, as they come. SSEError, an HTTPError, if it is no event stream."""
    return filter(Dispatched(), EventSource(response).iter_sse())


async def events_awaited(response: httpx.Response) -> AsyncIterator[ServerSentEvent]:
    """The same of a response of an asynchronous client."""
    dispatched = Dispatched()
    async with aclosing(EventSource(response).aiter_sse()) as received:
        async for event in received:
            if dispatched(event):
                yield event


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
) -> Iterator[ServerSentEvent]:
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
                dispatched = Dispatched()
                for event in EventSource(response).iter_sse():
                    # Also where it is none: an id may come alone.
                    last_id = event.id or last_id
                    if not dispatched(event):
                        continue
                    yield event
                    if event.event == "end":
                        return
        except httpx.HTTPError as error:
            if not connected:
                raise unreachable(url, error) from None
            click.echo(f"the connection broke ({broken(error)}): trying again in {wait:g} s", err=True)
        else:
            click.echo(f"the connection was closed: trying again in {wait:g} s", err=True)
        pause(wait)
        wait = min(2 * wait, LONGEST_PAUSE)
