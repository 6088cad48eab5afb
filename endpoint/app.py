"""The ASGI application: routes, errors, who may ask, and its life from start to stop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from endpoint.access import AccessControl
from endpoint.backend import Backend
from endpoint.cors import CrossOriginAccess
from endpoint.extensions import Extensions
from endpoint.hosts import KnownHosts, checks_hosts
from endpoint.life import EnsureStarted, Life, spark_backend
from endpoint.page import routes as page_routes
from endpoint.problems import exception_handlers
from endpoint.resources import backup, graphs, health, metrics, sparql
from endpoint.resources.queries import queries, sinks
from endpoint.resources.slashes import SlashRedirects
from endpoint.resources.streams import streams
from endpoint.settings import Settings
from protocol.formats.media_types import MESSAGE_TYPE

ANSWER_TIMEOUT = 300.0
"""Seconds a client that knows nothing of streams is kept waiting for the next evaluation."""


def create_app(
    settings: Settings | None = None,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    backend: Backend | None = None,
    answer_timeout: float = ANSWER_TIMEOUT,
) -> Starlette:
    """The endpoint as an ASGI application, on its own or mounted under a prefix (``base_url`` then has the prefix).

    Without settings they are read from the environment. Without a backend it is the one on Spark,
    which starts in the background: one-shot queries are answered before it is ready. ``functions`` are callables of
    rdflib's terms by their IRIs, which queries of both kinds call; ValueError says which cannot be one, and why.
    """
    extensions = Extensions(functions or {})
    extensions.python_functions()  # to be refused where they are given
    settings = settings if settings is not None else Settings.from_environment()
    return application(settings, extensions, backend=backend, answer_timeout=answer_timeout)


def application(
    settings: Settings,
    extensions: Extensions,
    *,
    backend: Backend | None = None,
    answer_timeout: float = ANSWER_TIMEOUT,
) -> Starlette:
    """As ``create_app``, with whatever extends it."""
    make_backend = spark_backend if backend is None else lambda *_: backend
    life = Life(settings, make_backend, extensions, answer_timeout=answer_timeout)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await life.start(app)
        try:
            yield
        finally:
            await life.stop()

    routes: list[BaseRoute] = [
        *sparql.routes, *graphs.routes, *streams.routes, *queries.routes, *sinks.routes, *health.routes,
        *metrics.routes, *backup.routes, *page_routes,
    ]  # fmt: skip
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(metrics.RequestCounter, counts=life.requests),
            *([Middleware(KnownHosts, names=settings.hosts, refusals=life.refusals)] if checks_hosts(settings) else []),
            # Outside of what asks for tokens: a preflight carries none, and a page has to see why it was refused.
            # Credentials are left out: a token is sent by the page itself, never by the browser.
            Middleware(
                CrossOriginAccess,
                allow_origins=settings.cors_origins,
                allow_methods=["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY"],
                allow_headers=["*"],
                allow_credentials=False,
                expose_headers=["Location", "Allow", "WWW-Authenticate", "Retry-After", MESSAGE_TYPE],
                max_age=3600,
            ),
            Middleware(AccessControl, settings=settings, refusals=life.refusals),
            Middleware(EnsureStarted, life=life),
            *extensions.within,
        ],
        exception_handlers=exception_handlers(life.refusals),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.router.default = SlashRedirects(app.router)
    return app
