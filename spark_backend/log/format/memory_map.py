"""Segments as a reader sees them: mapped into memory, and remapped as the last one grows."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from spark_backend.log.format.frame import ALIGNMENT, HEADER_BYTES, FrameKind, Gap, Header, is_whole, walk
from spark_backend.log.format.keys import KeyedRequest, decode_keys
from spark_backend.log.format.rows import decode_rows
from spark_backend.log.format.segment import segment_path


class MappedSegment:
    """One segment. What was read from it stays valid after it grows, is deleted or this object is gone.

    Raises FileNotFoundError if the segment has been deleted, another OSError if it cannot be read.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        file = segment_path(directory, number).open("rb", buffering=0)
        self._descriptor = file.fileno()
        self.close = weakref.finalize(self, file.close)
        """Close the file; done at the latest when the segment is gone. The maps stay while they are used."""
        self._whole = bytearray()
        self._map()

    @property
    def size(self) -> int:
        """Length of the file: for a segment that is no longer written, the end of its last frame."""
        return os.fstat(self._descriptor).st_size

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

    def keys(self, offset: int, header: Header) -> list[KeyedRequest]:
        """The requests with idempotency keys of a frame that is whole."""
        return decode_keys(self._buffer.slice(offset + HEADER_BYTES, header.length))

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
        mapped = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ) if self.size else b""
        self._view = memoryview(mapped)
        self._buffer = pa.py_buffer(mapped)
        # One bit for each place where a frame can begin: whether the one there is known to be whole.
        self._whole.extend(bytes(max(0, len(mapped) // (8 * ALIGNMENT) + 1 - len(self._whole))))
