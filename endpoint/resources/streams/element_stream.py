"""A stream's own elements as events (docs/http.md, "Reading a stream"): ``GET /streams/NAME`` with ``Accept:
text/event-stream``.

The default event of an element has its triples as ``data``: N-Triples, one line each, and N-Quads for those in named
graphs; one that is empty has a comment. The ``progress`` event that follows it has its timestamp and the stream's
watermark, as with CONSTRUCT. Ids are the numbers of elements, so that a client can go on after any of them while the
log holds what follows; those of a stream of which there was another before tell it from that one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from functools import partial

from starlette.requests import Request

from endpoint.backend import StreamFollower
from endpoint.live.event_stream import EventStreamResponse
from endpoint.live.hub import Hub
from endpoint.resources.requests.parameters import RequestedElements, requested_elements
from endpoint.services import services_of
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.formats import sse
from protocol.formats.media_types import MESSAGE_TYPE, RdfSyntax
from protocol.streams import StreamDamage, StreamElement, StreamGap, StreamItem
from protocol.time import format_instant

_EMPTY = b"# an empty message"


def element_stream(request: Request, name: str) -> EventStreamResponse:
    """The response to a request for a stream as events. Raises InvalidResumePoint or InvalidTime."""
    services = services_of(request.app)
    requested = requested_elements(request)

    @asynccontextmanager
    async def open_events() -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        hub = services.hub
        follow = partial(hub.backend.follow, name, requested.after, incarnation=requested.incarnation)
        follower: StreamFollower = await hub.threads.run(follow)
        try:
            async with aclosing(_events(hub, follower, requested)) as stream:
                yield stream
        finally:
            follower.close()

    return EventStreamResponse(services.listeners, open_events, {MESSAGE_TYPE: RdfSyntax.N_QUADS})


async def _events(hub: Hub, follower: StreamFollower, requested: RequestedElements) -> AsyncGenerator[bytes, None]:
    """The elements as events. Those up to the last time that is wanted are out once the watermark has reached it."""
    yield sse.HEARTBEAT
    try:
        since, until, retained = requested.since, requested.until, follower.retained_from
        if since is not None and retained is not None and since < retained:
            yield sse.reset_event(retained)
        while True:
            taken = await hub.threads.run_reading(follower.take)
            wanted = [one for one in taken if _is_wanted(one, requested)]
            if wanted:
                yield b"".join(_encoded(one, follower) for one in wanted)
            elif not taken and follower.ended:
                yield sse.end_event("the stream has ended")
                return
            elif not taken and until is not None and follower.watermark >= until:
                yield sse.end_event(f"every element up to {format_instant(until)} is out")
                return
            if hub.stopping.is_set():
                return
            if not taken:
                await hub.arrivals.more(follower, until)
    except NotFound:
        yield sse.end_event("the stream was deleted")
    except ProtocolError as error:
        yield sse.error_event(error.problem())


def _is_wanted(one: StreamItem, requested: RequestedElements) -> bool:
    if isinstance(one, StreamElement):
        return requested.have(one.time)
    time = one.latest if isinstance(one, StreamDamage) else one.time
    return requested.since is None or time is None or time > requested.since


def _encoded(one: StreamItem, follower: StreamFollower) -> bytes:
    if isinstance(one, StreamDamage):
        return sse.error_event(Unavailable(f"elements cannot be read: {one}").problem())
    if isinstance(one, StreamGap):
        return sse.reset_event(one.time)
    identifier = sse.element_id(one.number, follower.incarnation)
    # Clients pass over events without data.
    data = one.data.rstrip(b"\n") or _EMPTY
    return sse.event(data, identifier=identifier) + sse.progress_event(one.time, follower.watermark)
