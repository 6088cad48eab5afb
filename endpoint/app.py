"""The ASGI application: routes, errors, cross-origin access, and its life from start to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from endpoint import graph_store, health, queries, sparql, streams
from endpoint.backend import Backend
from endpoint.life import EnsureStarted, Life, spark_backend
from endpoint.page import routes as page_routes
from endpoint.problems import EXCEPTION_HANDLERS
from endpoint.settings import Settings


def create_app(settings: Settings | None = None, *, backend: Backend | None = None) -> Starlette:
    """The endpoint as an ASGI application, on its own or mounted under a prefix (``base_url`` then has the prefix).

    Without settings they are read from the environment. Without a backend it is the one on Spark,
    which starts in the background: one-shot queries are answered before it is ready.
    """
    settings = settings if settings is not None else Settings.from_environment()
    make_backend = spark_backend if backend is None else lambda data, store, settings: backend
    life = Life(settings, make_backend)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await life.start(app)
        try:
            yield
        finally:
            await life.stop()

    routes: list[BaseRoute] = [
        *sparql.routes, *graph_store.routes, *streams.routes, *queries.routes, *health.routes, *page_routes,
    ]  # fmt: skip
    counts: Counter[tuple[str, int]] = Counter()
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(health.RequestCounter, counts=counts),
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=["Location", "Allow"],
                max_age=3600,
            ),
            Middleware(EnsureStarted, life=life),
        ],
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=lifespan,
    )
    app.state.settings = settings
    app.state.requests = counts
    return app
