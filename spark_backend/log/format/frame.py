"""Frames: the unit of the log's files. A fixed header, then the rows of elements (``rows``) or nothing.

Header and payload start at multiples of ALIGNMENT, so that buffers mapped from the file are aligned
for Arrow and need no copy. The header and the payload have a CRC32 each: headers are checked wherever
frames are passed, so that after damage the next whole one is found; a payload is checked when it is read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.keys import KeyedRequest, encode_keys
from spark_backend.log.format.positions import Positions, decode_positions, encode_positions
from spark_backend.log.format.rows import encode_rows
from spark_backend.log.format.stamp import StampedRows, Totals

ALIGNMENT = 64
HEADER_BYTES = 128
_MAGIC = b"SLF3"
_MAGIC_BEFORE = b"SLF2"
"""Of the format before, in which one CRC32, in the place of the header's, covered the payload as well."""
# magic, crc | kind, positions, keys, payload's crc, length, text, rows, elements, triples, late, earliest, latest |
# Totals, in order
_HEADER = struct.Struct("<4sI BBHIQQIIIIqq QQQQqqqQ")
_CHECKED_FROM = 8
assert _HEADER.size == HEADER_BYTES
_PADDING = bytes(ALIGNMENT)
_ZEROS_BYTES = 16 * 1024
_ZEROS = bytes(_ZEROS_BYTES)

Buffer = bytes | bytearray | memoryview
"""What a header can be read from."""


class FrameKind(IntEnum):
    """What a frame says. OPEN starts every segment and carries the totals of all before it.

    WATERMARK is an advance, the end of the stream, or a change of positions alone.
    """

    OPEN = 1
    ELEMENTS = 2
    WATERMARK = 3


_KINDS = {kind.value: kind for kind in FrameKind}


class Header(NamedTuple):
    """``earliest``, ``latest``: bounds of the times in the frame. ``after``: see Totals.

    ``positions``: 1 if it has positions, else 0. ``keys``: requests in it that have an idempotency key. ``checksum``:
    CRC32 of the payload. ``length``: bytes of the payload. ``text``: bytes of the terms of its rows, each at every
    place it has.
    """

    kind: FrameKind
    positions: int
    keys: int
    checksum: int
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

    @property
    def before(self) -> Totals:
        """The totals before this frame, but for its times: ``last`` and ``watermark`` are no less than they were."""
        if self.kind is FrameKind.OPEN:
            return self.after
        return self.after._replace(
            frames=self.after.frames - 1,
            elements=self.after.elements - self.elements,
            triples=self.after.triples - self.triples,
            late=self.after.late - self.late,
            empty=self.after.empty - (self.rows - self.triples),
        )


def encode_elements(
    stamped: StampedRows, after: Totals, keyed: Sequence[KeyedRequest] = (), positions: Positions | None = None
) -> list[bytes | pa.Buffer]:
    """The parts of a frame of elements, to be written one behind the other; ``keyed``: its requests that have a key."""
    payload = [*encode_rows(stamped.rows), *encode_keys(keyed), *encode_positions(positions or {})]
    length = sum(part.size for part in payload)
    checksum = 0
    for part in payload:
        checksum = zlib.crc32(part, checksum)
    header = Header(
        FrameKind.ELEMENTS,
        int(bool(positions)),
        len(keyed),
        checksum,
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
    return [_encode(header), *payload, _PADDING[: -length % ALIGNMENT]]


def encode_mark(kind: FrameKind, after: Totals, positions: Positions | None = None) -> bytes:
    """A frame without elements: OPEN or WATERMARK, with positions or without payload."""
    payload = b"".join(map(bytes, encode_positions(positions or {})))
    flag, checksum, length = int(bool(payload)), zlib.crc32(payload), len(payload)
    header = Header(kind, flag, 0, checksum, length, 0, 0, 0, 0, 0, BEFORE_ALL, BEFORE_ALL, after)
    return _encode(header) + payload + _PADDING[: -length % ALIGNMENT]


def positions_of(payload: pa.Buffer, header: Header) -> dict[str, bytes]:
    """The positions that a whole frame has, by its payload."""
    if not header.positions:
        return {}
    # The rows are two messages, the keys one.
    return decode_positions(payload, 2 + bool(header.keys) if header.kind is FrameKind.ELEMENTS else 0)


def _encode(header: Header) -> bytes:
    packed = bytearray(_HEADER.pack(_MAGIC, 0, *header[:-1], *header.after))
    struct.pack_into("<I", packed, 4, zlib.crc32(memoryview(packed)[_CHECKED_FROM:]))
    return bytes(packed)


def decode_header(data: Buffer, offset: int) -> Header | None:
    """The header at an offset; None if there is no whole one. Of the payload behind it nothing is known."""
    if len(data) - offset < HEADER_BYTES:
        return None
    (
        magic, crc, kind, positions, keys, checksum, length, text, rows, elements, triples, late, earliest, latest,
        *after,
    ) = _HEADER.unpack_from(data, offset)  # fmt: skip
    if kind not in _KINDS:
        return None
    checked = memoryview(data)[offset + _CHECKED_FROM : offset + HEADER_BYTES]
    if magic == _MAGIC_BEFORE and length <= len(data) - offset - HEADER_BYTES:
        # The payload's own checksum is what its bytes give: they were checked here.
        payload = memoryview(data)[offset + HEADER_BYTES : offset + HEADER_BYTES + length]
        whole, checksum = zlib.crc32(payload, zlib.crc32(checked)) == crc, zlib.crc32(payload)
    else:
        whole = magic == _MAGIC and zlib.crc32(checked) == crc
    if not whole:
        return None
    return Header(
        _KINDS[kind], positions, keys, checksum, length, text, rows, elements, triples, late, earliest, latest,
        Totals(*after),
    )  # fmt: skip


def is_whole(data: memoryview, offset: int, header: Header) -> bool:
    """Whether the payload of the frame at the offset is there and matches its checksum."""
    payload = data[offset + HEADER_BYTES : offset + HEADER_BYTES + header.length]
    return len(payload) == header.length and zlib.crc32(payload) == header.checksum


class Gap(NamedTuple):
    """Bytes [start, end) of a segment in which there is no header of a frame."""

    start: int
    end: int


def walk(data: Buffer, start: int, end: int) -> Iterator[tuple[int, Header] | Gap]:
    """The offsets and headers of the frames in [start, end), and what lies between them where headers are damaged.

    ``start`` is the place of a frame. A gap is followed by the next whole header, which is at a multiple of ALIGNMENT.
    """
    offset, lost, known = start, start, -1
    reached = min(end, len(data))
    while offset < reached:
        header = decode_header(data, offset)
        # Sequence numbers tell frames from bytes that only look like one: within a payload, or from before.
        if header is None or offset + header.size > reached or header.after.frames <= known:
            offset += _ZEROS_BYTES if bytes(data[offset : offset + _ZEROS_BYTES]) == _ZEROS else ALIGNMENT
            continue
        if lost < offset:
            yield Gap(lost, offset)
        yield offset, header
        offset += header.size
        lost, known = offset, header.after.frames
    if lost < end:
        yield Gap(lost, end)
