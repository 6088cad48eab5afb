"""Opening a log for writing: what its files say, after a clean end, a crash or damage (docs/operations.md, "Damage").

Nothing that may have been acknowledged is deleted. What is cut off is what a crash left at the end of the last segment,
behind all that the manifest says is committed; if that is more than zeros, it is kept in a file. Where a segment has
lost its end, it stays as it is, and the log goes on in a new one, with the totals that the manifest has.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from protocol.processes.durable_files import sync_directory
from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.timeline import END
from spark_backend.log.damage import Damage, SegmentPart, frame_damage, frames, lost_files, note_lost_files
from spark_backend.log.format.frame import (
    HEADER_BYTES,
    FrameKind,
    Gap,
    Header,
    decode_header,
    is_whole,
    positions_of,
    walk,
)
from spark_backend.log.format.keys import KeyedRequest, decode_keys
from spark_backend.log.format.manifest import MANIFEST, Manifest, decode_manifest
from spark_backend.log.format.positions import merged
from spark_backend.log.format.segment import (
    ActiveSegment,
    has_content,
    mapped,
    remove_segments,
    segment_numbers,
    segment_path,
    set_aside,
)
from spark_backend.log.format.stamp import Totals
from spark_backend.log.retention import Retention, SealedSegment

_LOGGER = logging.getLogger(__name__)


class ReopenedLog(NamedTuple):
    """A log ready to be appended to. ``damage``: what of it is known not to be readable; ``keyed``: requests with
    keys; ``positions``: see ``StreamLog.positions``.
    ``without_manifest``: that was missing or damaged, and the segments are all there is to know it by.
    """

    active: ActiveSegment
    retention: Retention
    retained_from: Instant
    totals: Totals
    generation: int
    damage: list[Damage]
    keyed: list[KeyedRequest]
    positions: dict[str, bytes]
    without_manifest: bool = False


def reopen(
    directory: Path, settings: StreamSettings, published: Manifest | None, now: Instant, *, known: bool
) -> ReopenedLog:
    """The log in a directory, its torn tail cut off; a new one if there is none.

    ``published`` is the last manifest, where that survived; ``now`` is the clock's time. ``known``: there was a log, so
    that having no files is damage. Raises OSError if a file that is there cannot be read.
    """
    if published is not None and is_of_another_log(directory, published):
        _LOGGER.warning("stream log %s: its manifest is another log's, and made anew", directory.name)
        published = None
    generation = published.generation if published else 1
    if published is not None and published.dropped:
        # The deletion was cut short.
        remove_segments(directory)
        published, generation = None, generation + 1
    numbers = _segments(directory, published)
    if not numbers and (published is None or not published.totals.frames):
        if known and published is None:
            note_lost_files(directory)
        active = ActiveSegment.create(directory, published.last_segment + 1 if published else 1, Totals(), [])
        gone = lost_files(directory, active.number)
        return _said(
            directory, ReopenedLog(active, Retention(settings), BEFORE_ALL, Totals(), generation, gone, [], {})
        )
    survey = _Survey(directory, numbers, published)
    after, damage = survey.after, survey.damage
    positions = survey.positions(directory)
    first = _first(numbers, published, survey, settings, now)
    if published is not None and first > published.first_segment:
        damage = [one for one in damage if one.segment >= first]
    elif published is None and numbers and first < numbers[0]:
        latest = survey.openings[numbers[0]].last
        damage.insert(0, Damage(first, 0, "the file is missing", 0, None, 0, 0, BEFORE_ALL, latest, latest))
    if published is not None and (not survey.committed or after.frames < published.totals.frames):
        # What is there of the last segment stays as it is.
        after, generation = published.totals, generation + 1
        active = ActiveSegment.create(directory, max([*numbers, published.last_segment]) + 1, after, [], positions)
    else:
        _set_aside(segment_path(directory, numbers[-1]), survey.committed, published)
        active = ActiveSegment.reopen(directory, numbers[-1], survey.committed)
    damage = [*lost_files(directory, first), *damage]
    retention = Retention(settings)
    for segment in _sealed(directory, range(first, active.number), survey, after):
        retention.seal(segment)
    opening = survey.openings.get(first)
    retained_from = opening.last if opening else published.retained_from if published else BEFORE_ALL
    totals = _with_clock(after, settings, published)
    anew = known and published is None
    return _said(
        directory,
        ReopenedLog(active, retention, retained_from, totals, generation, damage, survey.keyed, positions, anew),
    )


def is_of_another_log(directory: Path, manifest: Manifest) -> bool:
    """Whether a manifest contradicts the segments beside it: it says of other files what is committed in them."""
    numbers = segment_numbers(directory)
    if manifest.dropped or not numbers:
        return False
    # What was acknowledged last may be lost, and with it a file; but not all that it says are there.
    if numbers[-1] < manifest.first_segment:
        return True
    for number in numbers:
        try:
            with mapped(segment_path(directory, number)) as data:
                if number < manifest.last_segment:
                    opening = decode_header(data, 0)
                    if opening is not None and not manifest.totals.follows(opening.after):
                        return True
                elif number == manifest.last_segment and not _ends_as_said(data, manifest):
                    return True
        except OSError:
            continue  # retention has taken it meanwhile, or it is said elsewhere
    return False


def _ends_as_said(data: memoryview, manifest: Manifest) -> bool:
    """Whether the frame at the end of what is committed, if it is there, says what the manifest says."""
    for found in walk(data, 0, len(data)):
        if isinstance(found, Gap):
            continue
        offset, header = found
        end = offset + header.size
        if end == manifest.committed:
            return header.after.frames == manifest.totals.frames and manifest.totals.follows(header.after)
        if end > manifest.committed:
            return offset >= manifest.committed
        if not manifest.totals.follows(header.after):
            return False
    return True


def _segments(directory: Path, published: Manifest | None) -> list[int]:
    """The numbers of the segments, without those that were just being deleted or created."""
    numbers = segment_numbers(directory)
    while published is not None and numbers and numbers[0] < published.first_segment:
        segment_path(directory, numbers.pop(0)).unlink()
    while numbers and (published is None or numbers[-1] > published.last_segment):
        path = segment_path(directory, numbers[-1])
        with mapped(path) as data:
            if any(not isinstance(found, Gap) for found in walk(data, 0, len(data))):
                break
        _set_aside(path, 0, published)
        path.unlink()
        numbers.pop()
    return numbers


class _Survey:
    """What the segments of a log have, by their frames. Those of the last segment are looked at as a whole.

    ``committed``: the end of the last frame in it that is whole or was acknowledged, 0 if there is none; ``after``: the
    totals there.
    ``openings``: of each segment whose first frame is whole, what the log had had before it. ``ends``: of each
    segment, the end of its last frame.
    """

    def __init__(self, directory: Path, numbers: list[int], published: Manifest | None) -> None:
        self.committed = 0
        self.after = Totals()
        self.openings: dict[int, Totals] = {}
        self.ends: dict[int, int] = {}
        self.damage: list[Damage] = []
        self.keyed: list[KeyedRequest] = []
        self._placed: list[tuple[int, int, Header]] = []
        acknowledged = published.totals.frames if published is not None else 0
        first = published.first_segment if published is not None else numbers[0]
        last = max([*numbers, published.last_segment if published is not None else 0])
        torn: list[Damage] = []
        parts = self._parts(directory, numbers, range(first, last + 1))
        for one in frames(parts, Totals() if first == 1 else None, published.totals if published else None):
            if isinstance(one, Damage):
                self.damage += [*torn, one]
                torn.clear()
                continue
            number, offset, header = one
            self.ends[number] = offset + header.size
            if header.kind is FrameKind.OPEN:
                self.openings[number] = header.after
            if header.positions or header.kind is FrameKind.OPEN:
                self._placed.append((number, offset, header))
            whole = (number < numbers[-1] and not header.keys) or is_whole(self._data, offset, header)
            if number == numbers[-1] and not whole:
                torn.append(frame_damage(number, offset, header))
                if header.after.frames > acknowledged:
                    continue  # unless a whole one follows
            self.damage += torn
            torn.clear()
            self.after = header.after
            if header.keys and whole:
                begin = offset + HEADER_BYTES
                self.keyed += decode_keys(pa.py_buffer(bytes(self._data[begin : begin + header.length])))
            if number == numbers[-1]:
                self.committed = offset + header.size

    def positions(self, directory: Path) -> dict[str, bytes]:
        """The positions after all frames that are whole: those of the last segment whose first frame is, and since."""
        changes: list[dict[str, bytes]] = []
        for number, offset, header in reversed(self._placed):
            with mapped(segment_path(directory, number)) as data:
                if not is_whole(data, offset, header):
                    continue
                begin = offset + HEADER_BYTES
                changes.append(positions_of(pa.py_buffer(bytes(data[begin : begin + header.length])), header))
            if header.kind is FrameKind.OPEN:
                break
        return reduce(merged, reversed(changes), {})

    def _parts(self, directory: Path, present: list[int], numbers: range) -> Iterator[SegmentPart]:
        for number in numbers:
            if number not in present:
                yield SegmentPart(number, None, 0, 0)
                continue
            with mapped(segment_path(directory, number)) as self._data:
                yield SegmentPart(number, self._data, 0, len(self._data))


def _first(
    numbers: list[int], published: Manifest | None, survey: _Survey, settings: StreamSettings, clock: Instant
) -> int:
    """The number of the first segment that there is, or that should be there: retention has taken those before it.

    Of what it has taken last, a manifest that was not yet stored knows nothing.
    """
    if not numbers:
        assert published is not None
        return published.first_segment
    opening = survey.openings.get(numbers[0])
    totals = survey.after
    now = totals.last if totals.watermark == END else totals.watermark
    if settings.time is TimeKind.ARRIVAL and totals.watermark < END:
        # Between frames the clock has moved it, and retention with it.
        now = max(now, clock - 1)
    if opening is None or not opening.frames or opening.last < now - settings.retention:
        return numbers[0]
    return published.first_segment if published is not None else numbers[0] - 1


def _sealed(directory: Path, numbers: range, survey: _Survey, after: Totals) -> list[SealedSegment]:
    """The segments before the active one, those that are missing among them. Space reserved behind frames is given
    back.
    """
    sealed: list[SealedSegment] = []
    latest = after.last
    damaged = {damage.segment for damage in survey.damage}
    for number in reversed(numbers):
        path = segment_path(directory, number)
        size = path.stat().st_size if path.exists() else 0
        end = survey.ends.get(number, size)
        # Anything but zeros was a frame once: it stays.
        if end < size and number not in damaged and not has_content(path, end):
            os.truncate(path, end)
            size = end
        sealed.append(SealedSegment(number, size, latest))
        latest = survey.openings[number].last if number in survey.openings else latest
    return sealed[::-1]


def _set_aside(path: Path, start: int, published: Manifest | None) -> None:
    aside = set_aside(path, start)
    if aside is not None:
        _LOGGER.warning(
            "stream log %s: what is behind byte %d of %s is not whole and %s; it is kept in %s",
            path.parent.name, start, path.name,
            "may not have been acknowledged" if published is None else "was not acknowledged", aside.name,
        )  # fmt: skip


def _said(directory: Path, reopened: ReopenedLog) -> ReopenedLog:
    for damage in reopened.damage:
        _LOGGER.error("a stream's log is damaged: %s", damage.described(directory.name))
    return reopened


def _with_clock(totals: Totals, settings: StreamSettings, published: Manifest | None) -> Totals:
    """An arrival stream's watermark moves with the clock between frames: then only the manifest has it."""
    if settings.time is TimeKind.ARRIVAL and published is not None and published.totals.watermark < END:
        return totals._replace(watermark=max(totals.watermark, published.totals.watermark))
    return totals


def is_dropped(directory: Path) -> bool:
    """Whether the files of a log say that it was dropped, so that nobody misses them."""
    try:
        manifest = decode_manifest((directory / MANIFEST).read_bytes())
    except OSError:
        return False
    return manifest is not None and bool(manifest.dropped)


def delete_log(directory: Path) -> None:
    """Delete a log with its directory; first its elements, for as long as it says that it was dropped."""
    remove_segments(directory)
    shutil.rmtree(directory)
    sync_directory(directory.parent)


def has_elements(directory: Path) -> bool:
    """Whether the files of a log that nobody has open have any element, as far as can be told."""
    for number in reversed(segment_numbers(directory)):
        try:
            with mapped(segment_path(directory, number)) as data:
                if any(not isinstance(found, Gap) and found[1].after.elements for found in walk(data, 0, len(data))):
                    return True
        except OSError:
            return True
    return False
