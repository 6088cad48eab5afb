"""The streams of an endpoint: created, appended to, described, ended; each with its log."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary

import pyarrow as pa

from protocol.errors import Conflict, NotFound, ProtocolError, QuerySemanticError, Unavailable
from protocol.sparql.iris import resolve
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings, TimeKind
from protocol.time import Instant, Milliseconds
from protocol.windows.spec import ONLY_STREAM, StreamWindow
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.parsing.parsers import Parsers
from spark_backend.layout import Layout
from spark_backend.log.recovery import has_elements
from spark_backend.log.request_keys import RequestKey
from spark_backend.log.unreadable import UnreadableLog
from spark_backend.log.writer import StreamLog
from spark_backend.streams.catalogue import Catalogue, StreamEntry
from spark_backend.streams.idle import IdleClock

_LOGGER = logging.getLogger(__name__)


class Streams:
    """All streams. Thread-safe; appends to different streams do not wait for each other.

    ``warnings``: what is to be known of how their logs were found, a sentence each. ``parsers`` are ended with them.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        layout: Layout,
        base_iri: str,
        clock: Callable[[], Instant],
        parsers: Parsers | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._layout = layout
        self._base_iri = base_iri.rstrip("/")
        self._clock = clock
        self._parsers = Parsers() if parsers is None else parsers
        self._lock = threading.RLock()
        self._ending: set[str] = set()
        self._idle: WeakKeyDictionary[StreamLog | UnreadableLog, IdleClock] = WeakKeyDictionary()
        self.warnings: list[str] = []
        self._logs: dict[str, StreamLog | UnreadableLog] = {
            name: self._opened(entry) for name, entry in catalogue.streams.items()
        }

    def unclaimed(self) -> list[str]:
        """The directories of logs with elements that belong to no stream that the catalogue knows."""
        with self._lock:
            known = {entry.log for entry in self._catalogue.streams.values()}
        found = (path for path in sorted(self._layout.streams.iterdir()) if path.is_dir() and path.name not in known)
        return [path.name for path in found if has_elements(path)]

    def create(self, name: str, settings: StreamSettings) -> bool:
        """True if it is new, False if it is there with these settings; Conflict otherwise."""
        with self._lock:
            known = self._catalogue.streams.get(name)
            if known is not None:
                if known.settings == settings:
                    return False
                raise Conflict(f"the stream {name} exists with other settings: delete it first, or choose another name")
            self._require_free(settings.iri)
            self._create(name, settings, None)
            return True

    def create_output(self, name: str, settings: StreamSettings, query: str) -> None:
        """The output of a query, unless it is there; Conflict if a stream of that name or IRI is not its own."""
        with self._lock:
            self.check_output(name, settings, query)
            if name not in self._catalogue.streams:
                self._create(name, settings, query)

    def check_output(self, name: str, settings: StreamSettings, query: str) -> None:
        """Raises the Conflict that creating the output would raise."""
        with self._lock:
            known = self._catalogue.streams.get(name)
            if known is None:
                self._require_free(settings.iri)
            elif known.query != query:
                whose = "no query's" if known.query is None else f"that of the query {known.query}"
                raise Conflict(f"there is a stream {name}, which is {whose}: delete it first, or choose another name")
            elif known.settings.iri != settings.iri:
                raise Conflict(f"the output {name} has the IRI {known.settings.iri}: delete the query {query} first")

    def outputs(self) -> dict[str, str]:
        """The streams that are outputs, and whose."""
        with self._lock:
            entries = self._catalogue.streams.values()
            return {entry.name: entry.query for entry in entries if entry.query is not None}

    def owner(self, log: str) -> str | None:
        """The name of the query whose output has this log; None for other streams."""
        with self._lock:
            return next((entry.query for entry in self._catalogue.streams.values() if entry.log == log), None)

    def publish(self, name: str, batch: pa.RecordBatch) -> None:
        """Append elements to an output; durable on return."""
        self._log(name).append(batch)

    def advance_output(self, name: str, watermark: Instant) -> None:
        self._log(name).advance(watermark)

    def end_output(self, name: str) -> None:
        self._log(name).end()

    def delete(self, name: str) -> None:
        """Drop the stream and its log."""
        with self._lock:
            self._entry(name)
            entry = self._catalogue.streams.pop(name)
            try:
                self._catalogue.save()
            except OSError:
                self._catalogue.streams[name] = entry
                raise
            self._logs.pop(name).drop()

    def append(
        self, name: str, body: bytes, content_type: str, at: Instant | None, key: str | None = None
    ) -> AppendReceipt:
        """Append all messages of a body, or none. Returns once they are durable.

        The same request with the same idempotency ``key`` as one before is answered as that was.
        """
        with self._lock:
            entry, log = self._own(name), self._logs[name]
        keyed = None if key is None else RequestKey.of(key, body, content_type, at)
        answered = None if keyed is None else log.answer(keyed)
        if answered is not None:
            return answered
        # Messages that the server stamps have no time yet: their blank nodes are told apart by the request.
        scope = uuid.uuid4().hex if entry.settings.time is TimeKind.ARRIVAL else None
        batch = read_elements(
            body, content_type, settings=entry.settings, at=at, blank_scope=scope, parser=self._parsers
        )
        return log.append(batch, keyed)

    def advance(self, name: str, watermark: Instant) -> StreamDescription:
        with self._lock:
            self._own(name)
        self._log(name).advance(watermark)
        return self.describe(name)

    def end(self, name: str) -> StreamDescription:
        with self._lock:
            entry, log = self._own(name), self._logs[name]
            self._ending.add(name)
        try:
            if entry.settings.time is TimeKind.ARRIVAL and not log.describe().ended:
                # Windows have closed by the clock alone. How far is to be in the log, for replays, before the end is.
                now, reached = self._clock() - 1, log.tick()
                log.advance(now if reached is None else max(now, reached + 1))
            log.end()
        finally:
            with self._lock:
                self._ending.discard(name)
        return self.describe(name)

    def describe(self, name: str) -> StreamDescription:
        """NotFound if there is none."""
        with self._lock:
            entry, log = self._entry(name), self._logs[name]
        counts = log.describe()
        return StreamDescription(
            name=name,
            settings=entry.settings,
            watermark=None if counts.ended else counts.watermark,
            first=counts.first,
            last=counts.last,
            elements=counts.elements,
            triples=counts.triples,
            late=counts.late,
            bytes=counts.bytes,
            ended=counts.ended,
            query=entry.query,
            damage=tuple(damage.described(entry.log) for damage in counts.damage),
        )

    def describe_all(self) -> list[StreamDescription]:
        with self._lock:
            names = sorted(self._catalogue.streams)
        return [self.describe(name) for name in names]

    def tick(self) -> None:
        """Let the clock move the watermarks of arrival streams, and of idle event streams; look after processes."""
        self._parsers.look()
        idle = []
        with self._lock:
            for name, log in self._logs.items():
                if name not in self._ending:
                    log.tick()
                    settings = self._catalogue.streams[name].settings
                    if settings.time is TimeKind.EVENT and settings.idle_timeout is not None:
                        idle.append((log, self._idle.setdefault(log, IdleClock(settings.idle_timeout))))
        # Not under the lock: a move waits for the disk.
        for log, clock in idle:
            counts = log.describe()
            due = None if counts.ended else clock.due(counts.elements, counts.watermark, self._clock())
            if due is not None:
                try:
                    clock.moved(counts.elements, log.advance(due))
                except (NotFound, Unavailable):
                    continue  # deleted or closed meanwhile

    def bound(self, windows: tuple[StreamWindow, ...]) -> tuple[StreamWindow, ...]:
        """The windows with the directories of their streams' logs in place of the streams' IRIs.

        A relative IRI that names no stream where the query's base has put it is a name below ``/streams/``.
        Raises QuerySemanticError for an unknown stream, with the place of the window.
        """
        with self._lock:
            logs = {}
            for entry in self._catalogue.streams.values():
                logs[entry.settings.iri] = logs[self.url(entry.name)] = entry.log
        bound = []
        for member in windows:
            log = logs.get(member.stream)
            if log is None and member.reference is not None:
                log = logs.get(resolve(self.url(""), member.reference))
            if log is None:
                known = ", ".join(sorted(f"<{iri}>" for iri in logs)) or "none yet"
                raise QuerySemanticError(
                    f"there is no stream <{member.stream}>: create it first (PUT /streams/NAME). Streams: {known}",
                    line=member.line,
                    column=member.column,
                )
            bound.append(replace(member, stream=log))
        return tuple(bound)

    def with_only_stream(self, windows: tuple[StreamWindow, ...]) -> tuple[StreamWindow, ...]:
        """The windows, those of the only stream with its IRI.

        Raises QuerySemanticError, with the place of the window, where there is none, or more than one.
        """
        if all(member.stream != ONLY_STREAM for member in windows):
            return windows
        with self._lock:
            entries = list(self._catalogue.streams.values())
        if len(entries) != 1:
            names = ", ".join(sorted(f"<{entry.settings.iri}>" for entry in entries)) or "none yet"
            unnamed = next(member for member in windows if member.stream == ONLY_STREAM)
            raise QuerySemanticError(
                "what names no stream is about the endpoint's only one: write STREAM <…> before an event pattern, "
                f"FROM STREAM <…> in a definition of facts. Streams: {names}",
                line=unnamed.line,
                column=unnamed.column,
            )
        only = entries[0].settings.iri
        return tuple(replace(member, stream=only) if member.stream == ONLY_STREAM else member for member in windows)

    def log_of(self, name: str) -> str:
        """The directory of a stream's log."""
        with self._lock:
            return self._entry(name).log

    def retain(self, needed: dict[str, tuple[Milliseconds, Instant | None]]) -> None:
        """Per log: the widest window that queries read, and the instant they have all been evaluated up to."""
        with self._lock:
            logs = {self._catalogue.streams[name].log: log for name, log in self._logs.items()}
        for directory, log in logs.items():
            width, evaluated = needed.get(directory, (0, None))
            log.retain(width, evaluated)

    def retained_from(self, log: str) -> Instant | None:
        """All elements of the log after this instant are held; None: all there ever were."""
        with self._lock:
            found = next(name for name, entry in self._catalogue.streams.items() if entry.log == log)
            return self._logs[found].describe().retained_from

    def url(self, name: str) -> str:
        """The stream's URL, which queries may use as its IRI."""
        return f"{self._base_iri}/streams/{name}"

    def output_iri(self, name: str) -> str:
        """The IRI of an output that was given none: its URL when it was made, wherever the endpoint listens today."""
        with self._lock:
            known = self._catalogue.streams.get(name)
        return self.url(name) if known is None or known.query is None else known.settings.iri

    def backup(self, directory: Path, at_once: Callable[[], None]) -> None:
        """Copy all logs as they are at one moment, in which ``at_once`` is called; ``finish_copy`` is left to do."""
        with self._lock, ExitStack() as stack:
            logs = {self._catalogue.streams[name].log: log for name, log in sorted(self._logs.items())}
            for log in logs.values():
                stack.enter_context(log.at_rest())
            for name, log in logs.items():
                log.copy_to(directory / name)
            at_once()

    def close(self) -> None:
        with self._lock:
            for log in self._logs.values():
                log.close()
        self._parsers.close()

    def require_own(self, name: str) -> None:
        """Raises Conflict for the output of a query, which nobody else appends to or ends."""
        with self._lock:
            self._own(name)

    def _opened(self, entry: StreamEntry) -> StreamLog | UnreadableLog:
        """The log of a stream that was there before. One that cannot be opened keeps nothing else from being served."""
        directory = self._layout.streams / entry.log
        try:
            log = StreamLog.open(directory, entry.settings, self._clock, known=True)
        except (ProtocolError, OSError) as error:
            reason = error.detail if isinstance(error, ProtocolError) else error.strerror or str(error)
            _LOGGER.error("the log of the stream %s in %s cannot be opened: %s", entry.name, directory, reason)
            return UnreadableLog(directory, reason)
        if log.without_manifest:
            self.warnings.append(
                f"the manifest of the stream {entry.name} in streams/{entry.log} was missing or damaged, and was made "
                "anew from its segments: what the last of these has lost at its end would not be noticed"
            )
        return log

    def _own(self, name: str) -> StreamEntry:
        entry = self._entry(name)
        if entry.query is not None:
            raise Conflict(f"the stream {name} is the output of the query {entry.query}: nobody else writes or ends it")
        return entry

    def _require_free(self, iri: str) -> None:
        for other in self._catalogue.streams.values():
            if iri in (other.settings.iri, self.url(other.name)):
                raise Conflict(f"the IRI {iri} is that of the stream {other.name} already")

    def _create(self, name: str, settings: StreamSettings, query: str | None) -> None:
        log_name = f"{name}.{self._catalogue.next_serial()}"
        while (self._layout.streams / log_name).exists():  # of a stream that the catalogue has lost
            log_name = f"{name}.{self._catalogue.next_serial()}"
        entry = StreamEntry(name, log_name, settings, query)
        log = StreamLog.open(self._layout.streams / entry.log, settings, self._clock)
        self._catalogue.streams[name] = entry
        try:
            self._catalogue.save()
        except OSError:
            del self._catalogue.streams[name]
            log.drop()
            raise
        self._logs[name] = log

    def _entry(self, name: str) -> StreamEntry:
        entry = self._catalogue.streams.get(name)
        if entry is None:
            raise NotFound(f"there is no stream {name}: create it with PUT /streams/{name}")
        return entry

    def _log(self, name: str) -> StreamLog | UnreadableLog:
        with self._lock:
            self._entry(name)
            return self._logs[name]
