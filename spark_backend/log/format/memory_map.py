"""Segments as a reader sees them: mapped into memory, and remapped as the last one grows."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from spark_backend.log.format.frame import ALIGNMENT, HEADER_BYTES, FrameKind, Gap, Header, is_whole, walk
from spark_backend.log.format.rows import decode_rows
from spark_backend.log.format.segment import segment_path


class MappedSegment:
    """One segment. What was read from it stays valid after it grows, is deleted or this object is gone.

    The file is open for as long as it may grow, which ``seal`` ends; a map of it is there without a descriptor.

    Raises FileNotFoundError if the segment has been deleted, another OSError if it cannot be read.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self._path = segment_path(directory, number)
        self._sealed_at: int | None = None
        file = self._path.open("rb", buffering=0)
        self._descriptor = file.fileno()
        self.close = weakref.finalize(self, file.close)
        """Close the file; done at the latest when the segment is gone. The maps stay while they are used."""
        self._whole = bytearray()
        self._map()

    @property
    def size(self) -> int:
        """Length of the file: for a segment that is no longer written, the end of its last frame."""
        return os.fstat(self._descriptor).st_size if self._sealed_at is None else self._sealed_at

    def seal(self) -> None:
        """Nothing is written to it any more: what has come since it was mapped is mapped, and its file closed."""
        if self._sealed_at is None:
            size = self.size
            if size > len(self._view):
                self._map()
            self._sealed_at = size
            self.close()

    def data(self, end: int) -> memoryview:
        """The bytes before ``end``; fewer if the file is shorter."""
        if end > len(self._view) < self.size:
            self._map()
        return self._view[: min(end, len(self._view))]

    def rows(self, offset: int, header: Header) -> pa.RecordBatch | None:
        """The rows (columns of STORED) of a frame of elements, over the mapped bytes; None if they are damaged.

        Its checksum is looked at when it is read for the first time.
        """
        place, bit = divmod(offset // ALIGNMENT, 8)
        if not self._whole[place] & 1 << bit:
            if not is_whole(self._view, offset, header):
                return None
            self._whole[place] |= 1 << bit
        return decode_rows(self._buffer.slice(offset + HEADER_BYTES, header.length))

    def frames(self, start: int, end: int) -> Iterator[tuple[int, Header]]:
        """Offsets and headers of the frames of elements in [start, end); without those whose header is damaged."""
        for found in walk(self.data(end), start, end):
            if not isinstance(found, Gap) and found[1].kind is FrameKind.ELEMENTS:
                yield found

    def read(self, start: int, end: int) -> Iterator[tuple[int, Header, pa.RecordBatch | None]]:
        """These frames, each with its rows; None where they are damaged."""
        for offset, header in self.frames(start, end):
            yield offset, header, self.rows(offset, header)

    def _map(self) -> None:
        # Never closed by hand: Arrow buffers and views refer to it for as long as someone needs them.
        self._buffer = self._mapped() if self.size else pa.py_buffer(b"")
        self._view = memoryview(self._buffer).cast("B")
        # One bit for each place where a frame can begin: whether the one there is known to be whole.
        self._whole.extend(bytes(max(0, len(self._view) // (8 * ALIGNMENT) + 1 - len(self._whole))))

    def _mapped(self) -> pa.Buffer:
        # Arrow's maps live without a descriptor, where one of Python's has its own for as long as it is used: a log of
        # a thousand segments, the rows of which a window holds, would have a thousand files open.
        try:
            with pa.memory_map(str(self._path)) as source:
                return source.read_buffer()
        except FileNotFoundError:  # deleted, and still open here
            return pa.py_buffer(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ))
