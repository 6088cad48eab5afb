"""The resource ``/sparql``: SPARQL 1.1 Protocol, with continuous queries passed on to those who answer them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.access import require
from endpoint.readers.exchange import QueryQuestion
from endpoint.readers.response import AnswerResponse
from endpoint.resources.queries.continuous import answer as answer_continuous
from endpoint.resources.requests.accept import chosen_type, chosen_types
from endpoint.resources.requests.parameters import mounted_at
from endpoint.resources.requests.request_body import read_body, too_large
from endpoint.resources.service_description import service_description
from endpoint.services import Services, services_of
from endpoint.threads import WorkerThreads
from protocol.access import operation_scope
from protocol.formats.media_types import EVENT_STREAM, GRAPH_OFFERS, SOLUTIONS_OFFERS, SPARQL_QUERY, content_type
from protocol.formats.negotiation import media_type_of
from protocol.grammar.parser import parse, parse_live, perhaps_continuous
from protocol.language.model import ContinuousQuery
from protocol.sparql.form import answers_with_a_graph
from protocol.sparql.load import has_load
from protocol.sparql.request import QueryRequest, UpdateRequest, sparql_request

MAXIMUM_TEXT = 4 * 1024 * 1024
"""Bytes, and characters, of a query's text."""

METHODS = ("GET", "HEAD", "POST", "QUERY")
_VARY = {"Vary": "Accept"}


async def sparql(request: Request) -> Response:
    """A query, an update, or a GET without either: the service description, or the page for a browser."""
    services = services_of(request.app)
    body = await _body(request, services.settings.max_request_bytes) if request.method in ("POST", "QUERY") else b""
    query_part, content_type_header = request.scope["query_string"], request.headers.get("content-type")
    size = len(query_part) + len(body)
    asked = await services.threads.run_if_long(
        size, sparql_request, request.method, query_part, content_type_header, body
    )  # fmt: skip
    base = f"{services.settings.base_url}/sparql"
    if asked is None:
        return await _description(request, services, base)
    if isinstance(asked, UpdateRequest):
        require(request, operation_scope(update=True))
        prepare = partial(
            services.store.prepared,
            asked.text,
            base=base,
            using_graphs=asked.using_graphs,
            using_named_graphs=asked.using_named_graphs,
            seconds=asked.timeout,
        )
        loads = await services.threads.run_if_long(len(asked.text), has_load, asked.text)
        change = await (services.fetching_threads if loads else services.threads).run(prepare)
        await services.changes.make(change)
        return Response(status_code=204)
    if len(asked.text) > MAXIMUM_TEXT:
        raise too_large(MAXIMUM_TEXT)
    query = await _continuous(services.threads, asked, base)
    if query is not None:
        return await answer_continuous(request, services, query, asked)
    require(request, operation_scope())
    # The form is in the text, so what cannot be written is refused before anything is evaluated.
    gives_graph = await services.threads.run_if_long(len(asked.text), answers_with_a_graph, asked.text)
    offers = GRAPH_OFFERS if gives_graph else SOLUTIONS_OFFERS
    media_types = chosen_types(request, [*offers, EVENT_STREAM])
    if media_types[0] == EVENT_STREAM:
        live = await services.threads.run(parse_live, asked.text, base=base, requested=asked.graphs)
        return await answer_continuous(request, services, live, asked)
    return await _answer(services, asked, media_types, base)


async def _body(request: Request, limit: int) -> bytes:
    """An update may be as long as any body, a query as ``MAXIMUM_TEXT``; what a form is, it tells itself."""
    media_type = media_type_of(request.headers.get("content-type"))
    return await read_body(request, min(limit, MAXIMUM_TEXT) if media_type == SPARQL_QUERY else limit)


async def _continuous(threads: WorkerThreads, asked: QueryRequest, base: str) -> ContinuousQuery | None:
    if not await threads.run_if_long(len(asked.text), perhaps_continuous, asked.text):
        return None
    query = await threads.run(parse, asked.text, base=base, requested=asked.graphs)
    return query if isinstance(query, ContinuousQuery) else None


async def _answer(services: Services, asked: QueryRequest, media_types: Sequence[str], base: str) -> Response:
    question = QueryQuestion(
        asked.text,
        media_types[0],
        base,
        asked.graphs.default,
        asked.graphs.named,
        allow_fetch=services.store.fetching.allowed.entries,
    )
    regime = services.settings.entailment if asked.entailment is None else asked.entailment
    readers = await services.regimes.under(regime)
    return AnswerResponse(readers, question, services.query_limits.asked(asked.timeout), others=media_types[1:])


async def _description(request: Request, services: Services, endpoint: str) -> Response:
    media_type = chosen_type(request, [*GRAPH_OFFERS, "text/html"])
    if media_type == "text/html":
        return RedirectResponse(f"{mounted_at(request)}/", status_code=303, headers=_VARY)
    require(request, operation_scope())
    written = await services.threads.run(
        service_description,
        services.store,
        endpoint,
        GRAPH_OFFERS[media_type],
        services.extension_functions,
        services.about,
        services.settings.entailment,
    )
    return Response(written, headers={"Content-Type": content_type(media_type), **_VARY})


routes: list[BaseRoute] = [Route("/sparql", sparql, methods=list(METHODS))]
