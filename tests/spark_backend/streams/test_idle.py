"""Event streams that pause: the watermark goes on with the server's clock after the timeout."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.evaluations import Evaluation
from protocol.streams import StreamSettings, TimeKind
from spark_backend.streams.idle import IdleClock
from tests.spark_backend.stepped_backend import SteppedBackend

TUMBLING = "SELECT ?s FROM STREAM <http://ex/s> [RANGE 5s] WHERE { ?s ?p ?o }"


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path, clock=1_000_000)
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, idle_timeout=30_000)
    stepped.backend.create_stream("s", settings)
    yield stepped
    stepped.close()


def tick(stepped: SteppedBackend, now: int) -> int | None:
    stepped.now = now
    stepped.backend._streams.tick()
    return stepped.backend.stream("s").watermark


def test_the_watermark_of_an_idle_stream_goes_on_from_where_it_stopped(stepped: SteppedBackend) -> None:
    stepped.register("q", TUMBLING)
    stepped.post("s", "<http://ex/a> <http://ex/p> 1 .", 2_000)
    assert tick(stepped, 1_000_000) == 1_999
    assert tick(stepped, 1_029_999) == 1_999
    stepped.run()
    assert stepped.answers("q") == {}
    assert tick(stepped, 1_030_000) == 31_999
    stepped.run()
    assert list(stepped.answers("q")) == [5_000]
    # Each move is written: not more often than once a second.
    assert tick(stepped, 1_030_999) == 31_999
    assert tick(stepped, 1_031_000) == 32_999


def test_a_stream_that_has_no_time_yet_stays_without(stepped: SteppedBackend) -> None:
    assert tick(stepped, 1_000_000) is None
    assert tick(stepped, 2_000_000) is None


def test_whatever_comes_begins_the_timeout_again_and_late_elements_do_not_step_back(stepped: SteppedBackend) -> None:
    stepped.post("s", "<http://ex/a> <http://ex/p> 1 .", 2_000)
    tick(stepped, 1_000_000)
    assert tick(stepped, 1_040_000) == 41_999
    stepped.post("s", "<http://ex/b> <http://ex/p> 2 .", 3_000)
    assert stepped.backend.stream("s").late == 1
    assert tick(stepped, 1_045_000) == 41_999
    assert tick(stepped, 1_074_999) == 41_999
    assert tick(stepped, 1_075_000) == 71_999
    stepped.backend.advance("s", 80_000)
    assert tick(stepped, 1_076_000) == 80_000
    assert tick(stepped, 1_105_999) == 80_000
    assert tick(stepped, 1_106_000) == 110_000


def test_a_clock_that_is_set_moves_no_watermark_however_often(stepped: SteppedBackend) -> None:
    stepped.post("s", "<http://ex/a> <http://ex/p> 1 .", 2_000)
    tick(stepped, 1_000_000)
    for second in range(60):
        stepped.set_by = (0, -3_600_000, 7_200_000)[second % 3]
        reached = 1_999 + 1_000 * second if second >= 30 else 1_999
        assert tick(stepped, 1_000_000 + 1_000 * second) == reached


def test_an_ended_stream_stays_as_it_is(stepped: SteppedBackend) -> None:
    stepped.post("s", "<http://ex/a> <http://ex/p> 1 .", 2_000)
    tick(stepped, 1_000_000)
    stepped.backend.end_stream("s")
    assert tick(stepped, 2_000_000) is None
    assert stepped.backend.stream("s").ended


def test_what_was_moved_is_in_the_log_and_a_replay_gives_the_same_after_a_restart(
    tmp_path: Path, stepped: SteppedBackend
) -> None:
    stepped.register("q", TUMBLING.replace("RANGE 5s", "RANGE 5s STEP 5s REPORT ON_WINDOW_CLOSE"))
    stepped.post("s", "<http://ex/a> <http://ex/p> 1 .", 2_000)
    tick(stepped, 1_000_000)
    tick(stepped, 1_030_000)
    stepped.post("s", "<http://ex/b> <http://ex/p> 2 .", 4_000)  # late: those windows are closed
    stepped.run()
    told = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert [evaluation.instant for evaluation in told] == [5_000, 10_000, 15_000, 20_000, 25_000, 30_000]
    stepped.close()
    (tmp_path / "streams" / "s.1" / "manifest").unlink()
    again = SteppedBackend(tmp_path, clock=3_000_000)
    try:
        assert again.backend.stream("s").watermark == 31_999
        assert list(again.backend.replay("q", None, 10**9)) == told
        # The server was away: its clock is looked at from now on.
        again.backend._streams.tick()
        assert again.backend.stream("s").watermark == 31_999
    finally:
        again.close()


@pytest.fixture
def divided(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path, clock=1_000_000)
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, idle_timeout=30_000, partitions=3)
    stepped.backend.create_stream("s", settings)
    tick(stepped, 1_000_000)
    yield stepped
    stepped.close()


def post(stepped: SteppedBackend, at: int, partition: int | None) -> None:
    stepped.backend.append("s", b"<http://ex/a> <http://ex/p> 1 .", "text/turtle", at, partition=partition)


def partitions(stepped: SteppedBackend) -> list[int | None]:
    return list(stepped.backend.stream("s").partitions.values())


def test_a_partition_that_has_had_nothing_holds_the_others_no_longer_than_the_timeout(divided: SteppedBackend) -> None:
    post(divided, 2_001, 0)
    post(divided, 5_001, 1)
    assert tick(divided, 1_029_000) is None
    assert divided.backend.stream("s").waiting_for == ("2",)
    # The others have been heard of less long ago.
    post(divided, 3_001, 0)
    post(divided, 6_001, 1)
    assert tick(divided, 1_030_000) == 3_000
    assert partitions(divided) == [3_000, 6_000, 3_000]
    assert divided.backend.stream("s").waiting_for == ()


def test_an_idle_partition_does_not_hold_back_those_that_go_faster_than_the_clock(divided: SteppedBackend) -> None:
    post(divided, 1_001, 2)
    tick(divided, 1_000_200)
    for second in range(1, 40):
        now = 1_000_200 + 1_000 * second
        post(divided, 60_000 * second + 1, 0)
        post(divided, 60_000 * second + 1, 1)
        assert tick(divided, now) == (1_000 if second < 30 else 60_000 * second), second
    # Its own move is no activity, and what it says itself ends the pause: it is late where it is behind.
    post(divided, 50_001, 2)
    assert divided.backend.stream("s").late == 1
    post(divided, 60_000 * 40 + 1, 0)
    post(divided, 60_000 * 40 + 1, 1)
    assert tick(divided, 1_041_200) == 60_000 * 39


def test_where_all_partitions_are_idle_each_goes_on_with_the_clock(divided: SteppedBackend) -> None:
    post(divided, 2_001, 0)
    post(divided, 5_001, 1)
    tick(divided, 1_000_200)
    # The one that has had nothing begins where the least of the others stopped.
    assert tick(divided, 1_030_200) == 2_000
    assert partitions(divided) == [32_000, 35_000, 2_000]
    assert tick(divided, 1_031_100) == 2_000
    assert tick(divided, 1_031_200) == 3_000
    assert partitions(divided) == [33_000, 36_000, 3_000]


def test_what_is_said_of_no_partition_is_activity_of_all(divided: SteppedBackend) -> None:
    post(divided, 2_001, None)
    tick(divided, 1_001_000)
    tick(divided, 1_030_000)
    post(divided, 2_001, None)
    assert tick(divided, 1_031_000) == 2_000
    assert tick(divided, 1_060_900) == 2_000
    assert tick(divided, 1_061_000) == 32_000


@given(st.integers(1, 5_000), st.lists(st.integers(1, 3_000), max_size=30))
def test_moves_are_at_least_a_tenth_of_a_second_apart_and_never_ahead_of_the_clock(
    timeout: int, waits: list[int]
) -> None:
    clock, now, watermark, moves = IdleClock(timeout), 0, 0, []
    assert clock.due(1, watermark, now) is None
    for wait in waits:
        now += wait
        due = clock.due(1, watermark, now)
        if due is not None:
            assert due == now >= timeout
            watermark = due
            moves.append(now)
            clock.moved(1, watermark)
    assert all(later - earlier >= 100 for earlier, later in pairwise(moves))
