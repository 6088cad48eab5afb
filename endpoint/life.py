"""The life of an application: its services are made when it starts, and ended in order when it stops."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.backend import Backend
from endpoint.changes import Changes
from endpoint.entailment.entailed_store import EntailedStore
from endpoint.extensions import Extensions
from endpoint.graphs.directory import note_format, require_format, require_store, require_whole, store_directory
from endpoint.graphs.fetching import Fetching
from endpoint.graphs.service_client import ServiceClient
from endpoint.graphs.store import GraphStore
from endpoint.late_backend import LateBackend
from endpoint.live.hub import Hub
from endpoint.live.listeners import Listeners
from endpoint.live.unregistered_queries import UnregisteredQueries
from endpoint.problems import protocol_error
from endpoint.processes.forks import only_here
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from endpoint.readers.process import ReaderProcess
from endpoint.readers.rdflib_functions import RdflibFunctions
from endpoint.readers.regimes import RegimeReaders
from endpoint.readers.snapshot import SnapshotSource
from endpoint.services import BACKUP_PREFIX, Services, set_services
from endpoint.settings import Settings, memory_of_machine
from endpoint.sinks.sinks import Sinks
from endpoint.sources.sources import Sources
from endpoint.store_queries.kept import KeptQueries
from endpoint.store_queries.reading import LiveReaders
from endpoint.store_queries.store_queries import StoreQueries
from endpoint.threads import WorkerThreads
from endpoint.uninterrupted import uninterrupted
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, Unavailable
from protocol.functions.python_functions import PythonFunctions

logger = logging.getLogger(__name__)

_NOT_STARTED = (
    "the endpoint cannot be started, and the server's log says why. Of several processes only one can own the data "
    "directory: serve the application from one process"
)
"""For a request: what the data directory is called is nobody's business there."""

_NICE = 19
"""Live queries stand back behind whoever waits for an answer."""

_MOST_LIVE_BYTES = 64 * 1024 * 1024
"""Of an answer of a live query, which is held as long as somebody listens."""

_FETCHES_AT_ONCE = 16
"""Requests that wait for other servers."""

_LONG_TURN = 3600.0
_MANY = 100_000
"""A live query waits for its turn, for so many seconds and beside so many others."""

MakeBackend = Callable[[Path, GraphStore, Settings, PythonFunctions, ServiceClient], Backend]


def spark_backend(
    data: Path, store: GraphStore, settings: Settings, functions: PythonFunctions, service_client: ServiceClient
) -> Backend:
    """The backend on Spark; imported only when it is built, so that an application with another one needs no Spark."""

    def make() -> Backend:
        from spark_backend.budget import Budget
        from spark_backend.engine import SparkBackend
        from spark_backend.site import Site, SiteChoice

        return SparkBackend(
            data,
            store,
            base_iri=settings.base_url,
            spark_master=settings.spark_master,
            budget=Budget(settings.evaluation_seconds, settings.evaluation_memory),
            sites=SiteChoice(None if settings.site == "auto" else Site(settings.site), settings.spark_above),
            frozen_after=settings.frozen_after,
            kafka_jars=settings.kafka_jars,
            functions=functions,
            endpoints=service_client,
            schema=settings.schema,
        )

    return LateBackend(make)


