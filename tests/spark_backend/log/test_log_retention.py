from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import Unavailable
from spark_backend.log.format.manifest import MANIFEST
from spark_backend.log.format.segment import segment_numbers, segment_path
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import arrival_stream, event_stream, request, rows, triple


def open_log(path: Path, retention: int = 100) -> StreamLog:
    """Every append begins a segment."""
    return StreamLog.open(path / "log", event_stream(retention=retention), lambda: 0, segment_bytes=1)


def append(log: StreamLog, *times: int) -> None:
    for time in times:
        log.append(request((time, [triple(str(time))])))


def times(reader: LogReader) -> list[object]:
    return [row[0] for row in rows(reader.scan(-1, 10**6))]


def test_segments_out_of_reach_are_deleted_whole(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20, 110)
    assert segment_numbers(tmp_path / "log") == [1, 2, 3]
    assert log.describe().retained_from is None
    append(log, 112)
    assert segment_numbers(tmp_path / "log") == [2, 3, 4]
    reader = LogReader(tmp_path / "log")
    assert times(reader) == [110, 112, 20]
    assert log.describe().retained_from == reader.retained_from == 10
    counts = log.describe()
    assert (counts.elements, counts.first) == (4, 10)
    assert counts.bytes == sum(path.stat().st_size for path in (tmp_path / "log").glob("*.segment")) - reserved(log)
    log.close()


def reserved(log: StreamLog) -> int:
    last = max((log._directory).glob("*.segment"))
    return last.stat().st_size - log._active.committed


def test_the_segment_being_written_is_never_deleted(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10)
    log.advance(10**6)
    assert segment_numbers(tmp_path / "log") == [2]
    append(log, 10**6 + 1)
    assert segment_numbers(tmp_path / "log") == [3]
    log.close()


