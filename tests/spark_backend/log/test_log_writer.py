from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Conflict, InvalidMessage, NotFound, ProtocolError, StorageFull, Unavailable
from protocol.streams import AppendReceipt
from protocol.windows.timeline import END
from spark_backend.log.format.columns import LATEST
from spark_backend.log.format.manifest import ManifestWriter
from spark_backend.log.format.segment import segment_numbers
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import arrival_stream, event_stream, request, rows, triple


class Clock:
    def __init__(self, now: int = 1000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def open_event(path: Path, **options: Any) -> StreamLog:
    return StreamLog.open(path / "log", event_stream(**options), Clock())


def test_an_append_is_acknowledged_with_its_counts_and_the_watermark(tmp_path: Path) -> None:
    log = open_event(tmp_path, lateness=10)
    assert log.append(request((100, [triple("a"), triple("b")]), (105, []))) == AppendReceipt(2, 2, 94)
    assert log.append(request()) == AppendReceipt(0, 0, 94)
    log.close()


def test_nothing_is_acknowledged_into_files_that_were_taken_away(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    assert log.append(request((1, [triple("a")]))) == AppendReceipt(1, 1, 0)
    (tmp_path / "log").rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(Unavailable, match="not there any more"):
            log.append(request((2, [triple("b")])))
    (tmp_path / "away").rename(tmp_path / "log")
    assert log.append(request((3, [triple("c")]))) == AppendReceipt(1, 1, 2)
    log.close()
    reopened = open_event(tmp_path)
    assert reopened.describe().elements == 2
    reopened.close()


def test_a_new_log_has_no_times(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    counts = log.describe()
    assert (counts.elements, counts.first, counts.last, counts.watermark, counts.ended) == (0, None, None, None, False)
    assert log.append(request()) == AppendReceipt(0, 0, None)
    log.close()


def test_an_element_at_or_below_the_watermark_is_counted_late_and_stored(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    log.append(request((10, [triple("a")]), (9, [triple("b")]), (10, [triple("c")])))
    counts = log.describe()
    assert (counts.elements, counts.triples, counts.late, counts.first, counts.last) == (3, 3, 1, 10, 10)
    log.close()


def test_a_late_first_element_counts_from_where_it_takes_part(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    log.advance(100)
    log.append(request((50, [triple("a")])))
    assert log.describe().first == 101
    log.close()


def test_a_watermark_never_steps_back(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    assert log.advance(50) == 50
    size = log.describe().bytes
    assert log.advance(49) == 50
    assert log.describe().bytes == size
    with pytest.raises(ProtocolError, match="too far ahead"):
        log.advance(LATEST + 1)
    log.close()


def test_nothing_is_appended_after_the_end(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    log.append(request((1, [triple("a")])))
    log.end()
    log.end()
    for reopened in (False, True):
        if reopened:
            log.close()
            log = open_event(tmp_path)
        with pytest.raises(Conflict, match="ended"):
            log.append(request((2, [triple("b")])))
        assert log.advance(7) == END
        counts = log.describe()
        assert (counts.ended, counts.watermark, counts.elements) == (True, END, 1)
    log.close()


def test_a_refused_request_leaves_nothing_behind(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    with pytest.raises(InvalidMessage):
        log.append(request((1, [triple("a")]), (None, [triple("b")])))
    assert log.describe().elements == 0
    log.close()


def test_a_second_writer_is_kept_out_until_the_first_is_gone(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    with pytest.raises(Conflict, match="open for writing"):
        open_event(tmp_path)
    log.close()
    open_event(tmp_path).close()


def test_a_log_that_cannot_be_opened_is_not_kept_from_who_opens_it_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ManifestWriter, "publish", fail)
        with pytest.raises(OSError, match="No space left"):
            open_event(tmp_path)
    open_event(tmp_path).close()


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    log = open_event(tmp_path, lateness=5)
    log.append(request((10, [triple("a", 1.0)]), (3, [triple("b")]), (20, [])))
    log.advance(40)
    before = log.describe()
    log.close()
    log = open_event(tmp_path, lateness=5)
    assert log.describe() == before
    log.append(request((41, [triple("c")])))
    reader = LogReader(tmp_path / "log")
    assert [row[2] for row in rows(reader.scan(0, 100))] == [0, 1, 3]
    log.close()


def test_a_closed_or_dropped_log_takes_nothing(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    log.close()
    log.close()
    with pytest.raises(Unavailable, match="closed"):
        log.append(request((1, [])))
    log = open_event(tmp_path)
    reader = LogReader(tmp_path / "log")
    log.drop()
    with pytest.raises(NotFound):
        log.advance(1)
    for _ in range(2):
        with pytest.raises(NotFound, match="deleted"):
            reader.refresh()
    with pytest.raises(NotFound):
        LogReader(tmp_path / "log")
    log.delete()
    assert not (tmp_path / "log").exists()
    with pytest.raises(NotFound):
        LogReader(tmp_path / "log")


def test_arrivals_are_stamped_by_the_clock_and_never_step_back(tmp_path: Path) -> None:
    clock = Clock(1000)
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    assert log.append(request((None, [triple("a")]), (7, [triple("b")]))).watermark == 999
    clock.now = 500
    assert log.append(request((None, [triple("c")]))).watermark == 999
    clock.now = 2000
    assert log.tick() == 1999
    clock.now = 1500
    assert log.tick() == 1999
    log.append(request((None, [triple("d")])))
    log.close()
    clock.now = 100
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    log.append(request((None, [triple("e")])))
    reader = LogReader(tmp_path / "log")
    assert [row[0] for row in rows(reader.scan(0, 10_000))] == [1000, 1000, 1000, 2000, 2000]
    assert log.describe().late == 0
    log.close()


def test_a_ticked_watermark_survives_a_restart(tmp_path: Path) -> None:
    clock = Clock(1000)
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    assert log.tick() == 999
    log.close()
    clock.now = 10
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    assert log.describe().watermark == 999
    log.append(request((None, [triple("a")])))
    assert log.describe().last == 1000
    log.close()


def test_a_tick_reaches_readers_without_a_write_to_the_segment(tmp_path: Path) -> None:
    clock = Clock(1000)
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    reader = LogReader(tmp_path / "log")
    size = log.describe().bytes
    log.tick()
    assert reader.refresh()
    assert (reader.watermark, log.describe().bytes) == (999, size)
    assert not reader.refresh()
    log.end()
    assert log.tick() == END
    log.close()


def test_a_tick_does_not_move_an_event_stream(tmp_path: Path) -> None:
    log = open_event(tmp_path)
    assert log.tick() is None
    log.close()


def test_a_tick_during_a_write_stays_below_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1000)
    log = StreamLog.open(tmp_path / "log", arrival_stream(), clock)
    ticked: list[int | None] = []
    sync = os.fsync

    def slow_sync(descriptor: int) -> None:
        clock.now += 5000
        ticked.append(log.tick())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_sync)
    log.append(request((None, [triple("a")])))
    monkeypatch.undo()
    assert ticked == [999]
    assert log.tick() == 5999
    log.close()


@pytest.mark.parametrize("call", ["pwritev", "fsync", "ftruncate"])
def test_a_failed_write_fails_the_append_and_leaves_the_log_whole(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_event(tmp_path)
    log.append(request((1, [triple("a")])))
    before = log.describe()
    real = getattr(os, call)

    def full(descriptor: int, *arguments: Any) -> int:
        if call == "pwritev":
            parts, offset = arguments
            real(descriptor, [parts[0][:50]], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, full)
        for _ in range(2):
            with pytest.raises(StorageFull, match="No space left on device"):
                log.append(request((2, [triple("b" * 100_000)])))
    assert log.describe() == before
    log.append(request((3, [triple("c")])))
    log.close()
    log = open_event(tmp_path)
    reader = LogReader(tmp_path / "log")
    assert [row[0] for row in rows(reader.scan(0, 10))] == [1, 3]
    assert [row[2] for row in rows(reader.scan(0, 10))] == [0, 1]
    log.close()


def test_a_write_taken_in_pieces_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_event(tmp_path)
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda descriptor, parts, offset: real(descriptor, [parts[0][:37]], offset))
    log.append(request((1, [triple("a"), triple("b")])))
    monkeypatch.undo()
    log.close()
    log = open_event(tmp_path)
    assert log.describe().triples == 2
    log.close()


@pytest.mark.parametrize("call", ["open", "fsync"])
def test_a_segment_that_cannot_be_begun_leaves_the_log_as_it_was(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = StreamLog.open(tmp_path / "log", event_stream(), Clock(), segment_bytes=1024)
    log.append(request((1, [triple("a")])))
    real = getattr(os, call)
    failed: list[bool] = []

    def full(*arguments: Any) -> Any:
        if call == "fsync" and not failed:
            failed.append(True)
            return real(*arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, full)
        with pytest.raises(StorageFull):
            log.append(request((2, [triple("b")])))
    assert segment_numbers(tmp_path / "log") == [1]
    log.append(request((3, [triple("c")])))
    assert segment_numbers(tmp_path / "log") == [1, 2]
    log.close()
    log = StreamLog.open(tmp_path / "log", event_stream(), Clock(), segment_bytes=1024)
    assert [row[0] for row in rows(LogReader(tmp_path / "log").scan(0, 10))] == [1, 3]
    log.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), max_size=4), min_size=1, max_size=8), st.integers(0, 20))
def test_totals_do_not_depend_on_how_elements_are_batched(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], lateness: int
) -> None:
    path = tmp_path_factory.mktemp("logs")
    together = StreamLog.open(path / "together", event_stream(lateness), Clock())
    apart = StreamLog.open(path / "apart", event_stream(lateness), Clock(), segment_bytes=1)
    together.append(request(*((time, [triple(str(time))]) for batch in batches for time in batch)))
    for batch in batches:
        apart.append(request(*((time, [triple(str(time))]) for time in batch)))
    ours, theirs = together.describe(), apart.describe()
    assert ours._replace(bytes=0) == theirs._replace(bytes=0)
    one, other = LogReader(path / "together").scan(-1, 100), LogReader(path / "apart").scan(-1, 100)
    assert rows(one) == rows(other)
    together.close()
    apart.close()


def test_what_readers_could_not_be_told_of_is_told_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    log = open_event(tmp_path)
    reader = LogReader(tmp_path / "log")
    with monkeypatch.context() as broken:
        broken.setattr(ManifestWriter, "publish", fail)
        with pytest.raises(Unavailable, match="stored, but readers"):
            log.append(request((1, [triple("a")])))
    assert not reader.refresh()
    log.retain(0)
    assert reader.refresh()
    assert [row[0] for row in rows(reader.scan(0, 10))] == [1]
    log.retain(0)
    assert not reader.refresh()
    log.close()
