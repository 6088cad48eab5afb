"""The resources ``/streams`` and ``/streams/NAME``: streams, appends, watermarks (docs/http.md, "Streams")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.live.hub import Hub
from endpoint.logins.password import login_warnings
from endpoint.resources.queries.query_document import format_or_null
from endpoint.resources.requests.accept import chosen_types
from endpoint.resources.requests.parameters import (
    InvalidTime,
    idempotency_key,
    instant_parameter,
    mounted_at,
    partition_parameter,
    read_instant,
)
from endpoint.resources.requests.request_body import read_body
from endpoint.resources.streams.context_documents import fetched_context
from endpoint.resources.streams.element_stream import element_stream
from endpoint.resources.streams.message_log import MESSAGE_LOG_TYPES, message_log
from endpoint.services import Services, services_of
from endpoint.sources.files.connection import require_growing
from protocol.errors import Conflict, NotFound
from protocol.formats.media_types import EVENT_STREAM
from protocol.formats.negotiation import UnsupportedMediaType, in_turn
from protocol.messages.body_type import parse_content_type
from protocol.names import checked_name
from protocol.preconditions import Precondition
from protocol.settings.stream import parse_stream_settings, settings_warnings, stream_settings_document
from protocol.sources import SourceDescription, SourceType
from protocol.streams import (
    SIDE_STREAMS,
    InvalidPartition,
    StreamDamage,
    StreamDescription,
    StreamSettings,
    main_stream,
    side_stream,
)

_MAXIMUM_SETTINGS = 64 * 1024
_MAXIMUM_TIME = 1024
_UNCACHED = {"Cache-Control": "no-store"}


def stream_document(stream: StreamDescription, root: str, source: SourceDescription | None = None) -> dict[str, Any]:
    """A stream as JSON: its settings as PUT takes them, what is in it, and the state of its source."""
    url, beside = f"{root}/streams/{stream.name}", stream.name != main_stream(stream.name)
    links = {"self": url} if beside else {"self": url, "watermark": f"{url}/watermark"}
    if not beside:
        links |= {side: f"{url}/{side}" for side in SIDE_STREAMS}
    return {
        "name": stream.name,
        **stream_settings_document(stream.settings),
        "watermark": format_or_null(stream.watermark),
        **_partition_members(stream),
        "first": format_or_null(stream.first),
        "last": format_or_null(stream.last),
        "elements": stream.elements,
        "triples": stream.triples,
        "late": stream.late,
        **({} if beside else {"rejected": stream.rejected}),
        "bytes": stream.bytes,
        "ended": stream.ended,
        **({} if stream.query is None else {"query": stream.query}),
        **({"damage": [_damage_document(damage) for damage in stream.damage]} if stream.damage else {}),
        **({} if source is None else {"sourceState": _source_state(source)}),
        "links": links,
    }


def _partition_members(stream: StreamDescription) -> dict[str, Any]:
    if not stream.partitions:
        return {}
    watermarks = {name: format_or_null(watermark) for name, watermark in stream.partitions.items()}
    waiting = {"waitingFor": list(stream.waiting_for)} if stream.waiting_for else {}
    return {"partitionWatermarks": watermarks, **waiting}


def _source_state(source: SourceDescription) -> dict[str, Any]:
    return {
        "state": source.state.value,
        "lastError": source.error,
        "notice": source.notice,
        "noticeAt": format_or_null(source.noticed_at),
        "notices": source.notices,
        "messages": source.messages,
        "bytes": source.bytes,
        "rejected": source.rejected,
        "failures": source.failures,
    }


def _damage_document(damage: StreamDamage) -> dict[str, Any]:
    return {
        "file": damage.file,
        "offset": damage.offset,
        "what": damage.what,
        "elements": damage.elements,
        "earliest": format_or_null(damage.earliest),
        "latest": format_or_null(damage.latest),
    }


async def list_streams(request: Request) -> Response:
    """All streams, by name."""
    hub, sources = services_of(request.app).hub, services_of(request.app).sources
    streams = await hub.threads.run(hub.backend.streams)
    root = mounted_at(request)
    documents = [
        stream_document(stream, root, sources.describe(stream.name))
        for stream in sorted(streams, key=lambda stream: stream.name)
    ]
    return JSONResponse({"streams": documents}, headers=_UNCACHED)


class StreamResource(HTTPEndpoint):
    """The resource ``/streams/NAME``."""

    async def get(self, request: Request) -> Response:
        """One stream: described, or its elements, as events or as a document of messages."""
        hub, name = services_of(request.app).hub, checked_name(request.path_params["name"])
        stream = await hub.threads.run(hub.backend.stream, name)
        return await _represented(request, stream)

    async def put(self, request: Request) -> Response:
        """Create the stream (201), or find it there with the same settings (200) or others (409)."""
        services, name = services_of(request.app), checked_name(request.path_params["name"])
        hub = services.hub
        body = await read_body(request, _MAXIMUM_SETTINGS)
        condition = Precondition.of(request.headers)
        async with hub.lock(name):
            existing = await _existing(hub, name)
            condition.require(existing is not None, f"the stream {name}")
            # Without an IRI in the body an existing stream keeps its own, whatever it is.
            default = f"{services.settings.base_url}/streams/{name}" if existing is None else existing.settings.iri
            settings = parse_stream_settings(body, default_iri=default)
            if settings.context is not None and settings.context.document is None:
                known = None if existing is None else existing.settings.context
                if known is None or known.given != settings.context.given:
                    known = await services.fetching_threads.run(
                        fetched_context, settings.context, services.store.fetching
                    )
                settings = replace(settings, context=known)
            if settings.source is not None:
                services.sources.require_allowed(settings.source)
                if settings.source.content_type is not None:
                    parse_content_type(settings.source.content_type, has_context=settings.context is not None)
                if settings.source.type is SourceType.FILE:
                    require_growing(settings.source)
            new = await hub.threads.run(_made, services, name, settings)
            warnings = settings_warnings(settings)
            if settings.source is not None:
                warnings += await hub.threads.run(login_warnings, settings.source.login)
            # Before another may delete it: what was made is described, whatever has the name afterwards.
            stream = await hub.threads.run(hub.backend.stream, name)
            response = _described(request, stream, status=201 if new else 200, warnings=warnings)
        response.headers["Location"] = f"{mounted_at(request)}/streams/{name}"
        return response

    async def delete(self, request: Request) -> Response:
        """End the stream, and drop what is in it."""
        hub, name = services_of(request.app).hub, checked_name(request.path_params["name"])
        condition = Precondition.of(request.headers)
        async with hub.lock(name):
            if condition != Precondition():
                condition.require(await _existing(hub, name) is not None, f"the stream {name}")
            await hub.threads.run(_delete, services_of(request.app), name)
        return Response(status_code=204)

    async def post(self, request: Request) -> Response:
        """Append the body's messages; the answer comes once they are durable."""
        services, name = services_of(request.app), checked_name(request.path_params["name"])
        hub = services.hub
        at, partition = instant_parameter(request, "at"), partition_parameter(request)
        content_type = request.headers.get("content-type", "")
        if not content_type.strip():
            raise UnsupportedMediaType("there is no Content-Type: say what the body is, such as text/turtle")
        key = idempotency_key(request)
        body = await read_body(request, services.settings.max_request_bytes)
        receipt = await hub.threads.run_append(lambda: hub.backend.append(name, body, content_type, at, key, partition))
        document = {
            "elements": receipt.elements,
            "triples": receipt.triples,
            "watermark": format_or_null(receipt.watermark),
            **({"rejected": receipt.rejected} if receipt.rejected else {}),
        }
        return JSONResponse(document, headers=_UNCACHED)


