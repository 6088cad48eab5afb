"""Segment files: their names, the one being written, and what is left of it after a crash.

The file being written is longer than what is committed in it: space is reserved ahead (a hole, no
blocks), so that a reader's memory map of it stays good while it grows. The rest reads as zeros.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from protocol.errors import Unavailable
from spark_backend.files import sync_directory
from spark_backend.log.format.frame import HEADER_BYTES, FrameKind, decode_header, encode_mark, verify
from spark_backend.log.format.stamp import Totals

_SUFFIX = ".segment"
_SMALLEST_RESERVATION = 64 * 1024
_PARTS_PER_WRITE = 512  # below IOV_MAX, which is 1024 on Linux and macOS


def segment_path(directory: Path, number: int) -> Path:
    """The file of a segment; segments are numbered from 1."""
    return directory / f"{number:010d}{_SUFFIX}"


def segment_numbers(directory: Path) -> list[int]:
    """The numbers of the segments there, ascending."""
    return sorted(int(path.stem) for path in directory.glob(f"*{_SUFFIX}") if path.stem.isdecimal())


def remove_segments(directory: Path) -> None:
    """Delete all segments there."""
    for number in segment_numbers(directory):
        segment_path(directory, number).unlink()


class ActiveSegment:
    """The segment being written. ``committed``: its length as far as it is durable and whole."""

    def __init__(self, directory: Path, number: int, descriptor: int, committed: int) -> None:
        self.number = number
        self.committed = committed
        self._directory = directory
        self._descriptor = descriptor
        self._reserved = os.fstat(descriptor).st_size
        self._clean = True

    @classmethod
    def create(cls, directory: Path, number: int, before: Totals, parts: Sequence[bytes | pa.Buffer]) -> ActiveSegment:
        """A new segment with these frames, durable. On OSError there is none."""
        path = segment_path(directory, number)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        segment = cls(directory, number, descriptor, 0)
        try:
            segment.append([encode_mark(FrameKind.OPEN, before), *parts])
            sync_directory(directory)
        except BaseException:
            segment.close()
            path.unlink(missing_ok=True)
            raise
        return segment

    @classmethod
    def reopen(cls, directory: Path, number: int, committed: int) -> ActiveSegment:
        """An existing segment, cut to its committed length."""
        descriptor = os.open(segment_path(directory, number), os.O_RDWR | os.O_CLOEXEC)
        segment = cls(directory, number, descriptor, committed)
        if segment._reserved > committed:
            segment._cut()
        return segment

    def append(self, parts: Sequence[bytes | pa.Buffer]) -> None:
        """Write the parts one behind the other and make them durable. On OSError none of them is in the log."""
        if not self._clean:
            self._cut()
        size = sum(len(part) for part in parts)
        try:
            self._reserve(self.committed + size)
            _write(self._descriptor, parts, self.committed)
            os.fsync(self._descriptor)
        except BaseException:
            self._clean = False
            try:
                self._cut()
            except OSError:
                # The next append tries again first, and fails if it still cannot be done.
                self._clean = False
            raise
        self.committed += size

    @property
    def empty(self) -> bool:
        """Whether there is no frame but the OPEN."""
        return self.committed <= HEADER_BYTES

    def trim(self) -> None:
        """Give back the space reserved. A crash of the machine may undo that: see ``sealed_bytes``."""
        if not self._clean:
            self._cut()
        elif self._reserved != self.committed:
            os.ftruncate(self._descriptor, self.committed)
            self._reserved = self.committed

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _reserve(self, size: int) -> None:
        if size > self._reserved:
            reservation = max(_SMALLEST_RESERVATION, 1 << (size - 1).bit_length())
            os.ftruncate(self._descriptor, reservation)
            self._reserved = reservation

    def _cut(self) -> None:
        os.ftruncate(self._descriptor, self.committed)
        self._reserved = self.committed
        # Durable, or what a failed write left behind could come back after a crash of the machine.
        os.fsync(self._descriptor)
        self._clean = True


class RecoveredSegment(NamedTuple):
    """The whole frames at the start of a segment: ``committed`` bytes, and the totals after them."""

    committed: int
    after: Totals


def recover(path: Path) -> RecoveredSegment | None:
    """Scan a segment and check every frame. None if not even its first is whole."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < HEADER_BYTES:
            return None
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            return _scan(data)


def sealed_bytes(path: Path) -> int:
    """The length of a segment that is no longer written, without what is still reserved behind its last frame."""
    with path.open("rb+") as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            end = 0
            while (header := decode_header(data, end)) is not None:
                end += header.size
            # Anything but zeros was a frame once: it stays, and who reads it is told of the damage.
            reserved = end < size and mapped[end:].count(0) == size - end
        if reserved:
            os.ftruncate(file.fileno(), end)
        return end if reserved else size


def opening_totals(path: Path) -> Totals:
    """The totals of all segments before this one, from its first frame. Unavailable if that is damaged."""
    with path.open("rb") as file:
        data = file.read(HEADER_BYTES)
    header = decode_header(data, 0)
    if header is None or header.kind is not FrameKind.OPEN or not verify(memoryview(data), 0, header):
        raise Unavailable(f"the stream log is damaged: {path.name} does not begin as a segment does")
    return header.after


def _scan(data: memoryview) -> RecoveredSegment | None:
    header = decode_header(data, 0)
    if header is None or header.kind is not FrameKind.OPEN or not verify(data, 0, header):
        return None
    offset, after = header.size, header.after
    while True:
        header = decode_header(data, offset)
        # The sequence number tells a frame of this log from one left over by an earlier use of the bytes.
        if header is None or header.after.frames != after.frames + 1 or not verify(data, offset, header):
            return RecoveredSegment(offset, after)
        offset, after = offset + header.size, header.after


def _write(descriptor: int, parts: Sequence[bytes | pa.Buffer], offset: int) -> None:
    """All of the parts at the offset; a write may take fewer bytes than it was given."""
    pending = [memoryview(part).cast("B") for part in parts if len(part)]
    while pending:
        written = os.pwritev(descriptor, pending[:_PARTS_PER_WRITE], offset)
        if not written:
            raise OSError("the file system took none of the bytes written")
        offset += written
        done = 0
        while done < len(pending) and written >= len(pending[done]):
            written -= len(pending[done])
            done += 1
        pending = pending[done:]
        if written:
            pending[0] = pending[0][written:]