class Life:
    """Starts once, stops once; from then on the application has its ``Services``.

    ``requests`` and ``refusals`` are counted by what is around the routes, also before the start.
    """

    def __init__(
        self, settings: Settings, make_backend: MakeBackend, extensions: Extensions, *, answer_timeout: float
    ) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.refusals: Counter[str] = Counter()
        self._settings = settings
        self._make_backend = make_backend
        self._extensions = extensions
        self._answer_timeout = answer_timeout
        self._lock = anyio.Lock()
        self._services: Services | None = None
        self._temporary: Path | None = None
        self._ready = False
        self._backend_stopped = False
        self._at_exit: Callable[[], None] = lambda: None

    async def start(self, app: Starlette) -> None:
        """Build everything; does nothing the second time. What was built is taken down again if the rest fails.

        A request that is cancelled does not end what others wait for, nor leave a part of it behind.
        """
        await uninterrupted(self._start(app))

    async def _start(self, app: Starlette) -> None:
        async with self._lock:
            if self._services is not None:
                return
            self._backend_stopped = False
            services = self._services = await anyio.to_thread.run_sync(self._built)
            try:
                await services.readers.start()
                await services.hub.start()
                await services.live.start()
                services.backend.listen(services.hub.receive)
                await anyio.to_thread.run_sync(services.backend.start)
                services.hub.keep_one_of_each()
                services.sinks.bind()
                services.sources.start()
            except BaseException:
                self._take_down()
                raise
            set_services(app, services)
            self._ready = True
        services.store.watch()
        self._at_exit = only_here(self._take_down)
        atexit.register(self._at_exit)

    async def ensure_started(self, app: Starlette) -> None:
        """For each request: a mounted application gets no lifespan events, so its first request starts it."""
        if not self._ready:
            await self.start(app)
        if self._services is not None:
            self._services.hub.bind()
            self._services.sinks.bind()

    def _built(self) -> Services:
        data = self._settings.data
        if data is None:
            data = self._temporary = Path(tempfile.mkdtemp(prefix="sparql-streams-"))
        try:
            _make(data)
            require_whole(data)
            require_format(data)
            require_store(data)
            functions, rdflib = self._extensions.python_functions(), self._extensions.rdflib()
            store = self._store(data, functions, rdflib)
            try:
                note_format(data)
                # Not before nobody else has the directory: another server may be making one.
                for left in data.glob(f"{BACKUP_PREFIX}*"):
                    shutil.rmtree(left, ignore_errors=True)
                return self._served_with(data, store, functions, rdflib)
            except BaseException:
                store.close()
                raise
        except BaseException:
            self._remove_temporary()
            raise

    def _store(self, data: Path, functions: PythonFunctions, rdflib: RdflibFunctions | None) -> GraphStore:
        return GraphStore(
            store_directory(data),
            self._settings.load,
            fetching=Fetching(self._settings.allow_fetch, self._settings.max_request_bytes),
            update_seconds=self._settings.update_timeout,
            update_memory=self._settings.update_memory,
            frozen_after=self._settings.frozen_after,
            functions=functions.to_json(),
            refuse_update=None if rdflib is None else rdflib.refuse_update,
        )

    def _served_with(
        self, data: Path, store: GraphStore, functions: PythonFunctions, rdflib: RdflibFunctions | None
    ) -> Services:
        """What requests are served with, over the store."""
        start_reader = partial(
            ReaderProcess,
            memory=self._settings.query_memory,
            functions=functions.to_json(),
            rdflib_functions="" if rdflib is None else rdflib.to_json(),
        )

        def pool(source: SnapshotSource, snapshots: str, regime: Regime = Regime.NONE) -> ReaderPool:
            # Beside the store, because snapshots are hard links into it.
            return ReaderPool(
                source,
                data / snapshots,
                self._settings.readers,
                most=self._settings.max_readers,
                memory_quads=self._settings.memory_quads,
                frozen_after=self._settings.frozen_after,
                start_process=partial(start_reader, regime=regime),
            )

        entailed = {regime: self._entailed(regime, store, data) for regime in Regime if regime.infers}
        readers = pool(store, "snapshots")
        live_readers = ReaderPool(
            entailed.get(self._settings.entailment, store),
            data / "live-snapshots",
            # As many for those that are answered soon, for those that take long, and for new ones.
            max(self._settings.readers, min(3 * self._settings.readers, self._settings.max_readers)),
            most=self._settings.max_readers,
            memory_quads=0,
            waiting_seconds=_LONG_TURN,
            most_waiting=_MANY,
            frozen_after=self._settings.frozen_after,
            start_process=partial(start_reader, nice=_NICE, regime=self._settings.entailment),
        )
        _warn_of_memory(self._settings)
        live = StoreQueries(
            store,
            LiveReaders(live_readers).ask,
            KeptQueries(data, self._settings.entailment),
            QueryLimits(self._settings.query_timeout, min(self._settings.max_result_bytes, _MOST_LIVE_BYTES)),
            at_once=self._settings.readers,
        )
        asking = Fetching(self._settings.allow_fetch, self._settings.service_size, self._settings.service_timeout)
        service_client = ServiceClient(asking, self._settings.service_cache)
        backend = self._make_backend(data, store, self._settings, functions, service_client)
        hub = Hub(backend, live)
        return Services(
            settings=self._settings,
            data=data,
            store=store,
            readers=readers,
            regimes=RegimeReaders(
                readers, entailed, lambda regime, source: pool(source, f"{regime}-snapshots", regime)
            ),
            threads=WorkerThreads(self._settings.threads),
            changes=Changes(store, backend),
            fetching_threads=WorkerThreads(_FETCHES_AT_ONCE),
            parsing_threads=WorkerThreads(self._settings.readers),
            metrics_thread=WorkerThreads(1),
            backend=backend,
            service_client=service_client,
            hub=hub,
            sinks=Sinks(hub, data, self._settings.allow_fetch),
            live=live,
            live_readers=live_readers,
            unregistered=UnregisteredQueries(hub, maximum=self._settings.max_live_queries),
            listeners=Listeners(self._settings.max_listeners),
            sources=Sources(backend, self._settings.allow_fetch, data, self._settings.max_request_bytes),
            requests=self.requests,
            refusals=self.refusals,
            extension_functions=(*functions.functions, *(sorted(rdflib.called) if rdflib else ())),
            rdflib=rdflib,
            about=self._extensions.about(),
            answer_timeout=self._answer_timeout,
        )

    def _entailed(self, regime: Regime, store: GraphStore, data: Path) -> EntailedStore:
        return EntailedStore(
            store,
            regime,
            self._settings.schema,
            data / f"entailed-{regime}",
            memory=self._settings.update_memory,
            frozen_after=self._settings.frozen_after,
        )

    async def stop(self) -> None:
        """Stop the sinks, then the backend, the hub and the store; a temporary data directory is removed."""
        services = self._services
        if services is None:
            return
        await anyio.to_thread.run_sync(services.sources.stop)
        await services.sinks.stop()
        self._backend_stopped = True
        await anyio.to_thread.run_sync(services.backend.stop)
        await services.hub.stop()
        await services.live.stop()
        await services.live_readers.stop()
        await services.regimes.stop()
        await services.readers.stop()
        await anyio.to_thread.run_sync(self._take_down)
        atexit.unregister(self._at_exit)

    def _take_down(self) -> None:
        """Whatever needs no event loop; also at the exit of a process in which no lifespan was passed on."""
        services, self._services = self._services, None
        if services is None:
            return
        self._ready = False
        if not self._backend_stopped:
            services.sources.stop()
            services.backend.stop()
        services.threads.stop()
        services.changes.stop()
        services.fetching_threads.stop()
        services.parsing_threads.stop()
        services.metrics_thread.stop()
        services.live_readers.end()
        services.regimes.end()
        services.readers.end()
        services.store.close()
        self._remove_temporary()

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None


class EnsureStarted:
    """ASGI middleware: no request comes to the routes before the application was started, in this event loop."""

    def __init__(self, app: ASGIApp, life: Life) -> None:
        self._app = app
        self._life = life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                await self._life.ensure_started(scope["app"])
            except (OSError, ValueError, ProtocolError) as error:
                logger.error("the endpoint cannot be started: %s", error)
                await protocol_error(Unavailable(_NOT_STARTED), self._life.refusals)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _warn_of_memory(settings: Settings) -> None:
    readers = max(settings.readers, settings.max_readers)
    if readers * settings.query_memory > memory_of_machine():
        logger.warning(
            "%d queries at once may need %d MiB each, together more than this machine has (%d MiB): "
            "set --query-memory or --max-readers lower",
            readers,
            settings.query_memory // 2**20,
            memory_of_machine() // 2**20,
        )


def _make(data: Path) -> None:
    """Make the data directory if need be. Raises ValueError naming the setting where that cannot be."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise ValueError(f"data: {str(data)!r} cannot be written: {error.strerror}") from error
