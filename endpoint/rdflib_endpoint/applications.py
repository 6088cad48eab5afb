"""``SparqlEndpoint`` and ``SparqlRouter`` with the parameters of rdflib-endpoint 0.6, on this endpoint."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import rdflib_endpoint
from fastapi import APIRouter, FastAPI, Request, Response
from rdflib import DC, RDFS, Graph, Literal, URIRef
from rdflib.graph import ConjunctiveGraph
from rdflib_endpoint.utils import Defaults, QueryExample
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from endpoint.app import application
from endpoint.backend import Backend
from endpoint.cors import CrossOriginAccess
from endpoint.extensions import Extensions
from endpoint.rdflib_endpoint.dataset import DatasetExt
from endpoint.rdflib_endpoint.forwarding import EndpointPaths, SparqlPath, routes_to
from endpoint.rdflib_endpoint.mirror import GraphMirror, Mirrored
from endpoint.readers.rdflib_functions import RdflibFunctions
from endpoint.resources.service_description import SD
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.access import EVERY_SCOPE, AccessToken, Tokens
from protocol.access import Scope as TokenScope
from protocol.functions.python_functions import Named, search_path

API_KEY = "RDFLIB_APIKEY"
"""The environment variable of rdflib-endpoint: with it, whoever changes something has to send it as a token."""


_SPARQL = "SPARQL endpoint"


class SparqlRouter(APIRouter):
    """The endpoint as a router: SPARQL at ``path``, and all else that it has, streams among it, beside it.

    ``settings`` are those of the endpoint; without them they come from the environment, ``base_url`` from
    ``public_url``. The other parameters are rdflib-endpoint's. ``endpoint`` is the application within.
    """

    def __init__(
        self,
        *args: Any,
        path: str = "/",
        title: str = Defaults.title,
        description: str = Defaults.description,
        version: str = Defaults.version,
        graph: Graph | None = None,
        service_description: Graph | None = None,
        processor: Any = "sparql",
        custom_eval: Callable[..., Any] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        enable_update: bool = False,
        public_url: str = Defaults.public_url,
        favicon: str = Defaults.favicon,
        example_queries: dict[str, QueryExample] | None = None,
        example_query: str | None = None,
        settings: Settings | None = None,
        backend: Backend | None = None,
        **kwargs: Any,
    ) -> None:
        if processor != "sparql":
            raise ValueError("processor: queries are evaluated by Oxigraph, and by rdflib's own; leave it out")
        self.path, self.title, self.description, self.version = path, title, description, version
        self.public_url, self.favicon, self.enable_update = public_url, favicon, enable_update
        self.graph = graph
        self.functions = dict(functions or {})
        self.example_queries = example_queries or ({"Example": {"query": example_query}} if example_query else None)
        self._custom_eval = custom_eval
        self._description = service_description
        theirs = isinstance(graph, rdflib_endpoint.DatasetExt) and not isinstance(graph, DatasetExt)
        if theirs and cast("rdflib_endpoint.DatasetExt", graph).get_custom_functions():
            raise ValueError(
                "graph: import DatasetExt, too, from endpoint.rdflib_endpoint: other processes call its functions"
            )
        settings = _settings(settings, public_url, path, enable_update)
        self._base_url = settings.base_url
        mirror = None if graph is None else GraphMirror(graph)
        extensions = Extensions(
            self.graph.expressions if isinstance(self.graph, DatasetExt) else {},
            self._rdflib_functions,
            self._about,
            () if mirror is None else (Middleware(Mirrored, mirror=mirror),),
        )
        self.endpoint: Starlette = application(settings, extensions, backend=backend)
        inner = self.endpoint.router.lifespan_context
        outer = kwargs.pop("lifespan", None)

        @asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[Any]:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(inner(self.endpoint))
                if mirror is not None:
                    await stack.enter_async_context(mirror.following(services_of(self.endpoint)))
                yield None if outer is None else await stack.enter_async_context(outer(app))

        super().__init__(*args, lifespan=lifespan, **kwargs)
        self._add_sparql(path)

    def _add_sparql(self, path: str) -> None:
        sparql = SparqlPath(self.endpoint, path)

        async def ask(request: Request) -> Response:
            return _Forwarded(sparql)

        self.add_api_route(path, ask, methods=["GET"], name=_SPARQL, summary="SPARQL: a query")
        self.add_api_route(path, ask, methods=["POST"], name=_SPARQL, summary="SPARQL: a query or an update")
        # The other methods, and the other way to write a path that ends with a slash.
        for also in dict.fromkeys((path, path.rstrip("/") or "/", f"{path.rstrip('/')}/")):
            self.routes.append(Route(also, sparql, name=_SPARQL))
        self.routes.extend(route for route in routes_to(self.endpoint) if route.path.rstrip("/") != path.rstrip("/"))

    def _rdflib_functions(self) -> RdflibFunctions:
        decorated = self.graph.decorated() if isinstance(self.graph, DatasetExt) else ()
        older = {iri: Named.of(function, f"functions: <{iri}>") for iri, function in self.functions.items()}
        custom_eval = None if self._custom_eval is None else Named.of(self._custom_eval, "custom_eval")
        union = self.graph is None or (isinstance(self.graph, ConjunctiveGraph) and bool(self.graph.default_union))
        return RdflibFunctions(decorated, older, custom_eval, search_path(), union)

    def _about(self) -> bytes:
        """What is said in the service description of this endpoint's title and address, in N-Triples."""
        about = Graph()
        service = URIRef(f"{self._base_url}/sparql")
        for predicate, value in ((RDFS.label, self.title), (DC.description, self.description)):
            about.add((service, predicate, Literal(value)))
        about.add((service, URIRef(f"{SD}endpoint"), URIRef(self.public_url)))
        for triple in self._description or ():
            about.add(triple)
        return about.serialize(format="nt", encoding="utf-8")


