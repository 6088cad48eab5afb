"""Partitions of a log: its watermark is the least of theirs, exactly as docs/model.md says, also after a crash."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.streams import InvalidPartition, StreamSettings, TimeKind
from protocol.time import BEFORE_ALL
from protocol.windows.timeline import END
from spark_backend.log.appending.group import Operation
from spark_backend.log.appending.request_keys import RequestKey
from spark_backend.log.format.columns import LATEST
from spark_backend.log.format.request import check_request
from spark_backend.log.format.segment import segment_numbers, segment_path
from spark_backend.log.partitions import partition_name
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog, finish_copy
from tests.spark_backend.log.log_oracle import request, triple


def divided(partitions: int, lateness: int = 0, retention: int = 10**9) -> StreamSettings:
    return StreamSettings(
        "http://ex/s", TimeKind.EVENT, allowed_lateness=lateness, retention=retention, partitions=partitions
    )


def opened(directory: Path, of: StreamSettings, segment_bytes: int = 10**6) -> StreamLog:
    return StreamLog.open(directory, of, lambda: 0, segment_bytes=segment_bytes)


def append(log: StreamLog, partition: str | None, *times: int) -> int | None:
    return log.append(request(*((time, [triple(f"t{time}")]) for time in times)), partition=partition).watermark


def state(log: StreamLog) -> tuple[object, ...]:
    """All that is durable of it."""
    counts = log.describe()
    partitions = {name: (one.watermark, one.waits) for name, one in counts.partitions.items()}
    return counts.elements, counts.late, counts.watermark, partitions, log.positions


@dataclass
class Naive:
    """A stream that keeps a watermark a partition, and looks at all of them after each element."""

    own: dict[str, int]
    lateness: int
    watermark: int = BEFORE_ALL
    late: int = 0
    elements: list[tuple[int, int]] = field(default_factory=list)

    def append(self, times: Iterable[int], partition: str | None) -> None:
        for time in times:
            self.late += time <= self.watermark
            self.elements.append((time, self.watermark))
            self.advance(time - self.lateness - 1, partition)

    def advance(self, watermark: int, partition: str | None) -> None:
        for name in self.own if partition is None else [partition]:
            self.own[name] = max(self.own[name], watermark)
        least = min(self.own.values(), default=watermark)
        self.watermark = max(self.watermark, least)

    def know(self, name: str) -> None:
        self.own.setdefault(name, BEFORE_ALL)


names = st.none() | st.sampled_from("012")
times = st.lists(st.integers(0, 60), max_size=4)
steps = st.tuples(st.just("append"), names, times) | st.tuples(st.just("advance"), names, st.integers(0, 60))
known = st.tuples(st.just("know"), st.sampled_from(["t/0", "t/1"]), st.just(0))


@settings(deadline=None)
@given(
    st.lists(st.lists(steps | known, min_size=1, max_size=4), max_size=12), st.integers(0, 10), st.integers(200, 3000)
)
def test_what_elements_meet_is_what_one_by_one_they_would_meet(
    groups: list[list[tuple[str, str | None, list[int] | int]]], lateness: int, segment_bytes: int
) -> None:
    naive = Naive(dict.fromkeys("012", BEFORE_ALL), lateness)
    of = divided(3, lateness)
    with TemporaryDirectory() as directory:
        log = opened(Path(directory), of, segment_bytes)
        for group in groups:
            operations = []
            for kind, name, what in group:
                if kind == "append" and isinstance(what, list):
                    naive.append(what, name)
                    batch = request(*((time, [triple("a")]) for time in what))
                    operations.append(Operation(check_request(batch, of.time), partition=name))
                elif kind == "advance" and isinstance(what, int):
                    naive.advance(what, name)
                    operations.append(Operation(what if name is None else {name: what}))
                elif name is not None:
                    naive.know(name)
                    operations.append(Operation({name: BEFORE_ALL}))
            log._commit_all(operations)  # one write for all of them, as for clients that come at once
            before = state(log)
            log.close()
            log = opened(Path(directory), of, segment_bytes)
            assert state(log) == before
        reader = LogReader(Path(directory))
        elements = reader.new_elements()
        there = [] if elements is None else zip(elements.time.to_pylist(), elements.seen.to_pylist(), strict=True)
        assert list(there) == naive.elements
        assert (reader.watermark, reader.late) == (naive.watermark, naive.late)
        assert {name: one.watermark for name, one in log.describe().partitions.items()} == {
            name: None if max(own, naive.watermark) == BEFORE_ALL else max(own, naive.watermark)
            for name, own in naive.own.items()
        }
        log.close()


@settings(deadline=None)
@given(st.lists(times, max_size=8), st.integers(0, 10))
def test_who_names_no_partition_sees_what_it_sees_without_any(requests: list[list[int]], lateness: int) -> None:
    with TemporaryDirectory() as directory:
        logs = [opened(Path(directory) / str(count), divided(count, lateness)) for count in (1, 5)]
        for one in requests:
            assert append(logs[0], None, *one) == append(logs[1], None, *one)
        for log in logs:
            log.close()
        whole = [segment_path(Path(directory) / str(count), 1).read_bytes() for count in (1, 5)]
        assert whole[0] == whole[1]


def test_a_log_that_is_cut_at_any_byte_has_the_partitions_of_its_elements(tmp_path: Path) -> None:
    of = divided(3, lateness=2)
    log = opened(tmp_path / "s", of)
    states = [(log.describe().bytes, state(log))]
    moves = [("0", [5, 9]), ("1", [30]), ("2", [7, 3]), (None, [20]), ("0", [60]), ("2", [1]), ("1", [61])]
    for partition, at in moves:
        append(log, partition, *at)
        states.append((log.describe().bytes, state(log)))
    log.know_partitions(["t/0"])
    states.append((log.describe().bytes, state(log)))
    log.advance({"t/0": 50, "2": 45})
    states.append((log.describe().bytes, state(log)))
    log.close()
    assert len({repr(one) for _, one in states}) == len(states)
    whole = segment_path(tmp_path / "s", 1).read_bytes()
    for length in range(states[0][0], len(whole) + 1, 24):
        directory = tmp_path / "cut"
        directory.mkdir()
        segment_path(directory, 1).write_bytes(whole[:length])
        cut = opened(directory, of)
        assert state(cut) == [one for size, one in states if size <= length][-1], length
        cut.close()
        shutil.rmtree(directory)


def test_partitions_outlive_the_segments_they_moved_in(tmp_path: Path) -> None:
    of = divided(3, retention=5_000)
    log = opened(tmp_path / "s", of, 3000)
    log.advance({"0": 10**6})
    append(log, "1", 10)
    for time in range(0, 200_000, 1000):
        append(log, "2" if time % 3 else None, time)
    assert segment_numbers(tmp_path / "s")[0] > 1
    before = state(log)
    assert log.describe().partitions["0"].watermark == 10**6
    with log.at_rest():
        log.copy_to(tmp_path / "copy")
    log.close()
    finish_copy(tmp_path / "copy")
    (tmp_path / "copy" / "manifest").unlink()
    for directory in (tmp_path / "s", tmp_path / "copy"):
        again = opened(directory, of)
        assert state(again) == before
        again.close()


def test_a_partition_that_has_had_nothing_holds_the_watermark_back(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", divided(2))
    assert append(log, "0", 100, 200) is None
    assert {name: one.waits for name, one in log.describe().partitions.items()} == {"0": False, "1": True}
    assert append(log, "1", 50) == 49
    assert append(log, "1", 49) == 49
    counts = log.describe()
    assert (counts.late, counts.first) == (1, 50)
    assert log.advance({"1": 300}) == 199
    assert log.advance(250) == 250
    assert {name: one.watermark for name, one in log.describe().partitions.items()} == {"0": 250, "1": 300}
    log.close()


def test_a_partition_that_becomes_known_holds_the_watermark_where_it_is(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", divided(1))
    assert append(log, None, 100) == 99
    log.know_partitions([])
    log.know_partitions(["t/0", "t/1"])
    size = log.describe().bytes
    log.know_partitions(["t/1"])
    assert log.describe().bytes == size
    assert append(log, "t/0", 200) == 99
    # One that nobody has told of is known from its first elements on.
    assert append(log, "t/2", 150) == 99
    assert append(log, "t/1", 170) == 149
    log.close()
    assert StreamLog.open(tmp_path / "s", divided(1), lambda: 0).describe().partitions["t/0"].watermark == 199


def test_the_end_is_that_of_all_partitions(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", divided(2))
    append(log, "0", 100)
    log.end()
    size = log.describe().bytes
    assert log.advance({"1": 300}) == END
    assert log.describe().bytes == size
    log.close()


def test_a_watermark_of_a_partition_is_not_beyond_the_last_possible(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", divided(2))
    with pytest.raises(ProtocolError, match="too far ahead"):
        log.advance({"1": LATEST + 1})
    log.close()


def test_partitions_say_nothing_in_a_stream_of_arrival_time(tmp_path: Path) -> None:
    of = StreamSettings("http://ex/s", TimeKind.ARRIVAL, partitions=4)
    log = StreamLog.open(tmp_path / "s", of, lambda: 1000)
    log.know_partitions(["t/0"])
    receipt = log.append(request((None, [triple("a")])), partition="t/0")
    assert (receipt.watermark, log.describe().partitions, log.positions) == (999, {}, {})
    assert partition_name(of, 3) is None
    log.close()


@pytest.mark.parametrize(
    ("partitions", "number", "what"),
    [(4, 4, "no partition 4: its partitions are 0 to 3"), (4, -1, "0 to 3"), (1, 1, "leave the partition out")],
)
def test_a_partition_that_the_stream_does_not_have_is_refused(partitions: int, number: int, what: str) -> None:
    with pytest.raises(InvalidPartition, match=what):
        partition_name(divided(partitions), number)


def test_the_numbers_of_partitions_are_their_names() -> None:
    assert [partition_name(divided(3), number) for number in (None, 0, 2)] == [None, "0", "2"]
    assert partition_name(divided(1), 0) is None


def test_a_request_that_comes_again_under_its_key_moves_no_partition(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", divided(2))
    key = RequestKey.of("k", b"body", "text/turtle", 5, "0")
    first = log.append(request((100, [triple("a")])), key, partition="0")
    append(log, "1", 50)
    before = state(log)
    assert log.append(request((100, [triple("a")])), key, partition="0") == first
    assert state(log) == before
    log.close()


def test_a_key_is_of_the_partition_too() -> None:
    keys = [RequestKey.of("k", b"body", "text/turtle", 5, partition) for partition in (None, "0", "1")]
    assert len({key.key for key in keys}) == 1
    assert len({key.body for key in keys}) == 3
