"""Requests to append, and a log that is a list: docs/model.md, "Watermarks", read off word for word."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import pyarrow as pa

from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL
from protocol.windows.timeline import END
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.format.frame import HEADER_BYTES, decode_header

Triple = tuple[str | None, str | None, str | None, str | None, int | None, float | None]
"""g, s, p, o, k, n."""

NO_TRIPLE: Triple = (None, None, None, None, None, None)

Message = tuple[int | None, list[Triple]]
"""A time and the triples."""


def event_stream(lateness: int = 0, retention: int = 10**9) -> StreamSettings:
    return StreamSettings("http://ex/s", TimeKind.EVENT, allowed_lateness=lateness, retention=retention)


def arrival_stream(retention: int = 10**9) -> StreamSettings:
    return StreamSettings("http://ex/s", TimeKind.ARRIVAL, retention=retention)


def triple(name: str, number: float | None = None) -> Triple:
    return (None, f"<http://ex/{name}>", "<http://ex/p>", f'"{name}"', 1, number)


def request(*messages: Message) -> pa.RecordBatch:
    rows = [
        (ordinal, time, *row) for ordinal, (time, triples) in enumerate(messages) for row in (triples or [NO_TRIPLE])
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(REQUEST)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, REQUEST, strict=True)], schema=REQUEST
    )


@dataclass
class Oracle:
    """An event stream's log."""

    lateness: int = 0
    watermark: int = BEFORE_ALL
    late: int = 0
    elements: list[tuple[int, int, list[Triple]]] = field(default_factory=list)

    def append(self, messages: list[Message]) -> None:
        for time, triples in messages:
            assert time is not None
            self.late += time <= self.watermark
            self.elements.append((time, self.watermark, triples))
            self.watermark = max(self.watermark, time - self.lateness - 1)

    def advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)

    def end(self) -> None:
        self.watermark = END

    def first(self) -> int | None:
        return min((max(time, seen + 1) for time, seen, _ in self.elements), default=None)

    def scan(self, after: int, upto: int) -> list[tuple[object, ...]]:
        return sorted(
            (
                (time, seen, number, *row)
                for number, (time, seen, triples) in enumerate(self.elements)
                if after < time <= upto and seen < upto
                for row in triples
            ),
            key=repr,
        )


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def write_as_before(data: bytearray, offset: int) -> None:
    """Make the frame at an offset one of the format before.

    One checksum, in the place of the header's, covered all but the magic; there was none of the payload alone.
    """
    header = decode_header(data, offset)
    assert header is not None
    data[offset : offset + 8] = b"SLF2" + bytes(4)
    data[offset + 12 : offset + 16] = bytes(4)
    checked = data[offset + 8 : offset + HEADER_BYTES + header.length]
    data[offset + 4 : offset + 8] = zlib.crc32(checked).to_bytes(4, "little")
