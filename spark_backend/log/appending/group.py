"""A group of operations as frames: what is committed with one write and one fsync."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from protocol.errors import Conflict, KeyReused, Unavailable
from protocol.streams import AppendReceipt, StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.timeline import END
from spark_backend.log.appending.equal_messages import EqualMessages
from spark_backend.log.appending.request_keys import RequestKey, RequestKeys
from spark_backend.log.format.frame import FrameKind, encode_elements, encode_mark
from spark_backend.log.format.keys import KeyedRequest
from spark_backend.log.format.positions import Positions
from spark_backend.log.format.request import AppendRequest
from spark_backend.log.format.stamp import StampedRows, Totals, stamp_arrival, stamp_event, watermark_after
from spark_backend.log.partitions import PartitionWatermarks, as_positions, least, raised

_FRAME_BYTES = 64 * 1024 * 1024
"""Requests of one group share a frame up to this much text: a string column holds at most 2 GiB."""

CommitOutcome = AppendReceipt | Instant | Exception


class Operation:
    """Something to commit: an append (a request, perhaps with a key) or an advance (a watermark; END to end the
    stream; or watermarks of partitions). An append may bring positions, and nothing else. ``at``: when a request with
    a key came; None: now. ``partition``: whose elements they are; None: everybody's.
    """

    def __init__(
        self,
        wanted: AppendRequest | Instant | PartitionWatermarks,
        key: RequestKey | None = None,
        positions: Positions | None = None,
        at: Instant | None = None,
        partition: str | None = None,
    ) -> None:
        self.wanted = wanted
        self.key = key
        self.positions = positions or {}
        self.at = at
        self.partition = partition
        self.settled: CommitOutcome | None = None

    def outcome(self) -> AppendReceipt | Instant:
        """The receipt, or for an advance the watermark after it; raises the error it failed with."""
        if self.settled is None:
            raise Unavailable("the stream log was interrupted before this was stored")
        if isinstance(self.settled, Exception):
            # One error may be raised for many operations; it must not gather all their tracebacks.
            raise self.settled.with_traceback(None)
        return self.settled


def settle(operations: Iterable[Operation], error: Exception) -> None:
    """Let all of them have failed."""
    for operation in operations:
        operation.settled = error


class CommitGroup(NamedTuple):
    """The frames of a group, one outcome for each of its operations, the totals after all of them, what positions
    they have changed, what partitions have reached after them, and how many elements there were after the last of each.
    """

    parts: list[bytes | pa.Buffer]
    outcomes: list[CommitOutcome]
    after: Totals
    positions: dict[str, bytes]
    reached: dict[str, Instant]
    heard: dict[str | None, int]


class Frames:
    """Frames in which one operation is laid out behind the other. Appends share a frame: a run of them, which is closed
    by what needs one of its own.
    """

    def __init__(
        self,
        settings: StreamSettings,
        now: Instant,
        before: Totals,
        equal: EqualMessages,
        keys: RequestKeys,
        partitions: PartitionWatermarks,
    ) -> None:
        """``now`` stamps the elements of an arrival stream; ``partitions``: what those of an event stream have
        reached.
        """
        self._settings = settings
        self._now = now
        self._equal = equal
        self._keys = keys
        self._run: list[StampedRows] = []
        self._keyed: list[KeyedRequest] = []
        self._placed: dict[str, bytes] = {}
        """Of the run: requests with keys, and positions."""
        self._parts: list[bytes | pa.Buffer] = []
        self._totals = before
        self._changed: dict[str, bytes] = {}
        self._reached = dict(partitions)
        self._heard: dict[str | None, int] = {}

    def group(self, operations: Iterable[Operation]) -> CommitGroup:
        """The group of these operations, once.

        An operation after the end of the stream has a Conflict for its outcome, an advance that is behind
        the watermark changes nothing. An append with a key that was there before is answered as the first was.
        """
        outcomes = [self._outcome_of(operation) for operation in operations]
        self._close_run()
        return CommitGroup(self._parts, outcomes, self._totals, self._changed, self._reached, self._heard)

    def _outcome_of(self, operation: Operation) -> CommitOutcome:
        """What comes of an operation, which is added to the frames."""
        wanted = operation.wanted
        if not isinstance(wanted, AppendRequest):
            return self._advance(wanted)
        known = _answered(operation.key, self._keys, self._now)
        if known is not None:
            return known
        if self._totals.watermark == END:
            return Conflict("the stream has ended: nothing can be appended to it")
        return self._append(operation, wanted)

    def _close_run(self) -> None:
        """Make a frame of the appends that have none yet."""
        if not (self._run or self._placed):
            return
        self._totals = self._totals._replace(frames=self._totals.frames + 1)
        if self._run:
            self._parts.extend(encode_elements(_join(self._run), self._totals, self._keyed, self._placed))
        else:
            self._parts.append(encode_mark(FrameKind.WATERMARK, self._totals, self._placed))
        self._changed.update(self._placed)
        self._run.clear()
        self._keyed.clear()
        self._placed.clear()

    def _advance(self, wanted: Instant | PartitionWatermarks) -> Instant:
        """The watermark after it."""
        totals = self._totals
        further = {} if isinstance(wanted, int) or totals.watermark == END else raised(self._reached, wanted)
        self._reached |= further
        to = wanted if isinstance(wanted, int) else least(self._reached) if further else totals.watermark
        if further or to > totals.watermark:
            self._close_run()
            watermark = max(to, self._totals.watermark)
            self._totals = self._totals._replace(frames=self._totals.frames + 1, watermark=watermark)
            said = as_positions(further)
            self._parts.append(encode_mark(FrameKind.WATERMARK, self._totals, said))
            self._changed.update(said)
        return self._totals.watermark

    def _append(self, operation: Operation, wanted: AppendRequest) -> AppendReceipt:
        if wanted.elements:
            self._stamp(wanted, operation.partition)
        self._placed.update(operation.positions)
        totals = self._totals
        watermark = None if totals.watermark == BEFORE_ALL else totals.watermark
        if operation.key is not None and wanted.elements:
            at = self._now if operation.at is None else operation.at
            keyed = KeyedRequest(*operation.key, at, wanted.elements, wanted.triples, totals.watermark)
            self._keyed.append(keyed)
            self._keys.note(keyed)
        return AppendReceipt(wanted.elements, wanted.triples, watermark)

    def _stamp(self, wanted: AppendRequest, partition: str | None) -> None:
        """Add elements to the run, or to the next where it would be too long."""
        if self._run and sum(stamped.text for stamped in self._run) + wanted.text > _FRAME_BYTES:
            self._close_run()
        ceiling = None if partition is None else least(self._reached, but=partition)
        stamped = _stamp(self._equal.tell_apart(wanted), self._settings, self._now, self._totals, ceiling)
        self._run.append(stamped)
        self._totals = stamped.after
        self._heard[partition] = self._totals.elements
        if partition is not None:
            further = raised(self._reached, {partition: watermark_after(stamped.latest, self._settings)})
            self._reached |= further
            self._placed.update(as_positions(further))


def _answered(key: RequestKey | None, keys: RequestKeys, now: Instant) -> CommitOutcome | None:
    try:
        return None if key is None else keys.answer(key, now, pending=True)
    except KeyReused as error:
        return error


def arrival_time(now: Instant, totals: Totals) -> Instant:
    """The stamp of what arrives at ``now``: never before an earlier stamp, and after the watermark."""
    return max(now, totals.last, totals.watermark + 1)


def _stamp(
    request: AppendRequest, settings: StreamSettings, now: Instant, totals: Totals, ceiling: Instant | None
) -> StampedRows:
    if settings.time is TimeKind.ARRIVAL:
        return stamp_arrival(request, arrival_time(now, totals), totals)
    return stamp_event(request, settings, totals, ceiling)


def _join(run: Sequence[StampedRows]) -> StampedRows:
    if len(run) == 1:
        return run[0]
    return StampedRows(
        pa.concat_batches([stamped.rows for stamped in run]),
        sum(stamped.elements for stamped in run),
        sum(stamped.triples for stamped in run),
        sum(stamped.text for stamped in run),
        sum(stamped.late for stamped in run),
        min(stamped.earliest for stamped in run),
        max(stamped.latest for stamped in run),
        run[-1].after,
    )