def test_what_windows_still_need_is_kept(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.retain(500)
    append(log, 10, 20, 112, 500)
    assert segment_numbers(tmp_path / "log") == [1, 2, 3, 4]
    log.retain(390)
    assert segment_numbers(tmp_path / "log") == [3, 4]
    assert LogReader(tmp_path / "log").retained_from == 20
    log.close()


def test_what_has_not_been_evaluated_is_kept(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.retain(10, evaluated=20)
    append(log, 10, 11, 10_000, 20_000)
    assert segment_numbers(tmp_path / "log") == [2, 3, 4]
    log.retain(10, evaluated=21)
    assert segment_numbers(tmp_path / "log") == [3, 4]
    log.close()


def test_the_end_of_the_stream_deletes_nothing_by_itself(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20, 100)
    log.end()
    assert segment_numbers(tmp_path / "log") == [1, 2, 3, 4]
    log.close()


def test_what_is_retained_is_known_after_a_restart(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20, 110, 112)
    before = log.describe()
    log.close()
    log = open_log(tmp_path)
    assert log.describe() == before
    append(log, 130)
    assert segment_numbers(tmp_path / "log") == [3, 4, 5]
    assert log.describe().retained_from == 20
    log.close()


def test_a_deletion_cut_short_by_a_crash_is_finished_on_opening(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20)
    expiring = segment_path(tmp_path / "log", 2)
    content = expiring.read_bytes()
    append(log, 1000, 1001)
    log.close()
    assert segment_numbers(tmp_path / "log") == [3, 4]
    expiring.write_bytes(content)
    log = open_log(tmp_path)
    assert segment_numbers(tmp_path / "log") == [3, 4]
    assert (log.describe().retained_from, log.describe().damage) == (20, [])
    log.close()


def test_what_has_expired_is_not_missed_whatever_an_old_manifest_says(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20)
    old = (tmp_path / "log" / MANIFEST).read_bytes()
    append(log, 1000, 1001)
    log.close()
    for manifest in (old, b""):
        (tmp_path / "log" / MANIFEST).write_bytes(manifest)
        log = open_log(tmp_path)
        assert (log.describe().retained_from, log.describe().damage) == (20, [])
        assert times(LogReader(tmp_path / "log")) == [1000, 1001]
        log.close()


def test_what_has_expired_by_the_clock_alone_is_not_missed_whatever_an_old_manifest_says(tmp_path: Path) -> None:
    now = [1000]

    def opened() -> StreamLog:
        return StreamLog.open(tmp_path / "log", arrival_stream(retention=100), lambda: now[0], segment_bytes=1)

    log = opened()
    for _ in range(3):
        log.append(request((None, [triple("a")])))
        now[0] += 30
    old = (tmp_path / "log" / MANIFEST).read_bytes()
    now[0] = 1150
    log.tick()
    log.close()
    assert segment_numbers(tmp_path / "log") == [3]
    (tmp_path / "log" / MANIFEST).write_bytes(old)
    log = opened()
    assert (log.describe().retained_from, log.describe().damage) == (1030, [])
    log.close()
    now[0] = 1100
    (tmp_path / "log" / MANIFEST).write_bytes(old)
    log = opened()
    assert [damage.what for damage in log.describe().damage] == ["the file is missing"], "it was not to go yet"
    log.close()


def test_a_reader_keeps_what_it_has_read_of_deleted_segments_and_goes_on(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20)
    reader = LogReader(tmp_path / "log")
    assert times(reader) == [10, 20]
    append(log, 1000, 1001)
    assert times(reader) == [10, 20], "as of the last refresh"
    assert reader.refresh()
    assert times(reader) == [1000, 1001]
    log.close()


def test_a_reader_that_comes_too_late_for_a_segment_leaves_it_out(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20)
    reader = LogReader(tmp_path / "log")
    append(log, 1000, 1001)
    assert reader.new_elements() is None
    assert times(reader) == []
    reader.refresh()
    elements = reader.new_elements()
    assert elements is not None
    assert (elements.first, elements.time.to_pylist()) == (2, [1000, 1001])
    assert times(reader) == [1000, 1001]
    log.close()


def test_a_slow_feed_skips_what_was_deleted(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    reader = LogReader(tmp_path / "log")
    append(log, 10, 20, 1000, 1001)
    reader.refresh()
    elements = reader.new_elements()
    assert elements is not None
    assert elements.first == 2
    log.close()


def test_a_small_log_lets_go_of_what_retention_no_longer_covers(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "log", event_stream(retention=5_000), lambda: 0)
    for second in range(60):
        log.append(request((second * 1000, [triple(str(second))])))
    retained = log.describe().retained_from
    log.close()
    assert retained is not None
    assert 45_000 <= retained <= 54_000


def test_a_log_that_queries_keep_is_not_cut_into_small_segments(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "log", event_stream(retention=5_000), lambda: 0)
    log.retain(10**9)
    append(log, *range(0, 60_000, 1000))
    assert segment_numbers(tmp_path / "log") == [1]
    log.retain(0)
    append(log, *range(60_000, 70_000, 1000))
    assert 1 not in segment_numbers(tmp_path / "log"), "once nothing needs it"
    log.close()


def test_what_is_still_needed_as_before_is_no_news_to_readers(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20, 112)
    reader = LogReader(tmp_path / "log")
    for needed, evaluated in ((0, None), (50, 100), (50, 112)):
        log.retain(needed, evaluated)
        assert not reader.refresh()
    log.close()


@pytest.mark.parametrize("failing", ["publish", "unlink"])
def test_what_could_not_be_deleted_is_deleted_later(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path)
    append(log, 10, 20)

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        if failing == "publish":
            patched.setattr(log._manifest, "publish", fail)
            with pytest.raises(Unavailable, match="stored, but"):
                append(log, 1000)
            with pytest.raises(Unavailable, match="stored, but"):
                append(log, 1001)
        else:
            patched.setattr(Path, "unlink", fail)
            append(log, 1000, 1001)
    assert segment_numbers(tmp_path / "log") == [1, 2, 3, 4]
    log.retain(0)
    assert segment_numbers(tmp_path / "log") == [3, 4]
    reader = LogReader(tmp_path / "log")
    assert (reader.begin.segment, reader.retained_from) == (3, 20)
    log.close()
