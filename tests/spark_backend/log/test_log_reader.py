from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import NotFound, Unavailable
from protocol.time import BEFORE_ALL
from protocol.windows.timeline import END
from spark_backend.log import reader as reader_module
from spark_backend.log.format.columns import LOG
from spark_backend.log.format.manifest import MANIFEST
from spark_backend.log.reader import LogReader
from spark_backend.log.reading import run as run_module
from spark_backend.log.reading.runs import UNUSED_SECONDS
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import Oracle, event_stream, request, rows, triple

messages = st.tuples(
    st.integers(0, 60),
    st.lists(st.sampled_from([triple("a"), triple("bé", 1.5), triple("c\U0001f600")]), max_size=3),
)
operations = st.lists(
    st.one_of(
        st.lists(messages, max_size=5).map(lambda request: ("append", request)),
        st.integers(0, 70).map(lambda watermark: ("advance", watermark)),
        st.tuples(st.integers(-5, 70), st.integers(-5, 70)).map(lambda window: ("scan", window)),
        st.just(("feed", None)),
        st.just(("reopen", None)),
    ),
    max_size=25,
)


@contextmanager
def small_runs(size: int) -> Iterator[None]:
    """Runs that are full after ``size`` rows, so that a few messages make many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "FULL_ROWS", size)
        patch.setattr(reader_module, "FULL_BYTES", 3000)
        yield


@settings(max_examples=120, deadline=None)
@given(operations, st.integers(0, 15), st.sampled_from([1, 3000, 10**6]), st.sampled_from([2, 6, 10**6]), st.booleans())
def test_a_log_answers_as_a_list_of_its_elements_would(
    tmp_path_factory: pytest.TempPathFactory,
    operations: list[tuple[str, object]],
    lateness: int,
    segment_bytes: int,
    run_rows: int,
    forgetful: bool,
) -> None:
    directory = tmp_path_factory.mktemp("logs") / "log"

    def open_log() -> StreamLog:
        return StreamLog.open(directory, event_stream(lateness), lambda: 0, segment_bytes=segment_bytes)

    log, oracle = open_log(), Oracle(lateness)
    reader = LogReader(directory, memory_bytes=0 if forgetful else 10**9)
    fed: list[tuple[int, int, int]] = []

    def feed() -> None:
        elements = reader.new_elements()
        if elements is not None:
            assert elements.first == len(fed)
            columns = (elements.time, elements.seen, elements.triples)
            fed.extend(zip(*(column.to_pylist() for column in columns), strict=True))

    with small_runs(run_rows):
        for operation, argument in operations:
            match operation, argument:
                case "append", list(batch):
                    log.append(request(*batch))
                    oracle.append(batch)
                case "advance", int(watermark):
                    assert log.advance(watermark) == max(watermark, oracle.watermark)
                    oracle.advance(watermark)
                case "scan", (int(after), int(upto)):
                    reader.refresh()
                    assert rows(reader.scan(after, upto)) == oracle.scan(after, upto)
                case "feed", _:
                    reader.refresh()
                    feed()
                case _:
                    log.close()
                    log = open_log()
        log.end()
        oracle.end()
        assert reader.refresh()
        for upto in (0, 30, 61, END):
            assert rows(reader.scan(-1, upto)) == oracle.scan(-1, upto)
        feed()
    assert fed == [(time, seen, len(triples)) for time, seen, triples in oracle.elements]
    assert (reader.watermark, reader.ended, reader.first) == (END, True, oracle.first())
    assert reader.last == max((time for time, _, _ in oracle.elements), default=None)
    assert log.describe().late == oracle.late
    assert reader.new_elements() is None
    log.close()


def open_log(directory: Path, segment_bytes: int = 10**6) -> StreamLog:
    return StreamLog.open(directory, event_stream(), lambda: 0, segment_bytes=segment_bytes)


def test_an_empty_log_has_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    reader = LogReader(tmp_path / "log")
    table = reader.scan(0, END)
    assert (table.num_rows, table.schema) == (0, LOG)
    assert (reader.watermark, reader.ended, reader.first, reader.last) == (BEFORE_ALL, False, None, None)
    assert reader.retained_from is None
    assert reader.new_elements() is None
    log.close()


def test_what_is_not_refreshed_is_not_seen(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    reader = LogReader(tmp_path / "log")
    log.append(request((1, [triple("a")])))
    assert reader.scan(0, 10).num_rows == 0
    assert reader.new_elements() is None
    assert reader.refresh()
    assert not reader.refresh()
    assert reader.scan(0, 10).num_rows == 1
    log.close()


def test_a_window_is_open_on_the_left_and_closed_on_the_right(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.append(request(*((time, [triple(str(time))]) for time in range(5))))
    reader = LogReader(tmp_path / "log")
    assert [row[0] for row in rows(reader.scan(1, 3))] == [2, 3]
    assert reader.scan(3, 3).num_rows == 0
    assert reader.scan(3, 1).num_rows == 0
    log.close()


def test_equal_times_stay_in_the_order_of_the_log(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    settings = event_stream(lateness=100)
    log.close()
    log = StreamLog.open(tmp_path / "log", settings, lambda: 0)
    log.append(request(*((time, [triple(str(time))]) for time in (5, 3, 5, 3, 5))))
    assert LogReader(tmp_path / "log").scan(0, 9)["element"].to_pylist() == [1, 3, 0, 2, 4]
    log.close()


def test_a_late_element_takes_part_only_after_the_watermark_it_came_at(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.append(request((10, [triple("a")]), (5, [triple("late")])))
    reader = LogReader(tmp_path / "log")
    assert [row[0] for row in rows(reader.scan(0, 9))] == []
    assert [row[0] for row in rows(reader.scan(0, 10))] == [10, 5]
    log.close()


def test_a_large_frame_is_written_out_once_however_often_it_is_scanned(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", 10**9)
    log.append(request(*((time, [triple(str(time))]) for time in range(run_module.FULL_ROWS))))
    reader = LogReader(tmp_path / "log")
    first = reader.scan(-1, 10**9)
    before = pa.total_allocated_bytes()
    table = reader.scan(-1, 10**9)
    assert table.num_rows == first.num_rows == run_module.FULL_ROWS
    assert pa.total_allocated_bytes() - before < 100_000
    log.close()


def test_many_small_frames_become_few_chunks(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", 10**9)
    reader = LogReader(tmp_path / "log")
    for time in range(500):
        log.append(request((time, [triple(str(time))])))
        reader.refresh()
        assert reader.scan(time - 50, time).column(0).num_chunks <= 6
    assert LogReader(tmp_path / "log").scan(-1, 500).column(0).num_chunks == 1
    log.close()


def test_memory_is_bounded_and_what_was_forgotten_is_read_again(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", 10**9)
    reader = LogReader(tmp_path / "log", memory_bytes=20_000)
    with small_runs(50):
        for start in range(0, 2000, 25):
            log.append(request(*((start + i, [triple(f"{i:050d}")]) for i in range(25))))
        reader.refresh()
        first = rows(reader.scan(-1, 100))
        before = pa.total_allocated_bytes()
        for start in range(0, 2000, 100):
            assert reader.scan(start - 1, start + 99).num_rows == 100
        assert pa.total_allocated_bytes() - before < 100_000
        assert rows(reader.scan(-1, 100)) == first
    log.close()


def test_rows_that_no_scan_has_used_for_a_minute_are_forgotten_and_the_others_kept(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", 10**9)
    now = 0.0
    reader = LogReader(tmp_path / "log", clock=lambda: now)
    with small_runs(50):
        for start in range(0, 2000, 25):
            log.append(request(*((start + i, [triple(f"{i:050d}")]) for i in range(25))))
        reader.refresh()
        before = pa.total_allocated_bytes()
        assert reader.scan(-1, 2000).num_rows == 2000
        all_of_it = pa.total_allocated_bytes() - before
        for _ in range(40):
            now += UNUSED_SECONDS / 20
            last = reader.scan(1800, 2000)
        assert pa.total_allocated_bytes() - before < all_of_it / 4
        assert last.num_rows == reader.scan(1800, 2000).num_rows
        assert reader.scan(-1, 2000).num_rows == 2000
    log.close()


def test_rows_are_forgotten_also_where_nothing_is_scanned_any_more(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", 10**9)
    log.append(request(*((i, [triple(f"{i:050d}")]) for i in range(2000))))
    now = 0.0
    reader = LogReader(tmp_path / "log", clock=lambda: now)
    before = pa.total_allocated_bytes()
    reader.scan(-1, 2000)
    held = pa.total_allocated_bytes() - before
    for _ in range(2):
        now += UNUSED_SECONDS
        reader.refresh()
    assert pa.total_allocated_bytes() - before < held / 4
    assert reader.scan(-1, 2000).num_rows == 2000
    log.close()


def test_a_closed_reader_does_not_read_another_log(tmp_path: Path) -> None:
    logs = {name: open_log(tmp_path / name) for name in ("one", "other")}
    logs["one"].append(request((1, [triple("a")])))
    reader = LogReader(tmp_path / "one")
    reader.close()
    other = LogReader(tmp_path / "other")  # has the number of the descriptor that was closed
    logs["other"].append(request((1, [triple("a")]), (2, [triple("b")])))
    with pytest.raises(OSError, match="descriptor"):
        reader.refresh()
    assert reader.elements == 1
    assert other.refresh()
    reader.close()
    for log in logs.values():
        log.close()


def test_tables_outlive_the_reader_and_the_log(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.append(request((1, [triple("a")])))
    reader = LogReader(tmp_path / "log")
    table = reader.scan(0, 9)
    reader.close()
    log.drop()
    assert table["s"].to_pylist() == ["<http://ex/a>"]


@pytest.mark.parametrize("follows", [True, False])
def test_a_log_of_many_segments_is_read_with_few_open_files(tmp_path: Path, follows: bool) -> None:
    process, held = psutil.Process(), []
    with closing(StreamLog.open(tmp_path / "log", event_stream(), lambda: 0, segment_bytes=1)) as log:
        readers = [LogReader(tmp_path / "log")] if follows else []
        before = process.num_fds()
        for number in range(60):
            log.append(request((number, [triple("a")])))
            for reader in readers:
                reader.refresh()
                held.append(reader.scan(-1, number))
        readers = readers or [LogReader(tmp_path / "log")]
        held.append(readers[0].scan(-1, 60))
        assert [len(rows(table)) for table in held[-1:]] == [60]
        assert len(list((tmp_path / "log").glob("*.segment"))) >= 60
        assert process.num_fds() - before < 10
        readers[0].close()


def test_an_unreadable_manifest_is_said(tmp_path: Path) -> None:
    open_log(tmp_path / "log").close()
    (tmp_path / "log" / MANIFEST).write_bytes(b"\0" * 200)
    with pytest.raises(Unavailable, match="manifest"):
        LogReader(tmp_path / "log")
    open_log(tmp_path / "log").close()
    assert LogReader(tmp_path / "log").watermark == BEFORE_ALL


def test_a_log_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        LogReader(tmp_path / "log")
