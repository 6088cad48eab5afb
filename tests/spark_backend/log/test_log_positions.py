"""A position is in the log exactly when the elements that came with it are, and outlives them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from protocol.errors import StorageFull
from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL
from spark_backend.log.appending.request_keys import RequestKey
from spark_backend.log.format.segment import ActiveSegment, segment_numbers, segment_path
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog, finish_copy
from tests.spark_backend.log.log_oracle import arrival_stream, request, triple


def opened(directory: Path, retention: int = 10**9, segment_bytes: int = 3000) -> StreamLog:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=retention)
    return StreamLog.open(directory, settings, lambda: 0, segment_bytes=segment_bytes)


def test_positions_are_known_after_reopening_by_name(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    assert log.positions == {}
    log.append(request((1, [triple("a")])), positions={"x": b"1", "y": b"1"})
    log.append(request((2, [triple("b")])), RequestKey.of("k", b"", "", None), {"x": b"2"})
    log.append(request((3, [triple("c")])))
    for _ in range(2):
        assert log.positions == {"x": b"2", "y": b"1"}
        log.close()
        log = opened(tmp_path / "s")
    log.append(request((4, [triple("d")])), positions={"x": b""})
    assert log.positions == {"y": b"1"}
    log.close()
    assert opened(tmp_path / "s").positions == {"y": b"1"}


def test_a_position_may_come_alone_and_moves_nothing_else(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    assert log.append(request(), positions={"x": b"0"}).watermark is None
    log.append(request((5, [triple("a")])))
    before = log.describe()
    log.append(request(), positions={"x": b"1"})
    assert log.describe()._replace(bytes=before.bytes) == before
    assert [len(LogReader(tmp_path / "s").scan(-1, 9))] == [1]
    log.close()
    log = opened(tmp_path / "s")
    assert log.positions == {"x": b"1"}
    assert log.describe()._replace(bytes=before.bytes) == before
    log.close()


def test_a_log_that_is_cut_at_any_byte_has_the_position_of_its_elements(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", segment_bytes=10**6)
    for count in range(1, 4):
        messages = [(count, [triple(f"{count}-{one}")]) for one in range(count)]
        log.append(request(*messages), positions={"x": str(count).encode()})
    log.close()
    whole = segment_path(tmp_path / "s", 1).read_bytes()
    seen = set()
    for length in range(0, len(whole) + 1, 8):
        directory = tmp_path / f"cut-{length}"
        directory.mkdir()
        segment_path(directory, 1).write_bytes(whole[:length])
        cut = opened(directory)
        elements, position = cut.describe().elements, cut.positions.get("x", b"0")
        assert elements == {b"0": 0, b"1": 1, b"2": 3, b"3": 6}[position], length
        seen.add(position)
        cut.close()
        shutil.rmtree(directory)
    assert len(seen) == 4


def test_positions_outlive_the_segments_they_came_in(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", retention=5_000)
    log.append(request((0, [triple("a")])), positions={"old": b"1", "gone": b"1"})
    log.append(request((1, [triple("b")])), positions={"gone": b""})
    for time in range(0, 200_000, 1000):
        log.append(request((time, [triple(f"t{time}")])), positions={"new": str(time).encode()} if time % 3 else None)
    assert segment_numbers(tmp_path / "s")[0] > 1
    assert log.positions == {"old": b"1", "new": b"199000"}
    log.close()
    for _ in range(2):
        log = opened(tmp_path / "s", retention=5_000)
        assert log.positions == {"old": b"1", "new": b"199000"}
        log.close()


def test_a_damaged_opening_is_made_good_by_the_segment_before(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    for time in range(20):
        log.append(request((time, [triple(f"t{time}")])), positions={"x": str(time).encode(), f"y{time}": b"1"})
    expected = log.positions
    log.close()
    last = segment_path(tmp_path / "s", segment_numbers(tmp_path / "s")[-1])
    data = bytearray(last.read_bytes())
    data[140] ^= 0xFF  # in the payload of the first frame
    last.write_bytes(data)
    log = opened(tmp_path / "s")
    assert log.positions == expected
    assert log.describe().elements == 20
    log.close()


def test_a_copy_has_the_positions_of_its_moment(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    log.append(request((1, [triple("a")])), positions={"x": b"1"})
    with log.at_rest():
        log.copy_to(tmp_path / "copy")
    log.append(request((2, [triple("b")])), positions={"x": b"2"})
    finish_copy(tmp_path / "copy")
    copied = opened(tmp_path / "copy")
    assert (copied.positions, copied.describe().elements) == ({"x": b"1"}, 1)


def test_what_could_not_be_stored_moves_no_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path / "s", segment_bytes=10**6)
    log.append(request((1, [triple("a")])), positions={"x": b"1"})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ActiveSegment, "append", fail)
        with pytest.raises(StorageFull):
            log.append(request((2, [triple("b")])), positions={"x": b"2"})
    assert log.positions == {"x": b"1"}


def test_an_arrival_stream_with_a_position_alone_has_no_watermark_of_it(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "s", arrival_stream(), lambda: 1000)
    log.append(request(), positions={"x": b"1"})
    assert log.describe().watermark in (None, 999)
    assert log.describe().last in (None, BEFORE_ALL)
    log.close()
    log = StreamLog.open(tmp_path / "s", arrival_stream(), lambda: 1000)
    assert log.append(request((None, [triple("a")]))).elements == 1
    assert log.positions == {"x": b"1"}
