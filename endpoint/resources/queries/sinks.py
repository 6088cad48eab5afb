"""The resources ``/queries/NAME/sinks`` and ``/queries/NAME/sinks/SINK`` (docs/sinks.md)."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.backend import QueryDescription
from endpoint.live.registration import standing_query
from endpoint.resources.queries.sink_document import sink_document
from endpoint.resources.requests.parameters import mounted_at, since_parameter
from endpoint.resources.requests.request_body import read_body
from endpoint.services import services_of
from endpoint.sinks.delivery import Delivery
from endpoint.sinks.warnings import sink_warnings
from protocol.names import checked_name
from protocol.preconditions import Precondition
from protocol.sinks.settings import parse_sink_settings

MAXIMUM_SETTINGS = 256 * 1024
"""Bytes of a sink's settings."""

_UNCACHED = {"Cache-Control": "no-store"}


async def list_sinks(request: Request) -> Response:
    """All sinks of a standing query, by name."""
    services, query = services_of(request.app), checked_name(request.path_params["query"])
    description = await standing_query(services.hub, query)
    root = mounted_at(request)
    documents = [sink_document(one, description, root) for one in services.sinks.of(query)]
    return JSONResponse({"sinks": documents}, headers=_UNCACHED)


class SinkResource(HTTPEndpoint):
    """The resource ``/queries/NAME/sinks/SINK``."""

    async def get(self, request: Request) -> Response:
        """One sink: its settings without secrets, and how it is."""
        services = services_of(request.app)
        query, name = _names(request)
        description = await standing_query(services.hub, query)
        return _described(request, services.sinks.sink(query, name), description)

    async def put(self, request: Request) -> Response:
        """Make (201) or replace (200) a sink; ``?since=`` has it begin, or begin again, with what is past."""
        services = services_of(request.app)
        query, name = _names(request)
        condition, since = Precondition.of(request.headers), since_parameter(request)
        body = await read_body(request, min(MAXIMUM_SETTINGS, services.settings.max_request_bytes))
        description = await standing_query(services.hub, query)
        settings = parse_sink_settings(body, description.query.form)
        made = await services.sinks.put(query, name, settings, since, condition)
        warnings = await services.hub.threads.run(sink_warnings, settings)
        status = 201 if made.new else 200
        response = _described(request, made.delivery, made.query, status=status, warnings=warnings)
        response.headers["Location"] = f"{mounted_at(request)}/queries/{query}/sinks/{name}"
        return response

    async def delete(self, request: Request) -> Response:
        """End a sink: nothing is sent any more, and its position is forgotten."""
        services = services_of(request.app)
        query, name = _names(request)
        condition = Precondition.of(request.headers)
        await standing_query(services.hub, query)
        await services.sinks.remove(query, name, condition)
        return Response(status_code=204)


def _names(request: Request) -> tuple[str, str]:
    return checked_name(request.path_params["query"]), checked_name(request.path_params["name"])


def _described(
    request: Request, sink: Delivery, query: QueryDescription, *, status: int = 200, warnings: Sequence[str] = ()
) -> Response:
    document = sink_document(sink, query, mounted_at(request))
    if warnings:
        document["warnings"] = list(warnings)
    return JSONResponse(document, status_code=status, headers=_UNCACHED)


routes: list[BaseRoute] = [
    Route("/queries/{query}/sinks", list_sinks),
    Route("/queries/{query}/sinks/{name}", SinkResource),
]
