"""The resource ``/graphs``: SPARQL 1.1 Graph Store HTTP Protocol, indirect (?default, ?graph=IRI) and direct naming."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from endpoint.graphs.change import Change
from endpoint.graphs.documents import Document, n_triples
from endpoint.readers.exchange import GraphQuestion
from endpoint.readers.response import AnswerResponse
from endpoint.resources.multipart_graphs import FORM_DATA, parts
from endpoint.resources.requests.accept import chosen_types
from endpoint.resources.requests.request_body import read_body
from endpoint.services import services_of
from protocol.errors import ProtocolError
from protocol.formats.media_types import GRAPH_BODY_TYPES, GRAPH_OFFERS, RdfSyntax
from protocol.formats.negotiation import UnsupportedMediaType, media_type_of, require_utf8
from protocol.preconditions import Precondition
from protocol.sparql.dataset import require_absolute
from protocol.sparql.request import decode_form

_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%~"
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")


class MalformedGraphRequest(ProtocolError):
    """The request names no graph, or two."""

    title = "Not a Graph Store request"


@dataclass(frozen=True)
class GraphName:
    """One graph of the store; ``iri`` None is the default graph."""

    iri: str | None

    @property
    def oxigraph(self) -> ox.NamedNode | ox.DefaultGraph:
        return ox.DefaultGraph() if self.iri is None else ox.NamedNode(self.iri)


async def graphs(request: Request) -> Response:
    """All methods of the protocol on one graph; POST without a graph makes a new one and names it."""
    services = services_of(request.app)
    url = f"{services.settings.base_url}/graphs"
    graph = _named_by(request, url)
    if request.method in ("GET", "HEAD"):
        media_type, *others = chosen_types(request, GRAPH_OFFERS)
        question = GraphQuestion(_required(graph).iri, media_type)
        return AnswerResponse(services.readers, question, services.query_limits, others=others)
    condition = Precondition.of(request.headers)
    if graph is not None and graph.iri is None:
        condition.require(True, "the default graph")
    if request.method == "DELETE":
        await services.changes.make(_removal(_required(graph), condition))
        return Response(status_code=204)
    put = request.method == "PUT"
    content_type = request.headers.get("content-type")
    if put or media_type_of(content_type) != FORM_DATA:
        _syntax(content_type)  # before the body is read
    body = await read_body(request, services.settings.max_request_bytes)
    if graph is None and request.method == "POST":
        graph = GraphName(f"{url}/{uuid.uuid4()}")
    graph = _required(graph)
    change = await services.parsing_threads.run(_written, graph, content_type, body, put, url, condition)
    if await services.changes.make(change):
        return Response(status_code=204)
    return Response(status_code=201, headers={"Location": _location(graph, url)})


def _named_by(request: Request, graphs_url: str) -> GraphName | None:
    parameters = decode_form(request.scope["query_string"], "the query part of the URL")
    named = parameters.get("graph", [])
    if "name" in request.path_params:
        if named or "default" in parameters:
            raise MalformedGraphRequest("the path names a graph already: leave ?graph and ?default out")
        name = _as_sent(request.scope.get("raw_path"), request.path_params["name"])
        return GraphName(require_absolute("the path", f"{graphs_url}/{name}"))
    if len(named) + ("default" in parameters) > 1:
        raise MalformedGraphRequest("the request names several graphs: write one of ?default and ?graph=IRI, once")
    if "default" in parameters:
        return GraphName(None)
    return GraphName(require_absolute("graph", named[0])) if named else None


def _as_sent(raw_path: bytes | None, name: str) -> str:
    """The end of the path that was decoded to ``name``, with its percent-encoding: that is part of the graph's IRI."""
    sent = (raw_path or b"").decode("latin-1").partition("?")[0]
    start = sent.find("/graphs/")
    while start >= 0:
        rest = sent[start + len("/graphs/") :]
        if unquote(rest) == name:
            return rest
        start = sent.find("/graphs/", start + 1)
    return quote(name, safe=_URL_CHARACTERS.replace("%", ""))


def _required(graph: GraphName | None) -> GraphName:
    if graph is None:
        raise MalformedGraphRequest("the request names no graph: add ?default or ?graph=IRI")
    return graph


def _syntax(header: str | None, of: str = "the request") -> RdfSyntax:
    expected = f"send one of {', '.join(member.value for member in RdfSyntax)}"
    media_type = media_type_of(header)
    if media_type == FORM_DATA:
        raise UnsupportedMediaType(f"{FORM_DATA} is read with POST only (Graph Store section 5.5): {expected}")
    if media_type not in GRAPH_BODY_TYPES:
        said = f"{media_type} is not read here" if media_type else f"{of} has no Content-Type"
        raise UnsupportedMediaType(f"{said}: {expected}")
    require_utf8(header)
    return GRAPH_BODY_TYPES[media_type]


def _removal(graph: GraphName, condition: Precondition) -> Change:
    if graph.iri is None:
        return Change("CLEAR DEFAULT", within="")
    return Change(
        f"DROP SILENT GRAPH {graph.oxigraph}", graph=graph.iri, required=True, there=condition.there, within=graph.iri
    )


def _written(
    graph: GraphName, content_type: str | None, body: bytes, put: bool, graphs_url: str, condition: Precondition
) -> Change:
    """One update, which is one transaction: nobody sees the graph emptied and not yet filled."""
    data = n_triples(_documents(content_type, body), graph.iri or graphs_url).decode()
    if graph.iri is None:
        return Change(f"{'CLEAR DEFAULT ; ' if put else ''}INSERT DATA {{\n{data}}}", within="")
    name = graph.oxigraph
    before = f"DROP SILENT GRAPH {name} ; CREATE GRAPH {name}" if put else f"CREATE SILENT GRAPH {name}"
    return Change(
        f"{before} ; INSERT DATA {{ GRAPH {name} {{\n{data}}} }}",
        graph=graph.iri,
        there=condition.there,
        within=graph.iri,
    )


def _location(graph: GraphName, graphs_url: str) -> str:
    iri = graph.iri or ""
    direct = iri.startswith(f"{graphs_url}/")
    return quote(iri, safe=_URL_CHARACTERS) if direct else f"{graphs_url}?graph={quote(iri, safe='')}"


def _documents(content_type: str | None, body: bytes) -> list[Document]:
    """The body, or each of its parts, with its syntax. A part that is no RDF refuses them all."""
    if media_type_of(content_type) != FORM_DATA:
        return [Document(_syntax(content_type), body)]
    found = parts(content_type or "", body)
    return [Document(_syntax(header, f"part {number}"), content) for number, (header, content) in enumerate(found, 1)]


routes: list[BaseRoute] = [
    Route("/graphs", graphs, methods=list(METHODS)),
    Route("/graphs/{name:path}", graphs, methods=list(METHODS)),
]
