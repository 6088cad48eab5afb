"""Segments as a reader sees them: mapped into memory, and remapped as the last one grows."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from protocol.errors import Unavailable
from spark_backend.log.format.frame import HEADER_BYTES, FrameKind, Header, walk
from spark_backend.log.format.rows import decode_rows
from spark_backend.log.format.segment import segment_path


class MappedSegment:
    """One segment. What was read from it stays valid after it grows, is deleted or this object is gone.

    Raises FileNotFoundError if the segment has been deleted.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self._descriptor = os.open(segment_path(directory, number), os.O_RDONLY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self._descriptor)
        """Close the file; done at the latest when the segment is gone. The maps stay while they are used."""
        self._map()

    @property
    def size(self) -> int:
        """Length of the file: for a segment that is no longer written, the end of its last frame."""
        return os.fstat(self._descriptor).st_size

    def frames(self, start: int, end: int) -> Iterator[tuple[int, Header]]:
        """Offsets and headers of the frames of elements in [start, end), which must be committed."""
        self._reach(end)
        for offset, header in walk(self._view, start, end):
            if header.kind is FrameKind.ELEMENTS:
                yield offset, header

    def read(self, start: int, end: int) -> Iterator[tuple[Header, pa.RecordBatch]]:
        """The frames of elements in [start, end) and their rows (columns of STORED), over the mapped bytes."""
        for offset, header in self.frames(start, end):
            payload = self._buffer.slice(offset + HEADER_BYTES, header.length)
            yield header, decode_rows(payload)

    def _reach(self, end: int) -> None:
        if end > len(self._view):
            self._map()
            if end > len(self._view):
                raise Unavailable(f"the stream log is damaged: segment {self.number} ends before byte {end}")

    def _map(self) -> None:
        # Never closed by hand: Arrow buffers and views refer to it for as long as someone needs them.
        mapped = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ)
        self._view = memoryview(mapped)
        self._buffer = pa.py_buffer(mapped)
