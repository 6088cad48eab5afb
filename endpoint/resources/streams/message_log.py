"""A stream's elements as a document of messages (docs/http.md, "Reading a stream"): ``GET /streams/NAME`` with an
``Accept`` that names a form which several messages have.

It has what is held when the request comes, and ends there. An element is a message of its own, without its time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from functools import partial

from pyoxigraph import RdfFormat, parse, serialize
from starlette.requests import Request
from starlette.responses import Response

from endpoint.backend import StreamFollower
from endpoint.live.hub import Hub
from endpoint.readers.errors import EndpointStopping
from endpoint.resources.long_response import LongResponse
from endpoint.resources.requests.parameters import RequestedElements, requested_elements
from endpoint.services import services_of
from protocol.errors import Unavailable
from protocol.formats.json.ld import json_ld_lacks
from protocol.formats.media_types import JELLY, JSON_LINES, RdfSyntax
from protocol.messages.division import DELIMITERS, VERSION, VERSION_LINE
from protocol.streams import StreamDamage, StreamDescription, StreamElement, StreamItem

JSON_LD_LINES = "application/x-ld+ndjson"

_Form = Callable[[Iterable[bytes]], bytes]
"""Makes messages of elements in N-Quads, some at once, in the order in which they came."""


def _n_quads() -> tuple[bytes, _Form]:
    return VERSION_LINE, lambda elements: b"".join(one + DELIMITERS.usual + b"\n" for one in elements)


def _json_ld_lines() -> tuple[bytes, _Form]:
    def line(quads: bytes) -> bytes:
        try:
            graph = serialize(parse(quads, RdfFormat.N_QUADS), format=RdfFormat.JSON_LD) if quads else None
        except OSError as error:
            raise json_ld_lacks(error) or error from None
        return b"{}\n" if graph is None else b'{"@graph":' + graph + b"}\n"

    return b"", lambda elements: b"".join(map(line, elements))


def _jelly() -> tuple[bytes, _Form]:
    # Protobuf takes longer to import than all of the other formats, and few read Jelly.
    from protocol.messages.jelly_frames import FrameWriter

    writer = FrameWriter()
    return b"", lambda elements: b"".join(writer.frame(parse(one, RdfFormat.N_QUADS)) for one in elements)


_FORMS: dict[str, tuple[str, Callable[[], tuple[bytes, _Form]]]] = {
    RdfSyntax.N_QUADS.value: (f"{RdfSyntax.N_QUADS}; version={VERSION}", _n_quads),
    JELLY: (JELLY, _jelly),
    JSON_LD_LINES: (JSON_LD_LINES, _json_ld_lines),
    JSON_LINES: (JSON_LINES, _json_ld_lines),
}

MESSAGE_LOG_TYPES = tuple(_FORMS)
"""The media types that a stream can be had in as a document of messages."""


async def message_log(request: Request, stream: StreamDescription, media_type: str) -> Response:
    """The response to a request for what a stream holds, in one of ``MESSAGE_LOG_TYPES``.

    Raises InvalidResumePoint or InvalidTime, Unavailable where elements of it cannot be read, or the server stops, and
    NotExpressible where the format has no way to write what comes first.
    """
    hub = services_of(request.app).hub
    if stream.damage:
        raise Unavailable(
            f"elements of the stream cannot be read: {stream.damage[0]}; "
            "read it as text/event-stream, which says where they are missing"
        )
    requested = requested_elements(request)
    content_type, form = _FORMS[media_type]
    after = -1 if requested.after is None else requested.after
    follow = partial(hub.backend.follow, stream.name, after, incarnation=requested.incarnation)
    follower: StreamFollower = await hub.threads.run(follow)
    written = _written(hub, follower, requested, stream.elements - 1, *form())
    # What comes first may be what the format cannot write: said of what comes later, the response breaks off.
    first = [await anext(written), await anext(written, b"")]
    return LongResponse(
        _continued(first, written),
        headers={"Content-Type": content_type, "Cache-Control": "no-store", "Vary": "Accept"},
    )


async def _written(
    hub: Hub, follower: StreamFollower, requested: RequestedElements, last: int, begin: bytes, form: _Form
) -> AsyncGenerator[bytes, None]:
    """The elements up to the one with the number ``last``. Raises EndpointStopping where there are more when the server
    is told to stop: what ended there would look like the whole.
    """

    def take() -> bytes | None:
        taken = follower.take()
        return form(_wanted(taken, requested, last)) if taken and _number(taken[0]) <= last else None

    try:
        yield begin
        while (written := await hub.threads.run_reading(take)) is not None:
            if hub.stopping.is_set():
                raise EndpointStopping
            yield written
    finally:
        follower.close()


async def _continued(first: Iterable[bytes], rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        for one in first:
            yield one
        async for one in rest:
            yield one
    finally:
        await rest.aclose()


def _number(one: StreamItem) -> int:
    return one.number if isinstance(one, StreamElement) else -1


def _wanted(taken: Iterable[StreamItem], requested: RequestedElements, last: int) -> Iterator[bytes]:
    """The data of the elements that are asked for. What retention has taken is not held, and so not missing."""
    for one in taken:
        if isinstance(one, StreamDamage):
            # The client sees that the response has not come to its end.
            raise Unavailable(f"elements cannot be read: {one}")
        if isinstance(one, StreamElement) and one.number <= last and requested.have(one.time):
            yield one.data
