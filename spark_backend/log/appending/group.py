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


def compose(
    operations: Iterable[Operation],
    settings: StreamSettings,
    now: Instant,
    before: Totals,
    equal: EqualMessages,
    keys: RequestKeys,
    partitions: PartitionWatermarks,
) -> CommitGroup:
    """Lay operations out as frames, in their order. ``now`` stamps the elements of an arrival stream; ``partitions``:
    what those of an event stream have reached.

    An operation after the end of the stream has a Conflict for its outcome, an advance that is behind
    the watermark changes nothing. An append with a key that was there before is answered as the first was.
    """
    parts: list[bytes | pa.Buffer] = []
    outcomes: list[CommitOutcome] = []
    run: list[StampedRows] = []
    keyed: list[KeyedRequest] = []
    placed: dict[str, bytes] = {}
    changed: dict[str, bytes] = {}
    reached = dict(partitions)
    heard: dict[str | None, int] = {}
    totals = before

    def close_run() -> None:
        nonlocal totals
        if run or placed:
            totals = totals._replace(frames=totals.frames + 1)
            if run:
                parts.extend(encode_elements(_join(run), totals, keyed, placed))
            else:
                parts.append(encode_mark(FrameKind.WATERMARK, totals, placed))
            changed.update(placed)
            run.clear()
            keyed.clear()
            placed.clear()

    for operation in operations:
        wanted = operation.wanted
        if not isinstance(wanted, AppendRequest):
            further = {} if isinstance(wanted, int) or totals.watermark == END else raised(reached, wanted)
            reached |= further
            said = as_positions(further)
            to = wanted if isinstance(wanted, int) else least(reached) if further else totals.watermark
            if further or to > totals.watermark:
                close_run()
                totals = totals._replace(frames=totals.frames + 1, watermark=max(to, totals.watermark))
                parts.append(encode_mark(FrameKind.WATERMARK, totals, said))
                changed.update(said)
            outcomes.append(totals.watermark)
            continue
        known = _answered(operation.key, keys, now)
        if known is not None:
            outcomes.append(known)
        elif totals.watermark == END:
            outcomes.append(Conflict("the stream has ended: nothing can be appended to it"))
        else:
            if wanted.elements:
                if run and sum(stamped.text for stamped in run) + wanted.text > _FRAME_BYTES:
                    close_run()
                ceiling = None if operation.partition is None else least(reached, but=operation.partition)
                run.append(_stamp(equal.tell_apart(wanted), settings, now, totals, ceiling))
                totals = run[-1].after
                heard[operation.partition] = totals.elements
                if operation.partition is not None:
                    further = raised(reached, {operation.partition: watermark_after(run[-1].latest, settings)})
                    reached |= further
                    placed.update(as_positions(further))
            placed.update(operation.positions)
            watermark = None if totals.watermark == BEFORE_ALL else totals.watermark
            outcomes.append(AppendReceipt(wanted.elements, wanted.triples, watermark))
            if operation.key is not None and wanted.elements:
                at = now if operation.at is None else operation.at
                keyed.append(KeyedRequest(*operation.key, at, wanted.elements, wanted.triples, totals.watermark))
                keys.note(keyed[-1])
    close_run()
    return CommitGroup(parts, outcomes, totals, changed, reached, heard)


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
