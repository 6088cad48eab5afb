"""A stream's own elements as events (docs/http.md, "Reading a stream"): ``GET /streams/NAME`` with ``Accept:
text/event-stream``.

The default event of an element has its triples as ``data``: N-Triples, one line each, and N-Quads for those in named
graphs; one that is empty has a comment. The ``progress`` event that follows it has its timestamp and the stream's
watermark, as with CONSTRUCT. Ids are the numbers of elements, so that a client can go on after any of them while the
log holds what follows.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import anyio
from starlette.requests import Request

from endpoint.backend import StreamFollower
from endpoint.live.event_stream import EventStreamResponse
from endpoint.live.hub import Hub
from endpoint.resources.requests.parameters import requested_elements
from endpoint.services import services_of
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.formats import sse
from protocol.formats.media_types import RdfSyntax
from protocol.streams import StreamDamage, StreamGap, StreamItem
from protocol.time import Instant

_LOOKED_EVERY = 0.05
_EMPTY = b"# an empty message"


def element_stream(request: Request, name: str) -> EventStreamResponse:
    """The response to a request for a stream as events. Raises InvalidResumePoint or InvalidTime."""
    services = services_of(request.app)
    after, since = requested_elements(request)

    @asynccontextmanager
    async def open_events() -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        hub = services.hub
        follower: StreamFollower = await hub.threads.run(hub.backend.follow, name, after)
        try:
            async with aclosing(_events(hub, follower, since)) as stream:
                yield stream
        finally:
            follower.close()

    return EventStreamResponse(services.listeners, open_events, {"RDF-Message-Content-Type": RdfSyntax.N_QUADS})


async def _events(hub: Hub, follower: StreamFollower, since: Instant | None) -> AsyncGenerator[bytes, None]:
    """The elements as events; ``since`` leaves out those with this timestamp and older ones."""
    yield sse.HEARTBEAT
    try:
        retained = follower.retained_from
        if since is not None and retained is not None and since < retained:
            yield sse.reset_event(retained)
        while True:
            taken = await hub.threads.run_replay(follower.take)
            wanted = [one for one in taken if _is_wanted(one, since)]
            if wanted:
                yield b"".join(_encoded(one, follower.watermark) for one in wanted)
            elif not taken and follower.ended:
                yield sse.end_event("the stream has ended")
                return
            if hub.stopping.is_set():
                return
            if not taken:
                with anyio.move_on_after(_LOOKED_EVERY):
                    await hub.stopping.wait()
    except NotFound:
        yield sse.end_event("the stream was deleted")
    except ProtocolError as error:
        yield sse.error_event(error.problem())


def _is_wanted(one: StreamItem, since: Instant | None) -> bool:
    if since is None:
        return True
    if isinstance(one, StreamDamage):
        return one.latest is None or one.latest > since
    return one.time > since


def _encoded(one: StreamItem, watermark: Instant) -> bytes:
    if isinstance(one, StreamDamage):
        return sse.error_event(Unavailable(f"elements cannot be read: {one}").problem())
    if isinstance(one, StreamGap):
        return sse.reset_event(one.time)
    # Clients pass over events without data.
    return sse.event(one.data.rstrip(b"\n") or _EMPTY, identifier=sse.element_id(one.number)) + sse.progress_event(
        one.time, watermark
    )
