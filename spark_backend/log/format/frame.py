"""Frames: the unit of the log's files. A fixed header, then the rows of elements (``rows``) or nothing.

Header and payload start at multiples of ALIGNMENT, so that buffers mapped from the file are aligned
for Arrow and need no copy. One CRC32 covers the header after it and the payload.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from protocol.errors import Unavailable
from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.rows import encode_rows
from spark_backend.log.format.stamp import StampedRows, Totals

ALIGNMENT = 64
HEADER_BYTES = 128
_MAGIC = b"SLF2"
# magic, crc | kind, payload length, text, rows, elements, triples, late, earliest, latest | Totals, in its order
_HEADER = struct.Struct("<4sI QQQIIIIqq QQQQqqqQ")
_CHECKED_FROM = 8
assert _HEADER.size == HEADER_BYTES
_PADDING = bytes(ALIGNMENT)

Buffer = bytes | bytearray | memoryview
"""What a header can be read from."""


class FrameKind(IntEnum):
    """What a frame says. OPEN starts every segment and carries the totals of all before it."""

    OPEN = 1
    ELEMENTS = 2
    WATERMARK = 3


_KINDS = {kind.value: kind for kind in FrameKind}


class Header(NamedTuple):
    """``earliest``, ``latest``: bounds of the times in the frame. ``after``: see Totals.

    ``length``: bytes of the payload. ``text``: bytes of the terms of its rows, each at every place it has.
    """

    kind: FrameKind
    length: int
    text: int
    rows: int
    elements: int
    triples: int
    late: int
    earliest: Instant
    latest: Instant
    after: Totals

    @property
    def size(self) -> int:
        """Bytes from this frame's start to the next one's."""
        return HEADER_BYTES + self.length + -self.length % ALIGNMENT


def encode_elements(stamped: StampedRows, after: Totals) -> list[bytes | pa.Buffer]:
    """The parts of a frame of elements, to be written one behind the other."""
    payload = encode_rows(stamped.rows)
    length = sum(part.size for part in payload)
    header = Header(
        FrameKind.ELEMENTS,
        length,
        stamped.text,
        stamped.rows.num_rows,
        stamped.elements,
        stamped.triples,
        stamped.late,
        stamped.earliest,
        stamped.latest,
        after,
    )
    return [_encode(header, payload), *payload, _PADDING[: -length % ALIGNMENT]]


def encode_mark(kind: FrameKind, after: Totals) -> bytes:
    """A frame without payload: OPEN, or WATERMARK for an advance or the end of the stream."""
    return _encode(Header(kind, 0, 0, 0, 0, 0, 0, BEFORE_ALL, BEFORE_ALL, after), [])


def _encode(header: Header, payload: Sequence[pa.Buffer]) -> bytes:
    packed = bytearray(
        _HEADER.pack(
            _MAGIC,
            0,
            *header[:-1],
            *header.after,
        )
    )
    crc = zlib.crc32(memoryview(packed)[_CHECKED_FROM:])
    for part in payload:
        crc = zlib.crc32(part, crc)
    struct.pack_into("<I", packed, 4, crc)
    return bytes(packed)


def decode_header(data: Buffer, offset: int) -> Header | None:
    """The header at an offset, unchecked but for its magic; None if there is none (the rest of the file is unused)."""
    if len(data) - offset < HEADER_BYTES:
        return None
    (
        magic, _, kind, length, text, rows, elements, triples, late, earliest, latest, *after,
    ) = _HEADER.unpack_from(data, offset)  # fmt: skip
    if magic != _MAGIC or kind not in _KINDS:
        return None
    return Header(_KINDS[kind], length, text, rows, elements, triples, late, earliest, latest, Totals(*after))


def verify(data: memoryview, offset: int, header: Header) -> bool:
    """Whether the frame at the offset is whole: all its bytes are there and match its CRC."""
    end = offset + header.size
    if end > len(data):
        return False
    (crc,) = struct.unpack_from("<I", data, offset + 4)
    checked = data[offset + _CHECKED_FROM : offset + HEADER_BYTES + header.length]
    padding = data[offset + HEADER_BYTES + header.length : end]
    return zlib.crc32(checked) == crc and not any(padding)


def walk(data: Buffer, start: int, end: int) -> Iterator[tuple[int, Header]]:
    """The offsets and headers of the frames in [start, end), which were whole when they were committed.

    Raises Unavailable where that is no longer so.
    """
    offset = start
    while offset < end:
        header = decode_header(data, offset)
        if header is None or offset + header.size > end:
            raise Unavailable(f"the stream log is damaged: there is no whole frame at byte {offset}")
        yield offset, header
        offset += header.size
