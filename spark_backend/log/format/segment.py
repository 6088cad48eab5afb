"""Segment files: their names, the one being written, and what is left of it after a crash.

The file being written is longer than what is committed in it: space is reserved ahead (a hole, no
blocks), so that a reader's memory map of it stays good while it grows. The rest reads as zeros.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pyarrow as pa

from protocol.processes.durable_files import sync_directory
from spark_backend.log.format.frame import HEADER_BYTES, FrameKind, decode_header, encode_mark
from spark_backend.log.format.positions import Positions
from spark_backend.log.format.stamp import Totals

_SUFFIX = ".segment"
_SMALLEST_RESERVATION = 64 * 1024
_CHUNK = 64 * 1024
_PARTS_PER_WRITE = 512  # below IOV_MAX, which is 1024 on Linux and macOS


def segment_name(number: int) -> str:
    """The name of a segment's file; segments are numbered from 1."""
    return f"{number:010d}{_SUFFIX}"


def segment_path(directory: Path, number: int) -> Path:
    """The file of a segment."""
    return directory / segment_name(number)


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
        self._opening = HEADER_BYTES
        self._clean = True

    @classmethod
    def create(
        cls,
        directory: Path,
        number: int,
        before: Totals,
        parts: Sequence[bytes | pa.Buffer],
        positions: Positions | None = None,
    ) -> ActiveSegment:
        """A new segment with these frames, durable; ``positions``: those before them. On OSError there is none."""
        path = segment_path(directory, number)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        segment = cls(directory, number, descriptor, 0)
        try:
            opening = encode_mark(FrameKind.OPEN, before, positions)
            segment._opening = len(opening)
            segment.append([opening, *parts])
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
        header = decode_header(os.pread(descriptor, HEADER_BYTES, 0), 0)
        segment._opening = HEADER_BYTES if header is None else header.size
        return segment

    def append(self, parts: Sequence[bytes | pa.Buffer]) -> None:
        """Write the parts one behind the other and make them durable. On OSError none of them is in the log."""
        self._require_there()
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

    def _require_there(self) -> None:
        """What is written to a file that was deleted or moved away is durable, and found by nobody. Raises OSError."""
        path = segment_path(self._directory, self.number)
        try:
            there = os.path.samestat(os.stat(path), os.fstat(self._descriptor))
        except FileNotFoundError:
            there = False
        if not there:
            raise FileNotFoundError(
                errno.ENOENT, f"{path} is not there any more: bring it back, or start the server anew"
            )

    @property
    def empty(self) -> bool:
        """Whether there is no frame but the OPEN."""
        return self.committed <= self._opening

    def trim(self) -> None:
        """Give back the space reserved. A crash of the machine may undo that: see ``reopen``."""
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


def opening_totals(path: Path) -> Totals | None:
    """The totals of all segments before this one, from its first frame; None if that is damaged."""
    with path.open("rb") as file:
        header = decode_header(file.read(HEADER_BYTES), 0)
    return None if header is None or header.kind is not FrameKind.OPEN else header.after


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """The bytes of a segment, for reading."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped
            yield memoryview(b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as bytes_of, memoryview(bytes_of) as data:
            yield data


def has_content(path: Path, start: int) -> bool:
    """Whether a segment has anything but zeros from a byte on."""
    with mapped(path) as data:
        return any(any(data[place : place + _CHUNK]) for place in range(start, len(data), _CHUNK))


def set_aside(path: Path, start: int) -> Path | None:
    """Copy what a segment has from a byte on into a file beside it, durably; None if that is nothing but zeros, or was
    done before: what came after it may have failed.
    """
    if not has_content(path, start):
        return None
    for attempt in count(1):
        aside = path.with_name(f"{path.name}.cut-{attempt}")
        try:
            with mapped(path) as data, aside.open("xb") as file:
                try:
                    file.write(data[start:])
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    aside.unlink()  # on a full disk, what there was of it would be in the way
                    raise
        except FileExistsError:
            with mapped(path) as data, mapped(aside) as kept:
                if data[start:] == kept:
                    return None
            continue
        break
    sync_directory(path.parent)
    return aside


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
