"""The resources ``/queries`` and ``/queries/NAME``: standing queries, their results and plans (contract section 4)."""

from __future__ import annotations

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.live.registration import delete_query, located, put_query, standing_query
from endpoint.live.result_stream import ResultStreamResponse, accept_header, asked, hub_of, since_parameter, subscribed
from endpoint.resources.continuous import answer_response, offers
from endpoint.resources.query_document import query_document
from endpoint.resources.request_body import read_body
from protocol.errors import NotFound, QuerySemanticError, QuerySyntaxError
from protocol.formats.media_types import EVENT_STREAM, SPARQL_QUERY
from protocol.formats.negotiation import UnsupportedMediaType, choose
from protocol.language import parse
from protocol.language.model import ContinuousQuery
from protocol.names import checked_name

MAXIMUM_TEXT = 4 * 1024 * 1024
"""Bytes of a query's text."""

_UNCACHED = {"Cache-Control": "no-store"}


class NoEvaluationYet(NotFound):
    """The query has no answer so far."""

    title = "No evaluation yet"


async def list_queries(request: Request) -> Response:
    """All standing queries, by name."""
    hub, root = hub_of(request), _root(request)
    descriptions = [one for one in await hub.call(hub.backend.queries) if one.standing]
    listeners = hub.listeners()
    documents = [
        query_document(one, root, listeners=listeners.get(one.name, 0))
        for one in sorted(descriptions, key=lambda one: one.name)
    ]
    return JSONResponse({"queries": documents}, headers=_UNCACHED)


class Query(HTTPEndpoint):
    """The resource ``/queries/NAME``."""

    async def get(self, request: Request) -> Response:
        """One standing query."""
        return await _described(request, checked_name(request.path_params["name"]))

    async def put(self, request: Request) -> Response:
        """Create (201) or replace (200) a standing query; ``?since=`` moves its start back."""
        hub, name = hub_of(request), checked_name(request.path_params["name"])
        since = since_parameter(request)
        state = request.app.state
        body = await read_body(request, min(MAXIMUM_TEXT, state.settings.max_request_bytes))
        text = _text(request.headers.get("content-type", ""), body)
        # The same base as at /sparql: the same text is the same query.
        query = await state.threads.run(parse, text, base=f"{state.settings.base_url}/sparql")
        if not isinstance(query, ContinuousQuery):
            raise QuerySemanticError(
                "the query reads no stream, so there is nothing to keep it standing for: "
                "add FROM NAMED WINDOW or FROM STREAM, or ask it once at /sparql"
            )
        new = await put_query(hub, name, await located(request, hub, query), since)
        response = await _described(request, name, status=201 if new else 200)
        response.headers["Location"] = f"{_root(request)}/queries/{name}"
        return response

    async def delete(self, request: Request) -> Response:
        """End a standing query."""
        await delete_query(hub_of(request), checked_name(request.path_params["name"]))
        return Response(status_code=204)


async def results(request: Request) -> Response:
    """The query's result stream, or its latest answer."""
    hub, name = hub_of(request), checked_name(request.path_params["name"])
    description = await standing_query(hub, name)
    form = description.query.form
    media_type = choose(accept_header(request), offers(form))
    if media_type == EVENT_STREAM:
        start = asked(request).start
        return ResultStreamResponse(lambda: subscribed(hub, name, start))
    latest = await hub.latest(name)
    if latest is None:
        raise NoEvaluationYet(
            f"the query {name!r} has no answer yet: the watermarks of its streams have not reached "
            f"an instant at which it is evaluated; Accept: {EVENT_STREAM} waits for it"
        )
    return answer_response(latest, form, media_type)


async def plan(request: Request) -> Response:
    """How the query is evaluated, for a person."""
    hub, name = hub_of(request), checked_name(request.path_params["name"])
    await standing_query(hub, name)
    return PlainTextResponse(await hub.call(hub.backend.plan, name), headers=_UNCACHED)


async def _described(request: Request, name: str, *, status: int = 200) -> Response:
    hub = hub_of(request)
    document = query_document(
        await standing_query(hub, name), _root(request), listeners=hub.listeners().get(name, 0)
    )  # fmt: skip
    return JSONResponse(document, status_code=status, headers=_UNCACHED)


def _text(declared: str, body: bytes) -> str:
    media_type = declared.partition(";")[0].strip().lower()
    if media_type not in ("", SPARQL_QUERY, "text/plain"):
        raise UnsupportedMediaType(f"a query is sent as {SPARQL_QUERY}, not {media_type}")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise QuerySyntaxError(f"the query is not UTF-8 at byte {error.start}", line=line) from None
    if not text.strip():
        raise QuerySyntaxError("the body is empty: send the text of a continuous query", line=1, column=1)
    return text


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", ""))


routes: list[BaseRoute] = [
    Route("/queries", list_queries),
    Route("/queries/{name}", Query),
    Route("/queries/{name}/results", results),
    Route("/queries/{name}/plan", plan),
]
