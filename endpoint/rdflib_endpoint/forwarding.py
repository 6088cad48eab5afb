"""The way of a request from the application's routes to the endpoint, whose paths and formats are its own."""

from __future__ import annotations

from typing import Any

from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from protocol.formats.negotiation import accept_header

_SOLUTIONS_XML, _GRAPH_XML = "application/sparql-results+xml", "application/rdf+xml"
_LAST_CHOICE = f"{_SOLUTIONS_XML};q=0.001, {_GRAPH_XML};q=0.001"
_ALSO_CALLED = {
    "text/json": ("application/json",),
    "application/sparql-results+csv": ("text/csv",),
    "text/csv": ("text/csv", "text/turtle"),
}
"""What rdflib-endpoint takes for formats, besides what the endpoint does."""


def rdflib_accept(accept: str | None) -> str:
    """An ``Accept`` by which the endpoint chooses as rdflib-endpoint does: XML where nothing that is known is named."""
    ranges: list[str] = []
    for one in (accept or "").split(","):
        media_type, *parameters = (part.strip() for part in one.split(";"))
        if media_type and "*" not in media_type:
            known = (media_type, *_ALSO_CALLED.get(media_type.lower(), ()))
            ranges += ["; ".join((name, *parameters)) for name in known]
    return ", ".join((*ranges, _LAST_CHOICE))


class EndpointRoute:
    """An ASGI application: the endpoint, asked at a path of ours for what it has at one of its own."""

    def __init__(self, endpoint: ASGIApp, path: str) -> None:
        self._endpoint = endpoint
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._path.format(**scope.get("path_params", {}))
        await self._endpoint(at_path(scope, _prefix(scope, path), None), receive, send)


class SparqlPath:
    """An ASGI application: the SPARQL endpoint at a path of the application's choice, as rdflib-endpoint has it."""

    def __init__(self, endpoint: ASGIApp, path: str) -> None:
        self._endpoint = endpoint
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"]
        accept = accept_header(given)
        named = dict(headers)
        if scope["method"] == "POST" and not _has_body(named):
            # A query in the URL, or the question what this is.
            scope = {**scope, "method": "GET"}
        asks = b"query" in scope["query_string"]
        prefix = _prefix(scope, self._path)
        if not asks and scope["method"] in ("GET", "HEAD") and (accept or "").startswith("text/html"):
            await self._endpoint(at_path(scope, prefix, "/"), receive, send)
            return
        headers.append((b"accept", rdflib_accept(accept).encode("latin-1")))
        await self._endpoint({**at_path(scope, prefix, "/sparql"), "headers": headers}, receive, send)


class EndpointPaths:
    """An ASGI application for what no route matches: the endpoint, where it has a route, otherwise ``default``."""

    def __init__(self, endpoint: Any, default: ASGIApp) -> None:
        self._endpoint = endpoint
        self._default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = scope["type"] == "http" and any(
            route.matches(scope)[0] is not Match.NONE for route in self._endpoint.routes
        )
        await (self._endpoint if known else self._default)(scope, receive, send)


def routes_to(endpoint: Any) -> list[Route]:
    """A route for each of the endpoint's, but for its root, for a router that may be included under a prefix."""
    return [
        Route(route.path, EndpointRoute(endpoint, route.path_format), name=route.name)
        for route in endpoint.routes
        if isinstance(route, Route) and route.path != "/"
    ]


def at_path(scope: Scope, prefix: str, path: str | None) -> Scope:
    """The request below a prefix, at this path or where it is."""
    made = {**scope, "root_path": prefix}
    if path is not None:
        made |= {"path": f"{prefix}{path}", "raw_path": f"{prefix}{path}".encode()}
    return made


def _prefix(scope: Scope, path: str) -> str:
    """Where the application is that has something at this path."""
    asked: str = scope["path"]
    return asked.removesuffix("/").removesuffix(path.rstrip("/"))


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
