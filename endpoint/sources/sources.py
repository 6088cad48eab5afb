"""All sources of an endpoint: begun with their streams, and again at every start; ended with them."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from endpoint.backend import Backend
from endpoint.sources.connection import Connection, Surroundings
from endpoint.sources.connectors import CONNECTORS
from endpoint.sources.identity import identity_of
from endpoint.sources.run import SourceRun
from protocol.errors import NotFound, ProtocolError
from protocol.formats.allow_list import AllowList
from protocol.settings.source import schemes_of
from protocol.sources import SourceDescription, SourceRefused, SourceSettings
from protocol.streams import StreamDescription

_STOP_SECONDS = 5.0
_RETRY_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Sources:
    """Thread-safe. ``data`` keeps the identity by which others know this endpoint's clients."""

    def __init__(self, backend: Backend, allowed: AllowList, data: Path, largest: int) -> None:
        self._backend = backend
        self._allowed = allowed
        self._data = data
        self._largest = largest
        self._lock = threading.Lock()
        self._runs: dict[str, SourceRun] = {}
        self._ending: dict[str, SourceRun] = {}
        """By the names of streams that were deleted, what has not ended yet: to others its client is the next one's."""
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin the sources of all streams there are, once the backend knows them; returns at once."""
        threading.Thread(target=self._restore, name="sources", daemon=True).start()

    def require_allowed(self, source: SourceSettings) -> None:
        """Raises SourceRefused for an address that the server may not use."""
        if not self._allowed.permits(source.url, schemes_of(source.type)):
            raise SourceRefused(
                f"this server may not use {source.url}: --allow-fetch names the addresses that sources may have"
            )

    def begin(self, name: str, source: SourceSettings) -> None:
        """Have the source fill the stream from now on."""
        with self._lock:
            self._begin(name, source)

    def _begin(self, name: str, source: SourceSettings) -> None:
        if self._stopping.is_set() or name in self._runs:
            return
        is_kept = CONNECTORS[source.type].is_kept
        run = SourceRun(
            self._surroundings(name, source),
            self._connected,
            self._backend,
            has_ended=lambda: self._backend.stream(name).ended,
            is_kept=is_kept,
            before=self._ending.get(name) if is_kept else None,
        )
        run.start()
        # Once its thread is there: where there is none, whoever asks again begins it.
        self._runs[name] = run

    def end(self, name: str) -> None:
        """The stream is deleted: its source is needed no more."""
        with self._lock:
            run = self._runs.pop(name, None)
            if run is not None:
                self._ending = {one: ending for one, ending in self._ending.items() if ending.is_alive}
                # A source that nobody outside knows does not stand in for one before it that somebody does.
                if run.is_kept or name not in self._ending:
                    self._ending[name] = run
                run.stop(deleted=True)

    def describe(self, name: str) -> SourceDescription | None:
        """The source of a stream; None for a stream without one."""
        with self._lock:
            run = self._runs.get(name)
        return None if run is None else run.describe()

    def stop(self) -> None:
        """End all threads; waits some seconds for what is being stored, however many there are."""
        with self._lock:
            self._stopping.set()
            runs = list(self._runs.values())
        for run in runs:
            run.stop()
        deadline = time.monotonic() + _STOP_SECONDS
        for run in runs:
            run.join(max(0.0, deadline - time.monotonic()))

    def _connected(self, surroundings: Surroundings) -> Connection:
        """As ``Connect``. The server may have been started with other addresses since the source was made."""
        self.require_allowed(surroundings.settings)
        return CONNECTORS[surroundings.settings.type](surroundings)

    def _restore(self) -> None:
        streams: list[StreamDescription] | None = None
        said = False
        while streams is None:
            try:
                streams = self._backend.streams()
            except ProtocolError as error:
                if self._stopping.is_set():  # a backend that was stopped before it was there has none to start
                    return
                if not said:
                    said = True
                    _log.warning("no source is started yet: %s", error.detail)
                if self._stopping.wait(_RETRY_SECONDS):
                    return
        names, failed = [stream.name for stream in streams], set[str]()
        while names := [name for name in names if not self._has_begun_again(name, failed)]:
            if self._stopping.wait(_RETRY_SECONDS):
                return

    def _has_begun_again(self, name: str, failed: set[str]) -> bool:
        """False: it could not be, as where there is no thread for it, which is logged once; it is ``failed`` then."""
        try:
            with self._lock:
                self._begin_again(name)
        except Exception as error:
            if name not in failed:
                failed.add(name)
                _log.warning("the source of the stream %s could not be begun; it is tried again: %s", name, error)
            return False
        return True

    def _begin_again(self, name: str) -> None:
        """Begin the source of a stream as it is now: since the list was made another may have its name.

        That of a stream that has ended stops at once, and says so.
        """
        try:
            stream = self._backend.stream(name)
        except NotFound:
            return
        if stream.settings.source is not None:
            self._begin(name, stream.settings.source)

    def _surroundings(self, name: str, source: SourceSettings) -> Callable[[Callable[[float], bool]], Surroundings]:
        identity = hashlib.blake2b(f"{identity_of(self._data)} {name}".encode(), digest_size=8).hexdigest()
        read_kafka = self._backend.read_kafka
        return lambda wait: Surroundings(
            name, source, self._allowed, identity, self._largest, wait, read_kafka=read_kafka
        )
