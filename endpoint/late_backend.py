"""A backend that is built while requests are answered already: importing it and opening its logs takes a while.

One-shot queries need none of it. Whatever does waits, in its worker thread, until the backend is there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from endpoint.back_off import BackOff
from endpoint.backend import Backend, Evaluation, Health, Listener, Outcome, QueryDescription, StreamFollower
from protocol.errors import Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.kafka import KafkaCluster, KafkaFeed, KafkaReading, KafkaWriter
from protocol.language.model import ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings
from protocol.time import Instant

_log = logging.getLogger(__name__)


class LateBackend:
    """``endpoint.backend.Backend``, built by ``make`` in a thread of its own from ``start`` on.

    Should that fail, ``health`` says why and all else raises Unavailable, until it is built: it is tried again, as the
    disk may have been full for a moment. ``make`` leaves nothing behind where it fails. ``pause`` waits for so many
    seconds, or until the event is set, and says whether it is.
    """

    def __init__(
        self,
        make: Callable[[], Backend],
        *,
        pause: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._make = make
        self._pause = pause
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None
        self._settled = threading.Event()
        """It is there, or was tried once."""
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._backend: Backend | None = None
        self._failure: str | None = None
        self._store_has_changed = False

    def _run(self) -> None:
        back_off = BackOff()
        while not self._stopping.is_set():
            try:
                self._build()
                break
            except BaseException as error:  # a panic in Oxigraph is no Exception
                seconds = back_off.failed()
                _log.exception("the backend cannot be built; it is tried again in %.1f s", seconds)
                self._failure = f"it could not be built, and is tried again: {type(error).__name__}: {error}"
                self._settled.set()
                self._pause(self._stopping, seconds)
        self._settled.set()
        backend = self._backend
        if backend is not None and self._store_has_changed:
            # It may have read the graphs before that.
            with suppress(BaseException):  # it tries again by itself
                backend.store_changed()

    def _build(self) -> None:
        backend = self._make()
        try:
            if self._listener is not None:
                backend.listen(self._listener)
            with self._changing:
                stopped = self._stopping.is_set()
                if not stopped:
                    backend.start()
                    self._backend = backend
        except BaseException:
            backend.stop()
            raise
        if stopped:
            backend.stop()

    def _there(self) -> Backend:
        if self._thread is None:
            raise Unavailable("the backend has not been started")
        self._settled.wait()
        if self._backend is None:
            raise Unavailable(f"the backend is not running: {self._failure or 'it was stopped'}")
        return self._backend

    # Life

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="backend", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        with self._changing:
            backend, self._backend = self._backend, None
        if backend is not None:
            backend.stop()
        elif self._thread is not None:
            self._thread.join()

    def health(self) -> Health:
        backend = self._backend
        if backend is not None:
            return backend.health()
        if self._failure is not None:
            return Health("failed", self._failure)
        return Health("starting", "the backend is being built")

    def store_changed(self) -> None:
        # Before it is looked for: a backend that is not there yet is told once it is.
        self._store_has_changed = True
        backend = self._backend
        if backend is not None:
            backend.store_changed()

    # Streams

    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        return self._there().create_stream(name, settings)

    def delete_stream(self, name: str) -> None:
        self._there().delete_stream(name)

    def streams(self) -> list[StreamDescription]:
        return self._there().streams()

    def stream(self, name: str) -> StreamDescription:
        return self._there().stream(name)

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        return self._there().append(name, body, content_type, at, key, partition)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        return self._there().receive(name, batch)

    def positions(self, name: str) -> dict[str, bytes]:
        return self._there().positions(name)

    def read_kafka(self, reading: KafkaReading) -> KafkaFeed:
        return self._there().read_kafka(reading)

    def write_kafka(self, cluster: KafkaCluster, topic: str) -> KafkaWriter:
        return self._there().write_kafka(cluster, topic)

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        return self._there().advance(name, watermark, partition)

    def end_stream(self, name: str) -> StreamDescription:
        return self._there().end_stream(name)

    def follow(self, name: str, after: int | None, *, incarnation: int | None = None) -> StreamFollower:
        return self._there().follow(name, after, incarnation=incarnation)

    # Queries

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> bool:
        there = self._there()
        return there.register(name, query, standing=standing, since=since, landmark=landmark, limits=limits)

    def remove(self, name: str) -> None:
        self._there().remove(name)

    def overdue(self) -> Mapping[str, Sequence[float]]:
        return self._there().overdue()

    def queries(self) -> list[QueryDescription]:
        return self._there().queries()

    def dormant(self) -> frozenset[str]:
        return self._there().dormant()

    def query(self, name: str) -> QueryDescription:
        return self._there().query(name)

    def plan(self, name: str, *, measured: bool = False) -> str:
        return self._there().plan(name, measured=measured)

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        return self._there().replay(name, after, upto, before_start=before_start)

    def latest(self, name: str) -> Evaluation | None:
        return self._there().latest(name)

    def backup(self, directory: Path) -> None:
        self._there().backup(directory)

    def retained_from(self, name: str, after: Instant | None = None) -> Instant | None:
        return self._there().retained_from(name, after)
