from __future__ import annotations

import pyarrow as pa
import pytest

from protocol.time import BEFORE_ALL
from spark_backend.log.appending import group
from spark_backend.log.appending.equal_messages import EqualMessages
from spark_backend.log.appending.request_keys import RequestKeys
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.frame import (
    ALIGNMENT,
    HEADER_BYTES,
    FrameKind,
    Gap,
    Header,
    decode_header,
    encode_elements,
    encode_mark,
    is_whole,
)
from spark_backend.log.format.frame import walk as walk_frames
from spark_backend.log.format.request import check_request
from spark_backend.log.format.rows import decode_rows, write_out
from spark_backend.log.format.stamp import Totals, stamp_event
from tests.spark_backend.log.log_oracle import Message, event_stream, request, triple, write_as_before


def frame(*messages: Message, number: int = 1) -> bytes:
    settings = event_stream()
    stamped = stamp_event(check_request(request(*messages), settings.time), settings, Totals())
    return b"".join(bytes(part) for part in encode_elements(stamped, stamped.after._replace(frames=number)))


def headers(data: bytes) -> list[tuple[int, Header]]:
    """The frames of bytes in which nothing else is."""
    found = []
    for one in walk_frames(data, 0, len(data)):
        assert not isinstance(one, Gap)
        found.append(one)
    return found


def test_a_frame_says_what_is_in_it() -> None:
    data = frame((7, [triple("a"), triple("b")]), (3, []))
    header = decode_header(data, 0)
    assert header is not None
    assert (header.kind, header.rows, header.elements, header.triples, header.late) == (FrameKind.ELEMENTS, 3, 2, 2, 1)
    assert (header.earliest, header.latest) == (3, 7)
    assert header.after == Totals(frames=1, elements=2, triples=2, late=1, first=7, last=7, watermark=6, empty=1)
    assert header.size == len(data)


def test_frames_are_aligned_and_read_back() -> None:
    first, second = frame((7, [triple("a")])), frame((8, [triple("b" * 100, 1.5)]), number=3)
    data = first + encode_mark(FrameKind.WATERMARK, Totals(frames=2)) + second
    found = headers(data)
    assert [header.kind for _, header in found] == [FrameKind.ELEMENTS, FrameKind.WATERMARK, FrameKind.ELEMENTS]
    assert all(offset % ALIGNMENT == 0 for offset, _ in found)
    offset, header = found[2]
    payload = pa.py_buffer(data).slice(offset + HEADER_BYTES, header.length)
    rows = decode_rows(payload)
    assert rows["n"].to_pylist() == [1.5]


@pytest.mark.parametrize("data", [frame((7, [triple("ü")])), encode_mark(FrameKind.OPEN, Totals(3, 2, 1))])
def test_every_changed_byte_is_noticed(data: bytes) -> None:
    whole = decode_header(data, 0)
    assert whole is not None
    for position in range(HEADER_BYTES + whole.length):
        changed = bytearray(data)
        changed[position] ^= 0x55
        header = decode_header(changed, 0)
        assert (header is None) == (position < HEADER_BYTES), position
        assert header is None or not is_whole(memoryview(changed), 0, header), position


def test_a_frame_cut_short_is_noticed() -> None:
    data = frame((7, [triple("a")]))
    for length in range(len(data)):
        header = decode_header(data[:length], 0)
        if length < HEADER_BYTES:
            assert header is None
        elif header is not None and length < HEADER_BYTES + header.length:
            assert not is_whole(memoryview(data)[:length], 0, header), length


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
    frames = group.Frames(settings, 0, Totals(), equal, RequestKeys(0, []), {})
    composed = frames.group([group.Operation(wanted) for wanted in requests])
    data = b"".join(bytes(part) for part in composed.parts)
    assert [header.elements for _, header in headers(data)] == [2, 2]
    assert composed.after.frames == 2


def test_behind_a_damaged_header_the_next_whole_frame_is_found() -> None:
    marks = [encode_mark(FrameKind.WATERMARK, Totals(frames=frames)) for frames in range(1, 5)]
    data = bytearray(b"".join([marks[0], frame((7, [triple("a")] * 50)), marks[2], marks[3]]))
    after = len(data) - 2 * HEADER_BYTES
    data[HEADER_BYTES + 9] ^= 1
    found = list(walk_frames(data, 0, len(data)))
    assert [(one.start, one.end) if isinstance(one, Gap) else one[0] for one in found] == [
        0, (HEADER_BYTES, after), after, after + HEADER_BYTES,
    ]  # fmt: skip


def test_a_frame_that_a_literal_spells_within_a_damaged_one_is_taken_for_none() -> None:
    old = encode_mark(FrameKind.WATERMARK, Totals(frames=1))
    data = encode_mark(FrameKind.WATERMARK, Totals(frames=5)) + bytes(ALIGNMENT) + old + bytes(ALIGNMENT)
    assert [one for one in walk_frames(data, 0, len(data)) if not isinstance(one, Gap)] == [
        (0, decode_header(data, 0)),
    ]  # fmt: skip


def test_frames_of_the_format_before_are_read() -> None:
    data = bytearray(frame((7, [triple("a")])))
    header = decode_header(data, 0)
    assert header is not None
    write_as_before(data, 0)
    before = decode_header(data, 0)
    assert before == header
    assert is_whole(memoryview(data), 0, before)
    for position in range(HEADER_BYTES + header.length):
        data[position] ^= 4
        assert decode_header(data, 0) is None, position
        data[position] ^= 4