class SideStreamResource(HTTPEndpoint):
    """The resources ``/streams/NAME/rejected`` and ``/streams/NAME/late``."""

    async def get(self, request: Request) -> Response:
        """The stream described, or its elements, as events or as a document of messages."""
        hub, name = services_of(request.app).hub, _side_name(request)
        stream = await hub.threads.run(hub.backend.stream, name)
        return await _represented(request, stream)

    async def put(self, request: Request) -> Response:
        """Refused, as all that would change the stream."""
        hub, name = services_of(request.app).hub, _side_name(request)
        await hub.threads.run(hub.backend.stream, name)
        main = main_stream(name)
        raise Conflict(
            f"the stream {name} is written by the server alone, and made, ended and deleted with the stream {main}"
        )

    post = delete = put


async def _represented(request: Request, stream: StreamDescription) -> Response:
    """The stream in the form that the client wants most."""
    media_type, *others = chosen_types(request, ["application/json", EVENT_STREAM, *MESSAGE_LOG_TYPES])
    if media_type == EVENT_STREAM:
        return element_stream(request, stream.name)
    if media_type not in MESSAGE_LOG_TYPES:
        return _described(request, stream)
    logs = [media_type, *(other for other in others if other in MESSAGE_LOG_TYPES)]
    return await in_turn(logs, lambda one: message_log(request, stream, one))


def _side_name(request: Request) -> str:
    return side_stream(checked_name(request.path_params["name"]), request.url.path.rpartition("/")[2])


async def put_watermark(request: Request) -> Response:
    """Advance the watermark to a time, the stream's or that of one of its partitions, or end the stream."""
    hub, name = services_of(request.app).hub, checked_name(request.path_params["name"])
    partition = partition_parameter(request)
    try:
        text = (await read_body(request, _MAXIMUM_TIME)).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InvalidTime("the body is not UTF-8: send a time, or end") from None
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()  # the same as a JSON string
    if text.lower() == "end":
        if partition is not None:
            raise InvalidPartition("a stream ends as a whole: leave the partition out, or send a time for it")
        return _described(request, await hub.threads.run_append(lambda: hub.backend.end_stream(name)))
    watermark = read_instant(text, "watermark", also="end")
    return _described(request, await hub.threads.run_append(lambda: hub.backend.advance(name, watermark, partition)))


def _made(services: Services, name: str, settings: StreamSettings) -> bool:
    """Make the stream, and have its source fill it; whether it is new. Both, though whoever asked is cancelled."""
    new = services.backend.create_stream(name, settings)
    if settings.source is not None:
        services.sources.begin(name, settings.source)
    return new


def _delete(services: Services, name: str) -> None:
    """Delete the stream, and end its source. Both, as in ``_made``."""
    services.backend.delete_stream(name)
    services.sources.end(name)


async def _existing(hub: Hub, name: str) -> StreamDescription | None:
    try:
        return await hub.threads.run(hub.backend.stream, name)
    except NotFound:
        return None


def _described(
    request: Request, stream: StreamDescription, *, status: int = 200, warnings: Sequence[str] = ()
) -> Response:
    source = services_of(request.app).sources.describe(stream.name)
    document = stream_document(stream, mounted_at(request), source)
    if warnings:
        document["warnings"] = list(warnings)
    return JSONResponse(document, status_code=status, headers=_UNCACHED)


routes: list[BaseRoute] = [
    Route("/streams", list_streams),
    Route("/streams/{name}", StreamResource),
    Route("/streams/{name}/watermark", put_watermark, methods=["PUT"]),
    *(Route(f"/streams/{{name}}/{side}", SideStreamResource) for side in SIDE_STREAMS),
]
