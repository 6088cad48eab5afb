"""A stream's own elements as events (contract section 4): ``GET /streams/NAME`` with ``Accept: text/event-stream``.

The default event of an element has its triples as ``data``: N-Triples, one line each, and N-Quads for those in named
graphs. The ``progress`` event that follows it has its timestamp and the stream's watermark, as with CONSTRUCT. Ids are
the numbers of elements, so that a client can go on after any of them while the log holds what follows.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from endpoint.backend import StreamFollower
from endpoint.live.hub import Hub
from endpoint.live.result_stream import EventStreamResponse, hub_of, instant_parameter
from protocol.errors import NotFound, ProtocolError
from protocol.formats import sse
from protocol.streams import StreamElement, StreamGap
from protocol.time import Instant

logger = logging.getLogger(__name__)

_LOOKED_EVERY = 0.05
_DIGITS = 16
_ID = re.compile(rf"[0-9]{{{_DIGITS}}}\Z", re.ASCII)


class ElementStreamResponse(EventStreamResponse):
    """The elements of a stream as events, from where the request asks for; ``since`` leaves out older timestamps."""

    def __init__(self, hub: Hub, name: str, after: int | None, since: Instant | None) -> None:
        super().__init__()
        self._hub = hub
        self._name = name
        self._after = after
        self._since = since
        self._stopped = anyio.Event()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        follower: StreamFollower = await self._hub.call(self._hub.backend.follow, self._name, self._after)
        try:
            async with aclosing(self._events(follower)) as stream:
                await self._stream(stream, self._name, scope, receive, send)
        finally:
            follower.close()

    def _close(self) -> None:
        self._stopped.set()

    async def _events(self, follower: StreamFollower) -> AsyncGenerator[bytes, None]:
        yield sse.HEARTBEAT
        try:
            while True:
                taken = await self._hub.replayed(follower.take)
                wanted = [one for one in taken if self._since is None or one.time > self._since]
                if wanted:
                    yield b"".join(_encoded(one, follower.watermark) for one in wanted)
                elif not taken and follower.ended:
                    yield sse.end_event("the stream has ended")
                    return
                if self._stopped.is_set():
                    return
                if not taken:
                    with anyio.move_on_after(_LOOKED_EVERY):
                        await self._stopped.wait()
        except NotFound:
            yield sse.end_event("the stream was deleted")
        except ProtocolError as error:
            yield sse.error_event(error.problem())


def element_stream(request: Request, name: str) -> ElementStreamResponse:
    """The response to a request for a stream as events. Raises InvalidResumePoint or InvalidTime."""
    token = request.headers.get("last-event-id", "").strip() or request.query_params.get("lastEventId", "").strip()
    if token:
        if not _ID.match(token):
            raise sse.InvalidResumePoint(
                f"{token!r} is not the id of an element of this stream: send the id of the last event received, "
                "or leave it out to start with the next element"
            )
        return ElementStreamResponse(hub_of(request), name, int(token), None)
    if request.query_params.get("since", "").strip().lower() == "beginning":
        return ElementStreamResponse(hub_of(request), name, -1, None)
    since = instant_parameter(request, "since", also="beginning")
    return ElementStreamResponse(hub_of(request), name, None if since is None else -1, since)


def _encoded(one: StreamElement | StreamGap, watermark: Instant) -> bytes:
    if isinstance(one, StreamGap):
        return sse.reset_event(one.time)
    identifier = f"{one.number:0{_DIGITS}d}"
    return sse.event(one.data.rstrip(b"\n"), identifier=identifier) + sse.progress_event(one.time, watermark)
