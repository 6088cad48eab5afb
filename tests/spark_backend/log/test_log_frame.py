from __future__ import annotations

import pyarrow as pa
import pytest

from protocol.time import BEFORE_ALL
from spark_backend.log import group
from spark_backend.log.equal_messages import EqualMessages
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.frame import (
    ALIGNMENT,
    HEADER_BYTES,
    FrameKind,
    decode_header,
    encode_elements,
    encode_mark,
    verify,
)
from spark_backend.log.format.frame import walk as walk_frames
from spark_backend.log.format.request import check_request
from spark_backend.log.format.rows import decode_rows, write_out
from spark_backend.log.format.stamp import Totals, stamp_event
from tests.spark_backend.log.log_oracle import Message, event_stream, request, triple


def frame(*messages: Message) -> bytes:
    settings = event_stream()
    stamped = stamp_event(check_request(request(*messages), settings.time), settings, Totals())
    return b"".join(bytes(part) for part in encode_elements(stamped, stamped.after._replace(frames=1)))


def test_a_frame_says_what_is_in_it() -> None:
    data = frame((7, [triple("a"), triple("b")]), (3, []))
    header = decode_header(data, 0)
    assert header is not None
    assert (header.kind, header.rows, header.elements, header.triples, header.late) == (FrameKind.ELEMENTS, 3, 2, 2, 1)
    assert (header.earliest, header.latest) == (3, 7)
    assert header.after == Totals(frames=1, elements=2, triples=2, late=1, first=7, last=7, watermark=6, empty=1)
    assert header.size == len(data)


def test_frames_are_aligned_and_read_back() -> None:
    first, second = frame((7, [triple("a")])), frame((8, [triple("b" * 100, 1.5)]))
    data = first + encode_mark(FrameKind.WATERMARK, Totals(frames=1)) + second
    found = list(walk_frames(data, 0, len(data)))
    assert [header.kind for _, header in found] == [FrameKind.ELEMENTS, FrameKind.WATERMARK, FrameKind.ELEMENTS]
    assert all(offset % ALIGNMENT == 0 for offset, _ in found)
    offset, header = found[2]
    payload = pa.py_buffer(data).slice(offset + HEADER_BYTES, header.length)
    rows = decode_rows(payload)
    assert rows["n"].to_pylist() == [1.5]


@pytest.mark.parametrize("data", [frame((7, [triple("ü")])), encode_mark(FrameKind.OPEN, Totals(3, 2, 1))])
def test_every_changed_byte_is_noticed(data: bytes) -> None:
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x55
        header = decode_header(changed, 0)
        assert header is None or not verify(memoryview(changed), 0, header), position


def test_a_frame_cut_short_is_noticed() -> None:
    data = frame((7, [triple("a")]))
    for length in range(len(data)):
        header = decode_header(data[:length], 0)
        assert header is None or not verify(memoryview(data)[:length], 0, header), length


def test_a_term_of_many_rows_is_written_once_and_counted_for_each() -> None:
    long = "ü" * 1000
    data = frame(*((time, [triple(long), triple("a")]) for time in range(50)))
    header = decode_header(data, 0)
    assert header is not None
    once = sum(len(text.encode()) for name in (long, "a") for text in triple(name)[1:4] if isinstance(text, str))
    assert header.text == 50 * once
    assert header.length < header.text / 4
    rows = write_out(decode_rows(pa.py_buffer(data).slice(HEADER_BYTES, header.length)))
    assert rows.schema == LOG
    assert rows["o"].to_pylist() == [f'"{long}"', '"a"'] * 50


def test_requests_share_a_frame_only_up_to_a_size_of_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = event_stream()
    requests = [check_request(request((time, [triple("a" * 100)] * 5)), settings.time) for time in range(4)]
    monkeypatch.setattr(group, "_FRAME_BYTES", 2 * requests[0].text)
    equal = EqualMessages(BEFORE_ALL, lambda digest, instant: 0)
    composed = group.compose([group.Operation(wanted) for wanted in requests], settings, 0, Totals(), equal)
    data = b"".join(bytes(part) for part in composed.parts)
    assert [header.elements for _, header in walk_frames(data, 0, len(data))] == [2, 2]
    assert composed.after.frames == 2