class SparqlEndpoint(FastAPI):
    """The endpoint as a FastAPI application, to which routes may be added: they go before those of the endpoint.

    The parameters are those of ``SparqlRouter``; ``cors_enabled`` lets every web page read.
    """

    def __init__(
        self,
        *args: Any,
        path: str = "/",
        title: str = Defaults.title,
        description: str = Defaults.description,
        version: str = Defaults.version,
        graph: Graph | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        processor: Any = "sparql",
        custom_eval: Callable[..., Any] | None = None,
        enable_update: bool = False,
        cors_enabled: bool = True,
        public_url: str = Defaults.public_url,
        favicon: str = Defaults.favicon,
        example_queries: dict[str, QueryExample] | None = None,
        example_query: str | None = None,
        settings: Settings | None = None,
        backend: Backend | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, title=title, description=description, version=version, **kwargs)
        router = SparqlRouter(
            path=path,
            title=title,
            description=description,
            version=version,
            graph=graph,
            functions=functions,
            processor=processor,
            custom_eval=custom_eval,
            enable_update=enable_update,
            public_url=public_url,
            favicon=favicon,
            example_queries=example_queries,
            example_query=example_query,
            settings=settings,
            backend=backend,
        )
        self.graph = router.graph
        self.endpoint = router.endpoint
        # Its path is a route; all else the endpoint has is behind whatever routes are added later.
        only_sparql = APIRouter(lifespan=router.lifespan_context)
        only_sparql.routes.extend(route for route in router.routes if getattr(route, "name", "") == _SPARQL)
        self.include_router(only_sparql)
        self.router.default = EndpointPaths(router.endpoint, self.router.default)
        if cors_enabled:
            self.add_middleware(CrossOriginAccess, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])


class _Forwarded(Response):
    """A response that the endpoint gives."""

    def __init__(self, sparql: SparqlPath) -> None:
        super().__init__()
        self._sparql = sparql

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sparql(scope, receive, send)


def _settings(settings: Settings | None, public_url: str, path: str, enable_update: bool) -> Settings:
    """Those given or of the environment; without ``enable_update`` nothing is changed without a token."""
    if settings is None:
        url = None if public_url == Defaults.public_url else public_url.rstrip("/").removesuffix(path.rstrip("/"))
        settings = Settings.from_environment(base_url=url)
    tokens, key = settings.tokens, os.environ.get(API_KEY)
    if key and enable_update:
        tokens = tokens.with_token(AccessToken.of(API_KEY, EVERY_SCOPE, key))
    if key or not enable_update:
        tokens = Tokens(tokens.tokens, tokens.anonymous & {TokenScope.READ})
    return replace(settings, tokens=tokens)
