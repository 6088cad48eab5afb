"""Opening a log for writing: what its files say, after a clean end or a crash."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from protocol.errors import Unavailable
from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.timeline import END
from spark_backend.log.format.manifest import Manifest
from spark_backend.log.format.segment import (
    ActiveSegment,
    RecoveredSegment,
    opening_totals,
    recover,
    remove_segments,
    sealed_bytes,
    segment_numbers,
    segment_path,
)
from spark_backend.log.format.stamp import Totals
from spark_backend.log.retention import Retention, SealedSegment

_LOGGER = logging.getLogger(__name__)


class ReopenedLog(NamedTuple):
    """A log ready to be appended to."""

    active: ActiveSegment
    retention: Retention
    retained_from: Instant
    totals: Totals
    generation: int


def reopen(directory: Path, settings: StreamSettings, published: Manifest | None) -> ReopenedLog:
    """The log in a directory, its torn tail cut off; a new one if there is none.

    ``published`` is the last manifest, where that survived. Raises Unavailable if a segment is damaged
    where no crash of the writer can have damaged it.
    """
    numbers = segment_numbers(directory)
    retention = Retention(settings)
    generation = published.generation if published else 1
    if published is not None and published.dropped:
        # The deletion was cut short.
        remove_segments(directory)
        numbers, published, generation = [], None, generation + 1
    last = _last_whole(directory, numbers, published)
    if last is None:
        active = ActiveSegment.create(directory, 1, Totals(), [])
        return ReopenedLog(active, retention, BEFORE_ALL, Totals(), generation)
    kept = _unbroken(directory, numbers)
    opening = [opening_totals(segment_path(directory, number)) for number in kept]
    for number, following in zip(kept, opening[1:], strict=False):
        retention.seal(SealedSegment(number, sealed_bytes(segment_path(directory, number)), following.last))
    active = ActiveSegment.reopen(directory, kept[-1], last.committed)
    if published is not None and last.after.frames < published.totals.frames:
        _LOGGER.warning(
            "stream log %s: %s is damaged at byte %d, and %d committed elements from there on are lost",
            directory.name, active.number, last.committed, published.totals.elements - last.after.elements,
        )  # fmt: skip
        generation += 1
    return ReopenedLog(active, retention, opening[0].last, _with_clock(last.after, settings, published), generation)


def _last_whole(directory: Path, numbers: list[int], published: Manifest | None) -> RecoveredSegment | None:
    """Scan the last segment. One that was just being created (not yet in a manifest) is taken off ``numbers``."""
    while numbers:
        path = segment_path(directory, numbers[-1])
        recovered = recover(path)
        if recovered is not None:
            return recovered
        if published and published.last_segment >= numbers[-1]:
            raise Unavailable(f"the stream log {directory.name} is damaged: {path.name} cannot be read from its start")
        path.unlink()
        numbers.pop()
    return None


def _unbroken(directory: Path, numbers: list[int]) -> list[int]:
    """The segments without a gap up to the last; older ones are left from a deletion that a crash cut short."""
    first = len(numbers) - 1
    while first and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    for number in numbers[:first]:
        segment_path(directory, number).unlink()
    return numbers[first:]


def _with_clock(totals: Totals, settings: StreamSettings, published: Manifest | None) -> Totals:
    """An arrival stream's watermark moves with the clock between frames: then only the manifest has it."""
    if settings.time is TimeKind.ARRIVAL and published is not None and published.totals.watermark < END:
        return totals._replace(watermark=max(totals.watermark, published.totals.watermark))
    return totals
