"""Damage in a log's files: where it is, what is lost by it, and which windows it may concern.

Headers count what a log has had up to them, so what is missing between two of them is known by number however it came
to be missing: frames that are not whole, the end of a file, a whole file (docs/operations.md, "Damage").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from protocol.streams import StreamDamage
from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.frame import HEADER_BYTES, Buffer, Gap, Header, walk
from spark_backend.log.format.segment import segment_name
from spark_backend.log.format.stamp import Totals


class Damage(NamedTuple):
    """Elements of a log that cannot be read. ``segment``, ``offset``: where they begin, or began.

    ``before``: how many elements the log had had before them, at least. ``elements`` is None where it is not known
    how many,
    ``empty`` is how many of them have no triples. ``earliest`` and ``latest`` are bounds of their times (BEFORE_ALL:
    unknown); those that were not late are after ``begin``, or at it.
    """

    segment: int
    offset: int
    what: str
    before: int
    elements: int | None
    triples: int
    empty: int
    earliest: Instant
    begin: Instant
    latest: Instant

    def reaches(self, after: Instant, upto: Instant) -> bool:
        """Whether elements with after < time <= upto may be among those that are lost."""
        return self.elements != 0 and self.latest > after and self.earliest <= upto

    def described(self, log: str) -> StreamDamage:
        """As it is told; ``log``: the name of the log's directory."""
        return StreamDamage(
            f"streams/{log}/{segment_name(self.segment)}",
            self.offset,
            self.what,
            self.elements,
            None if self.earliest == BEFORE_ALL else self.earliest,
            None if self.latest == BEFORE_ALL else self.latest,
        )


_BEGUN_ANEW = "begun-anew"
"""A file beside the segments of a log that had lost all its files: nothing else remembers that it had any."""


def note_lost_files(directory: Path) -> None:
    """Remember that a log has lost all its files; durable with whatever file is made there next."""
    (directory / _BEGUN_ANEW).touch()


def lost_files(directory: Path, first_segment: int) -> list[Damage]:
    """That a log had lost all its files, until retention has taken the first segment of those it has had since."""
    if first_segment > 1 or not (directory / _BEGUN_ANEW).exists():
        return []
    return [Damage(1, 0, "all files of the log were lost: it began anew", 0, None, 0, 0, *3 * [BEFORE_ALL])]


class Place(NamedTuple):
    """A frame in a log."""

    segment: int
    offset: int
    header: Header


class SegmentPart(NamedTuple):
    """What is to be looked through of a segment: its bytes [start, end).

    ``data`` is None where they cannot be had, and ``missing`` says why; None: retention has taken the file.
    """

    number: int
    data: Buffer | None
    start: int
    end: int
    missing: str | None = "the file is missing"


def frame_damage(segment: int, offset: int, header: Header) -> Damage:
    """The elements of a frame whose payload does not match its checksum."""
    return Damage(
        segment,
        offset,
        "the checksum of a frame does not match",
        header.before.elements,
        header.elements,
        header.triples,
        header.rows - header.triples,
        header.earliest,
        header.earliest,
        header.latest,
    )


def frames(parts: Iterable[SegmentPart], before: Totals | None, upto: Totals | None) -> Iterator[Place | Damage]:
    """The frames in consecutive parts of a log, and what is missing between them.

    ``before``: what the log had had before the first part; None: whatever the first frame says. ``upto``: what it
    has had at their end, None: whatever is there.
    """
    lost: _Lost | None = None
    ends = _Lost(0, 0, "")
    for part in parts:
        number = part.number
        if part.data is None:
            # Where retention has taken files meanwhile, what follows says what was before it.
            before, lost = (None, None) if part.missing is None else (before, lost or _Lost(number, 0, part.missing))
            continue
        if part.start == 0 and len(part.data) < HEADER_BYTES:
            lost = lost or _Lost(number, 0, "the file is cut off")
        for found in walk(part.data, part.start, part.end):
            if isinstance(found, Gap):
                lost = lost or _Lost(number, found.start, "there is no whole frame")
                continue
            offset, header = found
            if before is not None and before.frames < header.before.frames:
                yield _between(lost or ends, before, header.before)
            elif before is None and lost is not None and (lost.segment < number or offset > HEADER_BYTES):
                # How many there were is not known. The first frame of a segment, if it is all that is lost, has none.
                yield Damage(*lost, 0, None, 0, 0, BEFORE_ALL, header.after.last, header.after.last)
            elif lost is not None and (lost.segment, lost.offset) == (number, 0):
                yield _without_elements(lost, header.before)
            before, lost = header.after, None
            yield Place(number, offset, header)
            ends = _Lost(number, offset + header.size, "the file is cut off")
    if upto is not None:
        if before is not None and before.frames < upto.frames:
            yield _between(lost or ends, before, upto)
        elif before is None and lost is not None and upto.frames:
            yield Damage(*lost, 0, None, 0, 0, BEFORE_ALL, upto.last, upto.last)
        elif lost is not None and lost.offset == 0:
            yield _without_elements(lost, upto)


class _Lost(NamedTuple):
    """Where something begins to be missing, and how."""

    segment: int
    offset: int
    what: str


def _without_elements(place: _Lost, before: Totals) -> Damage:
    """The first frame of a segment, which says what was before it: others say it as well."""
    return Damage(*place, before.elements, 0, 0, 0, *3 * [before.last])


def _between(place: _Lost, before: Totals, after: Totals) -> Damage:
    """What the log has had after ``before``, up to ``after``. Without late ones, these came after the watermark."""
    begin = after.first if before.watermark == BEFORE_ALL else before.watermark + 1
    return Damage(
        *place,
        before.elements,
        after.elements - before.elements,
        after.triples - before.triples,
        after.empty - before.empty,
        BEFORE_ALL if after.late > before.late else begin,
        min(begin, after.last),
        after.last,
    )
