"""The writer of a stream's log: durable appends with group commit, watermark, end, retention."""

from __future__ import annotations

import fcntl
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pyarrow as pa

from protocol.errors import Conflict, NotFound, ProtocolError, StorageFull, Unavailable
from protocol.processes.durable_files import sync_directory
from protocol.streams import AppendReceipt, StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.timeline import END
from spark_backend.files import link_or_copy
from spark_backend.log.appending.equal_messages import EqualMessages
from spark_backend.log.appending.group import Frames, Operation, arrival_time, settle
from spark_backend.log.appending.request_keys import LONGEST, RequestKey, RequestKeys
from spark_backend.log.appending.written_messages import WrittenMessages
from spark_backend.log.counts import LogCounts
from spark_backend.log.damage import lost_files, note_lost_files
from spark_backend.log.format.columns import LATEST
from spark_backend.log.format.keys import KeyedRequest
from spark_backend.log.format.manifest import MANIFEST, Manifest, ManifestWriter, decode_manifest, encode_manifest
from spark_backend.log.format.positions import Positions, merged
from spark_backend.log.format.request import check_request
from spark_backend.log.format.segment import ActiveSegment, mapped, segment_numbers, segment_path
from spark_backend.log.format.stamp import Totals
from spark_backend.log.partitions import (
    PartitionWatermarks,
    partition_counts,
    partition_watermarks,
    without_watermarks,
)
from spark_backend.log.recovery import ReopenedLog, delete_log, reopen
from spark_backend.log.retention import SealedSegment

