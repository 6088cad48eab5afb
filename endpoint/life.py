"""What an application owns from its start to its end: store, readers, threads, backend and hub, in this order."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.backend import Backend
from endpoint.graphs.fetching import Fetching
from endpoint.graphs.store import GraphStore
from endpoint.late_backend import LateBackend
from endpoint.live.hub import Hub
from endpoint.readers.pool import ReaderPool
from endpoint.settings import Settings
from endpoint.threads import WorkerThreads

MakeBackend = Callable[[Path, GraphStore, Settings], Backend]


def spark_backend(data: Path, store: GraphStore, settings: Settings) -> Backend:
    """The backend on Spark; imported only when it is built, so that an application with another one needs no Spark."""

    def make() -> Backend:
        from spark_backend.engine import SparkBackend
        from spark_backend.site import Site, SiteChoice

        return SparkBackend(
            data,
            store,
            base_iri=settings.base_url,
            spark_master=settings.spark_master,
            sites=SiteChoice(None if settings.site == "auto" else Site(settings.site), settings.spark_above),
        )

    return LateBackend(make)


class Life:
    """Starts once, stops once.

    ``app.state`` has ``store``, ``readers``, ``threads``, ``backend`` and ``hub`` in between.
    """

    def __init__(self, settings: Settings, make_backend: MakeBackend) -> None:
        self._settings = settings
        self._make_backend = make_backend
        self._lock = anyio.Lock()
        self._app: Starlette | None = None
        self._temporary: Path | None = None
        self._ready = False
        self._backend_stopped = False

    @property
    def started(self) -> bool:
        return self._ready

    async def start(self, app: Starlette) -> None:
        """Build everything; does nothing the second time. What was built is taken down again if the rest fails."""
        async with self._lock:
            if self._app is not None:
                return
            await anyio.to_thread.run_sync(self._build, app)
            self._app = app
            try:
                await app.state.readers.start()
                await app.state.hub.start()
                app.state.backend.listen(app.state.hub.receive)
                await anyio.to_thread.run_sync(app.state.backend.start)
            except BaseException:
                self._take_down()
                raise
            self._ready = True
        atexit.register(self._take_down)

    def _build(self, app: Starlette) -> None:
        data = self._settings.data
        if data is None:
            data = self._temporary = Path(tempfile.mkdtemp(prefix="sparql-streams-"))
        try:
            _make(data)
            store = app.state.store = GraphStore(
                data / "store",
                self._settings.load,
                fetching=Fetching(self._settings.allow_fetch, self._settings.max_request_bytes),
            )
            try:
                # Beside the store, because snapshots are hard links into it.
                app.state.readers = ReaderPool(
                    store,
                    data / "snapshots",
                    self._settings.readers,
                    most=self._settings.max_readers,
                    memory_quads=self._settings.memory_quads,
                )
                app.state.backend = self._make_backend(data, store, self._settings)
                app.state.hub = Hub(app.state.backend)
                app.state.threads = WorkerThreads(self._settings.threads)
            except BaseException:
                store.close()
                raise
        except BaseException:
            self._remove_temporary()
            raise

    async def stop(self) -> None:
        """Stop the backend, then the hub, then the store; a temporary data directory is removed."""
        app = self._app
        if app is None:
            return
        self._backend_stopped = True
        await anyio.to_thread.run_sync(app.state.backend.stop)
        await app.state.hub.stop()
        await app.state.readers.stop()
        await anyio.to_thread.run_sync(self._take_down)
        atexit.unregister(self._take_down)

    def _take_down(self) -> None:
        """Whatever needs no event loop; also at the exit of a process in which no lifespan was passed on."""
        app, self._app = self._app, None
        if app is None:
            return
        self._ready = False
        if not self._backend_stopped:
            app.state.backend.stop()
        app.state.threads.stop()
        app.state.readers.end()
        app.state.store.close()
        self._remove_temporary()

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None


class EnsureStarted:
    """ASGI middleware for a mounted application: it gets no lifespan events, so its first request starts it."""

    def __init__(self, app: ASGIApp, life: Life) -> None:
        self._app = app
        self._life = life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._life.started:
            await self._life.start(scope["app"])
        await self._app(scope, receive, send)


def _make(data: Path) -> None:
    """Make the data directory if need be. Raises ValueError naming the setting where that cannot be."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise ValueError(f"data: {str(data)!r} cannot be written: {error.strerror}") from error
