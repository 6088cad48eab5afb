"""What the routes of one application work with, in one typed object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from endpoint.backend import Backend
from endpoint.changes import Changes
from endpoint.graphs.service_client import ServiceClient
from endpoint.graphs.store import GraphStore
from endpoint.live.hub import Hub
from endpoint.live.listeners import Listeners
from endpoint.live.unregistered_queries import UnregisteredQueries
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from endpoint.readers.regimes import RegimeReaders
from endpoint.settings import Settings
from endpoint.sinks.sinks import Sinks
from endpoint.sources.sources import Sources
from endpoint.store_queries.store_queries import StoreQueries
from endpoint.threads import WorkerThreads

if TYPE_CHECKING:
    from endpoint.readers.rdflib_functions import RdflibFunctions

BACKUP_PREFIX = "backup-"
"""How directories of the data directory begin in which a backup is made; they go with it, or at the next start."""


@dataclass(frozen=True)
class Services:
    """What an application has from its start to its stop.

    ``data`` is the data directory, a temporary one where the settings have none. ``requests`` counts the responses
    begun by method and status, ``refusals`` what was refused by a rule or a limit.
    ``readers`` answer one-shot queries of the store as it is, ``regimes`` under an entailment regime as well.
    ``service_client`` asks other endpoints for continuous queries.
    ``live`` are the queries of the store that somebody listens to, and ``live_readers`` evaluate them.
    ``fetching_threads`` are for requests that wait for other servers, and hold up no others.
    ``parsing_threads`` are for graphs that are sent, which may take long to read.
    ``metrics_thread`` is of its own, so that no load keeps it from being seen.
    ``extension_functions`` are IRIs of the application's own functions, ``rdflib`` those that only rdflib calls, and
    ``about`` is what its service description says besides (N-Triples).
    ``answer_timeout`` is for how many seconds a client that knows nothing of streams is kept waiting for an evaluation.
    """

    settings: Settings
    data: Path
    store: GraphStore
    readers: ReaderPool
    regimes: RegimeReaders
    threads: WorkerThreads
    changes: Changes
    fetching_threads: WorkerThreads
    parsing_threads: WorkerThreads
    metrics_thread: WorkerThreads
    backend: Backend
    service_client: ServiceClient
    hub: Hub
    sinks: Sinks
    live: StoreQueries
    live_readers: ReaderPool
    unregistered: UnregisteredQueries
    listeners: Listeners
    sources: Sources
    requests: Counter[tuple[str, int]]
    refusals: Counter[str]
    answer_timeout: float
    extension_functions: tuple[str, ...] = ()
    rdflib: RdflibFunctions | None = None
    about: bytes = b""

    @property
    def query_limits(self) -> QueryLimits:
        """The limits that the settings give every one-shot query."""
        return QueryLimits(self.settings.query_timeout, self.settings.max_result_bytes)


def set_services(app: Starlette, services: Services) -> None:
    """From now on, these are the services of the application."""
    app.state.services = services


def services_of(app: Starlette) -> Services:
    """The services of an application: ``services_of(request.app)``. RuntimeError if it was never started."""
    services = getattr(app.state, "services", None)
    if not isinstance(services, Services):
        raise RuntimeError("the application has not been started")
    return services