_LOGGER = logging.getLogger(__name__)

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment that has reached this size is followed by another."""

_SEGMENTS_HELD = 4
_SHORTEST_SPAN: Milliseconds = 1000
"""So is one that spans a quarter of what is kept, but not less than this: what has expired goes soon after."""


class StreamLog:
    """The log of one stream, open for writing by this process alone. Safe for any number of threads."""

    def __init__(
        self,
        directory: Path,
        settings: StreamSettings,
        clock: Callable[[], Instant],
        segment_bytes: int,
        manifest: ManifestWriter,
        reopened: ReopenedLog,
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._manifest = manifest
        self._active, self._retention = reopened.active, reopened.retention
        self._retained_from, self._totals = reopened.retained_from, reopened.totals
        self._generation, self._damage = reopened.generation, reopened.damage
        self.without_manifest = reopened.without_manifest
        self._positions = reopened.positions
        self._reached = partition_watermarks(settings, reopened.positions)
        self._heard: dict[str | None, int] = {}
        self._keys = RequestKeys(min(settings.retention, LONGEST), reopened.keyed)
        self._committed = self._active.committed
        self._changes = 0
        self._unpublished = False
        # The segments that retention has taken and whose files are still there.
        self._expired: deque[int] = deque()
        self._unavailable: ProtocolError | None = None
        # The first of a group of callers commits for all of them, holding _committing while it writes;
        # _lock guards the state below it. Nobody who holds it waits until something is durable, but for closing.
        self._waiting: deque[Operation] = deque()
        self._committing = threading.Lock()
        self._lock = threading.Lock()
        self._earliest_stamp: Instant | None = None
        # Used by who holds _committing.
        self._written = WrittenMessages(directory)
        self._equal = EqualMessages(self._totals.last, self._equal_written)
        # The greatest element time when the active segment was begun (or the log opened).
        self._active_from = self._totals.last
        with self._lock:
            self._publish()

    @classmethod
    def open(
        cls,
        directory: Path,
        settings: StreamSettings,
        clock: Callable[[], Instant],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        known: bool = False,
    ) -> StreamLog:
        """Open the log in a directory, or create both. ``clock`` gives the time in ms; it may step back.

        After a crash all that was acknowledged is there. ``known``: there was a log; should its files be gone, that
        is damage, and nothing goes before it is said what queries still need of it (``retain``). Raises Conflict if
        another writer has it open, OSError if it cannot be read.
        """
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync_directory(path.parent)
        manifest = ManifestWriter(directory)
        try:
            fcntl.flock(manifest.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            reopened = reopen(directory, settings, manifest.last_published(), clock(), known=known)
            reopened.retention.evaluated = BEFORE_ALL if known else None
        except BlockingIOError:
            manifest.close(durable=False)
            raise Conflict(f"the stream log {directory.name} is open for writing elsewhere") from None
        except BaseException:
            manifest.close(durable=False)
            raise
        try:
            return cls(directory, settings, clock, segment_bytes, manifest, reopened)
        except BaseException:
            reopened.active.close()
            manifest.close(durable=False)
            raise

    def answer(self, key: RequestKey) -> AppendReceipt | None:
        """What the request with this key was answered, if it was there before. Raises KeyReused if it was another
        one.
        """
        return self._keys.answer(key, self._clock())

    @property
    def positions(self) -> dict[str, bytes]:
        """How far what fills the stream was read: what ``append`` was given last, by name."""
        with self._lock:
            return without_watermarks(self._positions)

    def request(self, key: RequestKey) -> KeyedRequest | None:
        """The request with this key, if it was there before. Raises KeyReused if it was another one."""
        return self._keys.request(key, self._clock())

    def append(
        self,
        batch: pa.RecordBatch,
        key: RequestKey | None = None,
        positions: Positions | None = None,
        at: Instant | None = None,
        partition: str | None = None,
    ) -> AppendReceipt:
        """Append the elements of a request, all or none; returns once they are durable.

        ``batch`` has the columns of REQUEST. With a ``key`` that was there before, it is answered as then (see
        ``answer``) and nothing is appended. ``positions`` are stored with the elements, or alone if there are none;
        ``at`` is when the request came (None: now). ``partition``: whose watermark the elements of an event stream
        move, alone; None: all of them. Raises Conflict after the end of the stream, InvalidMessage
        for an element without a time, StorageFull or Unavailable if it could not be written (then nothing was).
        """
        if self._settings.time is TimeKind.ARRIVAL:
            partition = None
        operation = Operation(check_request(batch, self._settings.time), key, positions, at, partition)
        return cast(AppendReceipt, self._commit(operation))

    def append_all(
        self, requests: Sequence[tuple[pa.RecordBatch, RequestKey | None]], at: Instant | None = None
    ) -> list[AppendReceipt]:
        """Append several requests (see ``append``) with one write: those that are not there yet, all or none."""
        operations = [Operation(check_request(batch, self._settings.time), key, at=at) for batch, key in requests]
        return [cast(AppendReceipt, outcome) for outcome in self._commit_all(operations)]

    def advance(self, watermark: Instant | PartitionWatermarks) -> Instant:
        """Nothing at or before ``watermark`` is coming, of the partitions that have one: durable.

        Returns the stream's watermark, which never steps back.
        """
        latest = watermark if isinstance(watermark, int) else max(watermark.values(), default=BEFORE_ALL)
        if latest > LATEST:
            raise ProtocolError(f"{latest} ms is too far ahead for a watermark: the last possible is {LATEST}")
        return cast(Instant, self._commit(Operation(watermark)))

    def know_partitions(self, names: Iterable[str]) -> None:
        """There are these partitions: durable. The watermark waits for those that are new, until they have moved."""
        if self._settings.time is TimeKind.EVENT:
            self.advance(dict.fromkeys(names, BEFORE_ALL))

    def end(self) -> None:
        """Nothing at all is coming: durable; the watermark becomes END. Again: changes nothing."""
        self._commit(Operation(END))

    def tick(self) -> Instant | None:
        """Let the clock move the watermark of an arrival stream, to just before now. Returns the watermark.

        It stays below whatever is being written. Does nothing to an event stream or an ended or closed one.
        """
        with self._lock:
            if self._settings.time is TimeKind.ARRIVAL and self._unavailable is None:
                reached = self._clock() - 1
                if self._earliest_stamp is not None:
                    reached = min(reached, self._earliest_stamp - 1)
                if reached > self._totals.watermark:
                    self._totals = self._totals._replace(watermark=reached)
                    self._publish()
            return _instant(self._totals.watermark)

    def retain(self, needed: Milliseconds, evaluated: Instant | None = None) -> None:
        """Keep what queries still read: windows of width ``needed``, at instants after ``evaluated``.

        What readers could not be told of before is told again.
        None for ``evaluated``: retention goes by the watermark alone.
        """
        with self._lock:
            self._retention.needed = needed
            self._retention.evaluated = evaluated
            # What has not changed is no news: readers would look at everything anew.
            if self._unavailable is None and (self._expire() or self._unpublished):
                self._publish()

    def describe(self) -> LogCounts:
        """Counts and times of what is committed."""
        with self._lock:
            totals = self._totals
            return LogCounts(
                totals.elements,
                totals.triples,
                totals.late,
                self._retention.bytes + self._committed,
                _instant(totals.first),
                _instant(totals.last),
                _instant(totals.watermark),
                totals.watermark == END,
                _instant(self._retained_from),
                self._damage,
                partition_counts(self._reached, totals.watermark, self._heard),
            )

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nothing is appended within."""
        with self._committing:
            yield

    def copy_to(self, directory: Path) -> None:
        """Make a copy of the log as it is, but for the end of its last segment (``finish_copy``). Within ``at_rest``.

        Segments are linked, which takes no time; they are never changed where they are committed.
        """
        with self._lock:
            directory.mkdir()
            for number in segment_numbers(self._directory):
                link_or_copy(segment_path(self._directory, number), segment_path(directory, number))
            state = self._state()
            (directory / MANIFEST).write_bytes(encode_manifest(state))
            if lost_files(self._directory, state.first_segment):
                note_lost_files(directory)

    def close(self) -> None:
        """Close the files, after what is being written. Again: does nothing."""
        self._shut(Unavailable(f"the stream log {self._directory.name} is closed"), dropped=False)

    def drop(self) -> None:
        """Close the log for good. Readers learn of it, and keep what they have read; its files say so (``is_dropped``),
        and are left for ``delete``.
        """
        self._shut(NotFound(f"the stream log {self._directory.name} was deleted"), dropped=True)

    def delete(self) -> None:
        """Delete the directory of a log that was dropped. Raises OSError."""
        delete_log(self._directory)

    def _commit(self, operation: Operation) -> AppendReceipt | Instant:
        return self._commit_all([operation])[0]

    def _commit_all(self, operations: list[Operation]) -> list[AppendReceipt | Instant]:
        self._waiting.extend(operations)
        with self._committing:
            if any(operation.settled is None for operation in operations):
                group = [self._waiting.popleft() for _ in range(len(self._waiting))]
                try:
                    self._write(group)
                except OSError as error:
                    reason = error.strerror or str(error)
                    full = StorageFull.of(error, "the stream log")
                    failed = Unavailable(f"the stream log could not be written ({reason}): nothing was stored")
                    settle(group, full or failed)
                except Exception as error:
                    settle(group, error)
        return [operation.outcome() for operation in operations]

    def _write(self, operations: list[Operation]) -> None:
        with self._lock:
            if self._unavailable is not None:
                settle(operations, self._unavailable)
                return
            before, now = self._totals, self._clock()
            self._earliest_stamp = arrival_time(now, before)
        try:
            try:
                frames = Frames(self._settings, now, before, self._equal, self._keys, self._reached)
                group = frames.group(operations)
                rolled = self._store(before, group.parts) if group.parts else None
            except BaseException:
                self._equal.lost(before.last)
                self._keys.lost()
                raise
            self._equal.note_stored(group.after.watermark)
            self._keys.note_stored(now)
            with self._lock:
                if rolled is not None:
                    self._retention.seal(SealedSegment(self._active.number, self._active.committed, before.last))
                    self._active = rolled
                self._committed = self._active.committed
                self._positions = merged(self._positions, group.positions)
                self._reached = group.reached
                self._heard |= group.heard
                # A tick may have moved the watermark meanwhile.
                watermark = max(group.after.watermark, self._totals.watermark)
                self._totals = group.after._replace(watermark=watermark)
                if group.parts:
                    try:
                        self._publish()
                    except OSError as error:
                        raise Unavailable(f"stored, but readers of the log could not be told ({error})") from error
        finally:
            with self._lock:
                self._earliest_stamp = None
        for operation, outcome in zip(operations, group.outcomes, strict=True):
            operation.settled = outcome

    def _store(self, before: Totals, parts: list[bytes | pa.Buffer]) -> ActiveSegment | None:
        """Make the frames durable. Returns the new segment if they did not fit into the active one."""
        fits = self._active.committed + sum(len(part) for part in parts) <= self._segment_bytes
        if self._active.empty or (fits and not self._spans_enough(before)):
            if self._active.empty:
                self._active_from = before.last
            self._active.append(parts)
            return None
        self._active_from = before.last
        self._active.trim()
        rolled = ActiveSegment.create(self._directory, self._active.number + 1, before, parts, self._positions)
        self._active.close()
        return rolled

    def _equal_written(self, digest: str, instant: Instant) -> int:
        first = self._active.number if self._retention.first is None else self._retention.first
        place = (self._active.number, self._active.committed)
        return self._written.count(digest, instant, first, place)

    def _spans_enough(self, before: Totals) -> bool:
        """Whether the active segment is to be sealed for its time: only sealed ones can be dropped by retention."""
        if BEFORE_ALL in (before.last, self._active_from):
            self._active_from = before.last
            return False
        # Where queries keep more than the retention, or all there is, readers would map ever more small files.
        kept = max(self._settings.retention, self._retention.needed)
        return before.last - self._active_from > max(kept // _SEGMENTS_HELD, _SHORTEST_SPAN)

    def _publish(self, *, dropped: bool = False) -> None:
        """Show the state to readers, then delete what has expired. Under _lock. Raises OSError."""
        self._expire()
        self._changes += 1
        self._unpublished = True
        self._manifest.publish(self._state()._replace(dropped=int(dropped)))
        self._unpublished = False
        while self._expired:
            try:
                segment_path(self._directory, self._expired[0]).unlink(missing_ok=True)
            except OSError as error:
                _LOGGER.debug("stream log %s: what has expired is deleted later: %s", self._directory.name, error)
                return
            self._expired.popleft()

    def _expire(self) -> bool:
        """Take out what has expired: it is deleted once readers know. Whether there is any. Under _lock."""
        expired = self._retention.take_expired(self._totals)
        if expired:
            self._retained_from = expired[-1].latest
            self._damage = [damage for damage in self._damage if damage.segment > expired[-1].number]
            self._expired.extend(segment.number for segment in expired)
        return bool(self._expired)

    def _state(self) -> Manifest:
        return Manifest(
            0,
            self._generation,
            self._changes,
            self._active.number if self._retention.first is None else self._retention.first,
            self._active.number,
            self._committed,
            self._retention.bytes + self._committed,
            self._retained_from,
            self._totals,
        )

    def _shut(self, reason: ProtocolError, *, dropped: bool) -> None:
        with self._committing, self._lock:
            if self._unavailable is not None:
                return
            self._unavailable = reason
            if not dropped:
                try:
                    self._active.trim()
                finally:
                    self._active.close()
                    self._manifest.close()
                return
            try:
                self._publish(dropped=True)
            finally:
                self._active.close()
                self._manifest.close()


def finish_copy(directory: Path) -> None:
    """Let the last segment of a copy have what was committed when it was made, and be a file of its own.

    The copy of a log that cannot be opened stays as it is, unless its manifest can be read.
    """
    manifest = directory / MANIFEST
    state = decode_manifest(manifest.read_bytes()) if manifest.is_file() else None
    if state is None:
        return
    path = segment_path(directory, state.last_segment)
    if not path.exists():
        return
    with mapped(path) as data:
        committed = bytes(data[: state.committed])
    path.unlink()
    path.write_bytes(committed)


def _instant(value: Instant) -> Instant | None:
    return None if value == BEFORE_ALL else value
