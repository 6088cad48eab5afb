"""The resources ``/queries`` and ``/queries/NAME``: standing queries, their results and plans
(docs/http.md, "Standing queries").
"""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.backend import QueryDescription
from endpoint.live.registration import late_warning, located, put_query, remove_query, standing_query
from endpoint.live.result_stream import result_stream, subscribed
from endpoint.resources.queries.query_document import query_document
from endpoint.resources.queries.regimes import under_regime
from endpoint.resources.queries.sink_document import sink_document
from endpoint.resources.requests.accept import answer_response, answer_types
from endpoint.resources.requests.parameters import (
    flag_parameter,
    graphs_parameters,
    limits_parameters,
    mounted_at,
    refuse_graphs,
    regime_parameter,
    requested_span,
    since_parameter,
)
from endpoint.resources.requests.request_body import read_body
from endpoint.services import Services, services_of
from endpoint.sinks.warnings import unsuited
from endpoint.store_queries.question import refuse_past, require_evaluable
from protocol.errors import NotFound, QuerySyntaxError
from protocol.formats.media_types import EVENT_STREAM, SPARQL_QUERY
from protocol.formats.negotiation import UnsupportedMediaType, media_type_of
from protocol.grammar.parser import parse_live
from protocol.names import checked_name
from protocol.preconditions import Precondition

MAXIMUM_TEXT = 4 * 1024 * 1024
"""Bytes of a query's text."""

_UNCACHED = {"Cache-Control": "no-store"}


class NoEvaluationYet(NotFound):
    """The query has no answer so far."""

    title = "No evaluation yet"


async def list_queries(request: Request) -> Response:
    """All standing queries, by name."""
    services, root = services_of(request.app), mounted_at(request)
    hub = services.hub
    descriptions = [one for one in await hub.threads.run(hub.queries.queries) if one.standing]
    documents = [_document(services, one, root) for one in sorted(descriptions, key=lambda one: one.name)]
    return JSONResponse({"queries": documents}, headers=_UNCACHED)


class QueryResource(HTTPEndpoint):
    """The resource ``/queries/NAME``."""

    async def get(self, request: Request) -> Response:
        """One standing query."""
        hub, name = services_of(request.app).hub, checked_name(request.path_params["name"])
        return _described(request, await standing_query(hub, name))

    async def put(self, request: Request) -> Response:
        """Create (201) or replace (200) a standing query; ``?since=`` moves its start back.

        ``?default-graph-uri=`` and ``?named-graph-uri=`` are its graphs of the store, instead of those of its text.
        ``?timeout=`` and ``?memory=`` are what one evaluation may take, where the settings say more.
        """
        services, name = services_of(request.app), checked_name(request.path_params["name"])
        hub, settings = services.hub, services.settings
        condition = Precondition.of(request.headers)
        since, limits = since_parameter(request), limits_parameters(request)
        graphs = graphs_parameters(request)
        body = await read_body(request, min(MAXIMUM_TEXT, settings.max_request_bytes))
        text = _text(request.headers.get("content-type", ""), body)
        # The same base as at /sparql: the same text is the same query.
        base = f"{settings.base_url}/sparql"
        query = await services.threads.run(parse_live, text, base=base, requested=graphs)
        if query.one_shot is not None:
            await services.threads.run(require_evaluable, query, services.rdflib)
        query = await located(hub, query, (settings.base_url, str(request.base_url)))
        query = await under_regime(hub, query, regime_parameter(request), settings.entailment)
        made, new = await put_query(hub, name, query, since, limits, condition, clear=services.sinks.set_aside)
        response = _described(request, made, status=201 if new else 200, warning=await late_warning(hub))
        response.headers["Location"] = f"{mounted_at(request)}/queries/{name}"
        return response

    async def delete(self, request: Request) -> Response:
        """End a standing query."""
        name, condition = checked_name(request.path_params["name"]), Precondition.of(request.headers)
        services = services_of(request.app)
        await remove_query(services.hub, name, condition, forget=services.sinks.forget)
        return Response(status_code=204)


async def results(request: Request) -> Response:
    """The query's result stream, or its latest answer."""
    services, name = services_of(request.app), checked_name(request.path_params["name"])
    hub = services.hub
    refuse_graphs(request)
    description = await standing_query(hub, name)
    form = description.query.form
    media_types = answer_types(request, form)
    if media_types[0] == EVENT_STREAM:
        asked = requested_span(request)
        refuse_past(description.query, asked.since)
        return result_stream(services.listeners, lambda: subscribed(hub, name, asked), description.query)
    answered, latest = await hub.latest(name)
    if answered.query is not description.query:
        return await results(request)  # It was replaced meanwhile, perhaps by one with answers of another form.
    if latest is None:
        why = "the watermarks of its streams have not reached an instant at which it is evaluated"
        if description.last_error is not None:
            why = f"its last evaluation failed: {description.last_error}"
        elif description.overdue:
            why = "an evaluation is due, and not done"
        elif description.query.one_shot is not None:
            why = "what it gives at first is nothing"
        raise NoEvaluationYet(f"the query {name!r} has no answer yet: {why}; Accept: {EVENT_STREAM} waits for it")
    return await answer_response(services.threads, latest, form, media_types)


async def show_plan(request: Request) -> Response:
    """How the query is evaluated, for a person; ``?measured=true``: and how long each operator takes."""
    hub, name = services_of(request.app).hub, checked_name(request.path_params["name"])
    plan = partial(hub.queries.plan, name, measured=flag_parameter(request, "measured"))
    await standing_query(hub, name)
    return PlainTextResponse(await hub.threads.run(plan), headers=_UNCACHED)


def _described(request: Request, query: QueryDescription, *, status: int = 200, warning: str | None = None) -> Response:
    services, root = services_of(request.app), mounted_at(request)
    document = _document(services, query, root, warning)
    return JSONResponse(document, status_code=status, headers=_UNCACHED)


def _document(services: Services, query: QueryDescription, root: str, warning: str | None = None) -> dict[str, Any]:
    deliveries = services.sinks.of(query.name)
    return query_document(
        query,
        root,
        listeners=services.hub.listeners().get(query.name, 0),
        sinks=[sink_document(one, query, root) for one in deliveries],
        warnings=unsuited((one.sink for one in deliveries), query.query),
        warning=warning,
    )


def _text(declared: str, body: bytes) -> str:
    media_type = media_type_of(declared)
    if media_type not in ("", SPARQL_QUERY, "text/plain"):
        raise UnsupportedMediaType(f"a query is sent as {SPARQL_QUERY}, not {media_type}")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise QuerySyntaxError(f"the query is not UTF-8 at byte {error.start}", line=line) from None
    if not text.strip():
        raise QuerySyntaxError("the body is empty: send the text of a query", line=1, column=1)
    return text


routes: list[BaseRoute] = [
    Route("/queries", list_queries),
    Route("/queries/{name}", QueryResource),
    Route("/queries/{name}/results", results),
    Route("/queries/{name}/plan", show_plan),
]
