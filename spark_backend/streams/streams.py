"""The streams of an endpoint: created, appended to, described, ended; each with its log."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet

import pyarrow as pa

from protocol.errors import Conflict, NotFound, ProtocolError
from protocol.messages.rejected import Rejected
from protocol.sources import SourceBatch, SourceMessage, SourceReceipt
from protocol.streams import (
    AppendReceipt,
    OnInvalid,
    StreamDescription,
    StreamSettings,
    TimeKind,
    main_stream,
    side_streams,
)
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.spec import StreamWindow
from spark_backend.ingest.columns import check_at, check_watermark, read_elements
from spark_backend.ingest.divided_body import Read
from spark_backend.ingest.parsed_file import Parsed, ParsedFile
from spark_backend.ingest.parsing.parsers import Parsers
from spark_backend.ingest.source_messages import comes_in_parts, read_messages
from spark_backend.layout import Layout
from spark_backend.log.appending.request_keys import RequestKey
from spark_backend.log.partitions import partition_name
from spark_backend.log.recovery import has_elements
from spark_backend.streams.catalogue import Catalogue, StreamEntry
from spark_backend.streams.descriptions import description
from spark_backend.streams.diversion import Diversion
from spark_backend.streams.idle import IdleClocks
from spark_backend.streams.known_logs import KnownLogs, Log, keep_behind
from spark_backend.streams.references import bound_windows, with_found_streams, with_only_stream
from spark_backend.streams.shapes import StreamShapes
from spark_backend.streams.sides import SideStreams

_LOGGER = logging.getLogger(__name__)


class Streams:
    """All streams. Thread-safe; appends to different streams do not wait for each other.

    A stream that has one beside it (of what it rejected, ``protocol.streams.SIDE_STREAMS``) is in the catalogue with
    it: they end and go together. The latter is made when it is first needed.

    ``warnings``: what is to be known of how their logs were found, a sentence each. ``parsers`` are ended with them.
    ``shapes`` knows what messages have to conform to. ``steady`` is a clock that is never set, for how long streams
    pause.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        layout: Layout,
        base_iri: str,
        clock: Callable[[], Instant],
        parsers: Parsers | None = None,
        shapes: StreamShapes | None = None,
        *,
        steady: Callable[[], Milliseconds] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        self._catalogue = catalogue
        self._layout = layout
        self._base_iri = base_iri.rstrip("/")
        self._clock = clock
        self._steady = steady
        self._parsers = Parsers() if parsers is None else parsers
        self._shapes = StreamShapes() if shapes is None else shapes
        self._idle: WeakKeyDictionary[Log, IdleClocks] = WeakKeyDictionary()
        self._still: WeakSet[Log] = WeakSet()
        self._logs = KnownLogs(catalogue, layout.streams, clock)
        self._lock = self._logs.lock
        self._dropped: list[Log] = []
        self._sides = SideStreams(self._logs, self.url, clock)
        self.warnings = self._logs.warnings
        for entry, log in self._logs:
            if entry.name == main_stream(entry.name):
                self._go_on_beside(entry.name, log)

    def _go_on_beside(self, name: str, log: Log) -> None:
        """Have the streams beside one be as it is: unless that was done before the last stop."""
        self._sides.copy_late(name, log)
        if log.describe().ended:
            self._sides.end(name, log)

    def open_again(self, evaluated: Mapping[str, Instant]) -> None:
        """Try again the logs that could not be opened. ``evaluated``: up to when queries were, by the logs they read
        (see ``keep_behind``).
        """
        with self._lock:
            unreadable = self._logs.unreadable()
        for entry, log in unreadable:
            if self._logs.open_again(entry, log, evaluated.get(entry.log, BEFORE_ALL)):
                with self._lock:
                    name = main_stream(entry.name)
                    main = self._logs.get(name)
                if main is not None:
                    self._go_on_beside(name, main)

    def unclaimed(self) -> list[str]:
        """The directories of logs with elements that belong to no stream that the catalogue knows."""
        with self._lock:
            known = {entry.log for entry in self._catalogue.streams.values()}
        found = (path for path in sorted(self._layout.streams.iterdir()) if path.is_dir() and path.name not in known)
        return [path.name for path in found if has_elements(path)]

    def create(self, name: str, settings: StreamSettings) -> bool:
        """True if it is new, False if it is there with these settings; Conflict otherwise."""
        if not self._is_new(name, settings):
            return False
        # Not under the lock: the store is asked, which may be busy.
        self._shapes.check(settings)
        with self._lock:
            is_new = self._is_new(name, settings)
            if is_new:
                self._logs.create(name, settings)
            return is_new

    def _is_new(self, name: str, settings: StreamSettings) -> bool:
        """Whether there is no such stream; Conflict if it, or another one with its IRI, is there otherwise."""
        with self._lock:
            known = self._catalogue.streams.get(name)
            if known is None:
                self._require_free(name, settings.iri)
            elif known.settings != settings:
                raise Conflict(f"the stream {name} exists with other settings: delete it first, or choose another name")
            return known is None

    def create_output(self, name: str, settings: StreamSettings, query: str) -> None:
        """The output of a query, unless it is there; Conflict if a stream of that name or IRI is not its own."""
        with self._lock:
            self.check_output(name, settings, query)
            if name not in self._catalogue.streams:
                self._logs.create(name, settings, query)

    def check_output(self, name: str, settings: StreamSettings, query: str) -> None:
        """Raises the Conflict that creating the output would raise."""
        with self._lock:
            known = self._catalogue.streams.get(name)
            if known is None:
                self._require_free(name, settings.iri)
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

    def keep_behind(self, logs: Iterable[str], evaluated: Instant) -> None:
        """As ``known_logs.keep_behind``, of the streams with these logs."""
        with self._lock:
            read = [(entry, log) for entry, log in self._logs if entry.log in logs]
        for entry, log in read:
            keep_behind(entry, log, evaluated)

    def advance_output(self, name: str, watermark: Instant) -> None:
        self._log(name).advance(watermark)

    def end_output(self, name: str) -> None:
        self._log(name).end()

    def drop(self, name: str) -> None:
        """Drop the stream and those beside it. The files of their logs are left for ``delete_dropped``."""
        with self._lock:
            self._own_or_output(name)
            gone = self._logs.drop(self.with_sides(name))
            self._sides.forget(name, gone[0])
            self._dropped += gone

    def delete_dropped(self) -> None:
        """Delete the files of what was dropped: what takes long where they are large is done while nobody waits."""
        with self._lock:
            gone, self._dropped = self._dropped, []
        self._logs.delete(gone)

    def with_sides(self, name: str) -> list[str]:
        """A stream and those beside it that are there."""
        with self._lock:
            return [self._logs.entry(name).name, *self._sides.names(name)]

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        """Append all messages of a body, or none; those that are right if the stream diverts. Returns once they are
        durable. The same request with the same idempotency ``key`` as one before is answered as that was.
        ``partition``: see ``endpoint.backend.Backend.append``.
        """
        with self._lock:
            entry, log = self._own(name), self._logs[name]
        of = partition_name(entry.settings, partition)
        keyed = None if key is None else RequestKey.of(key, body, content_type, at, of)
        reading = partial(self._reading, entry, at)
        if entry.settings.on_invalid is OnInvalid.DIVERT:
            if at is not None:
                check_at(at, entry.settings)
            has_context = entry.settings.context is not None
            diversion = Diversion(name, log, self._sides, self._clock, has_context)
            receipt = diversion.append(body, content_type, keyed, of, reading)
        else:
            answered = None if keyed is None else log.answer(keyed)
            receipt = answered or log.append(reading(self._clock())(body, content_type), keyed, partition=of)
        self._sides.copy_late(name, log)
        return receipt

    def _reading(self, entry: StreamEntry, at: Instant | None, now: Instant) -> Read:
        """What makes elements of a body of a content type, as the stream is set."""
        # Messages that the server stamps have no time yet: their blank nodes are told apart by the request.
        scope = uuid.uuid4().hex if entry.settings.time is TimeKind.ARRIVAL else None
        shapes = self._shapes.of(entry.settings)
        return partial(
            read_elements,
            settings=entry.settings, at=at, blank_scope=scope, now=now, parser=self._parsers, shapes=shapes,
        )  # fmt: skip

    def divert(self, name: str, rejected: Sequence[Rejected]) -> None:
        """What ``SideStreams.divert`` says."""
        self._sides.divert(name, self._log(name), rejected, self._clock())

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        """What ``endpoint.backend.Backend.receive`` says: first what is rejected, by a key of each, then the rest.

        So a message that comes again after a crash may be rejected already; then it stays so, though by the clock or
        the shapes of today it would be right. Of one that is several, each is judged by the clock of then.
        """
        with self._lock:
            entry, log = self._own(name), self._logs[name]
        before, now = 0, self._clock()
        if isinstance(batch.parsed, ParsedFile):
            read = batch.parsed.read()
        else:
            read, before = self._parsed(batch.messages, entry, now)
        if read.rejected:
            self._sides.divert(name, log, read.rejected, now)
        receipt = log.append(read.batch, positions=batch.positions, partition=batch.partition)
        self._sides.copy_late(name, log)
        return SourceReceipt(receipt.elements, before + len(read.rejected))

    def _parsed(self, messages: Sequence[SourceMessage], entry: StreamEntry, now: Instant) -> tuple[Parsed, int]:
        """What messages become, and how many are left out since they were rejected before."""
        settings = entry.settings
        known: dict[bytes, Instant] = {}
        if settings.max_ahead is not None or settings.shape is not None:
            known = self._sides.rejected_before(entry.name, [message.key for message in messages])
        left = [message for message in messages if message.key not in known or comes_in_parts(message, settings)]
        read = read_messages(left, settings, self._parsers, now, self._shapes.of(settings), known)
        return read, len(messages) - len(left)

    def positions(self, name: str) -> dict[str, bytes]:
        """How far the source of the stream was read."""
        return self._log(name).positions

    def of_partitions(self, name: str) -> tuple[StreamSettings, Callable[[Sequence[str]], None]]:
        """The settings of a stream, and what tells it that its source reads partitions of these names: if it is an
        event stream, its watermark waits for each of them. It is told, whatever has its name by then.
        """
        with self._lock:
            entry, log = self._own(name), self._logs[name]
        return entry.settings, log.know_partitions

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        with self._lock:
            settings, log = self._own(name).settings, self._logs[name]
        of = partition_name(settings, partition)
        check_watermark(watermark, settings, self._clock())
        log.advance(watermark if of is None else {of: watermark})
        return self.describe(name)

    def end(self, name: str) -> StreamDescription:
        with self._lock:
            entry, log = self._own(name), self._logs[name]
        self._logs.end(entry, log)
        self._sides.copy_late(name, log)
        self._sides.end(name, log)
        return self.describe(name)

    def describe(self, name: str) -> StreamDescription:
        """NotFound if there is none. A stream beside another one that was not needed yet is empty."""
        with self._lock:
            if name not in self._catalogue.streams:
                return self._sides.not_needed_yet(name)
            entries = [self._catalogue.streams[one] for one in self.with_sides(name)]
            return description(
                [(one, self._logs[one.name].describe()) for one in entries], self._sides.rejected_by(name)
            )

    def describe_all(self) -> list[StreamDescription]:
        """All streams but those beside others."""
        with self._lock:
            names = sorted(name for name in self._catalogue.streams if name == main_stream(name))
        return [stream for name in names if (stream := self._described(name)) is not None]

    def _described(self, name: str) -> StreamDescription | None:
        """As ``describe``; None if it was deleted meanwhile."""
        try:
            return self.describe(name)
        except NotFound:
            return None

    def tick(self) -> None:
        """Let the clock move the watermarks of arrival streams, and of idle event streams; look after processes, and
        after what could not be copied.
        """
        self._parsers.look()
        self._sides.catch_up()
        with self._lock:
            ticking = list(self._logs.ticking())
        # Not under the lock: whoever appends to one of them is not to wait for all, nor for the disk.
        idle = []
        for entry, log in ticking:
            timeout = entry.settings.idle_timeout
            if entry.settings.time is TimeKind.ARRIVAL:
                with self._standing_still(entry, log):
                    self._logs.tick(log)
            elif timeout is not None:
                idle.append((entry, log, self._idle.setdefault(log, IdleClocks(timeout))))
        for entry, log, clocks in idle:
            counts = log.describe()
            due = None if counts.ended else clocks.due(counts, self._steady())
            if due is not None:
                with self._standing_still(entry, log):
                    log.advance(due)
                    clocks.moved(counts, due)

    @contextmanager
    def _standing_still(self, entry: StreamEntry, log: Log) -> Iterator[None]:
        """Where the clock cannot move a stream, that holds up no other; it is logged once, until it can again."""
        try:
            yield
            self._still.discard(log)
        except NotFound:
            return  # deleted meanwhile
        except (ProtocolError, OSError) as error:
            if log not in self._still:
                self._still.add(log)
                reason = error.detail if isinstance(error, ProtocolError) else error.strerror or str(error)
                _LOGGER.error("the clock cannot move the watermark of the stream %s: %s", entry.name, reason)

    def bound(self, windows: tuple[StreamWindow, ...]) -> tuple[StreamWindow, ...]:
        """The windows with the directories of their streams' logs in place of the streams' IRIs.

        Raises QuerySemanticError for an unknown stream, with the place of the window.
        """
        with self._lock:
            return bound_windows(windows, self._known_iris(), self.url(""), self.read)

    def with_streams(self, windows: tuple[StreamWindow, ...]) -> tuple[StreamWindow, ...]:
        """The windows with the IRIs of the streams that they mean today: those of relative IRIs, and the only stream's.

        Streams beside another do not count for the latter. Raises QuerySemanticError.
        """
        with self._lock:
            entries = list(self._catalogue.streams.values())
            found = with_found_streams(windows, self._known_iris(), self.url(""))
        return with_only_stream(found, [one.settings.iri for one in entries if one.name == main_stream(one.name)])

    def _known_iris(self) -> dict[str, str]:
        """Of each stream, by its IRI and by its URL; of those beside it, by their URLs. Under the lock."""
        names = {entry.settings.iri: entry.name for entry in self._catalogue.streams.values()}
        for name in [entry.name for entry in self._catalogue.streams.values()]:
            names |= {self.url(one): one for one in (name, *side_streams(name))}
        return names

    def log_of(self, name: str) -> str:
        """The directory of a stream's log."""
        with self._lock:
            return self._logs.entry(name).log

    def logs_of(self, iris: Iterable[str]) -> frozenset[str]:
        """The directories of the logs of those streams that are there, of these IRIs."""
        with self._lock:
            known, entries = self._known_iris(), self._catalogue.streams
            return frozenset(entries[known[iri]].log for iri in iris if known.get(iri) in entries)

    def incarnation(self, logs: Iterable[str]) -> int:
        """What tells these streams, given by their logs, from others that had their names before."""
        read = set(logs)
        with self._lock:
            return sum(entry.incarnation for entry in self._catalogue.streams.values() if entry.log in read)

    def read(self, name: str) -> str:
        """The directory of a stream's log, to be read: made if it is that of a stream beside another one."""
        with self._lock:
            self._sides.require(name)
            return self._logs.entry(name).log

    def retain(self, needed: dict[str, tuple[Milliseconds, Instant | None]]) -> None:
        """Per log: the widest window that queries read, and the instant they have all been evaluated up to.

        Each is told, whatever cannot be written in another: then OSError is raised.
        """
        with self._lock:
            logs = {entry.log: log for entry, log in self._logs}
        with ExitStack() as told:
            for directory, log in logs.items():
                told.callback(log.retain, *needed.get(directory, (0, None)))

    def retained_from(self, log: str) -> Instant | None:
        """All elements of the log after this instant are held; None: all there ever were."""
        with self._lock:
            return next(known for entry, known in self._logs if entry.log == log).describe().retained_from

    def retention(self, log: str) -> Milliseconds:
        """How long elements of the log are kept at least, whatever queries need."""
        with self._lock:
            return next(entry for entry, _ in self._logs if entry.log == log).settings.retention

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
            logs = {entry.log: log for entry, log in sorted(self._logs, key=lambda known: known[0].name)}
            for log in logs.values():
                stack.enter_context(log.at_rest())
            for name, log in logs.items():
                log.copy_to(directory / name)
            at_once()

    def close(self) -> None:
        with closing(self._parsers), self._lock, closing(self._logs):
            self._sides.close()

    def require_own(self, name: str) -> None:
        """Raises Conflict for the output of a query, which nobody else appends to or ends."""
        with self._lock:
            self._own(name)

    def _own(self, name: str) -> StreamEntry:
        entry = self._own_or_output(name)
        if entry.query is not None:
            raise Conflict(f"the stream {name} is the output of the query {entry.query}: nobody else writes or ends it")
        return entry

    def _own_or_output(self, name: str) -> StreamEntry:
        entry = self._logs.entry(main_stream(name))
        if name != entry.name:
            raise Conflict(f"the stream {name} is written by the server alone, and goes with the stream {entry.name}")
        return entry

    def _require_free(self, name: str, iri: str) -> None:
        """Raises Conflict if another stream has one of the IRIs by which queries will name this one."""
        known = self._catalogue.streams
        wanted = {iri, *self._urls(name)}
        taken = next(((one.settings.iri, one.name) for one in known.values() if one.settings.iri in wanted), None)
        # Of thousands of streams the URLs are not made: it is told from the IRI whose it would be.
        other = main_stream(iri.removeprefix(self.url("")))
        if taken is None and other in known and iri in self._urls(other):
            taken = iri, other
        if taken is not None:
            raise Conflict(f"the IRI {taken[0]} is that of the stream {main_stream(taken[1])} already")

    def _urls(self, name: str) -> list[str]:
        """The URLs of a stream and of those beside it."""
        return [self.url(one) for one in (name, *side_streams(name))]

    def _log(self, name: str) -> Log:
        with self._lock:
            return self._logs[name]
