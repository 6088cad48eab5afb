"""Windows by count, at the instant and from a landmark on, worked out by hand, with retention and restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from protocol.evaluations import Ended, Evaluation, Failed
from protocol.streams import StreamSettings, TimeKind
from protocol.time import LAST_INSTANT
from spark_backend.log import writer
from tests.spark_backend.stepped_backend import SteppedBackend

Keeping = Callable[[int], SteppedBackend]


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    yield stepped
    stepped.close()


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keeping:
    """A backend whose stream is kept for so long, in segments of a few elements; not closed."""
    monkeypatch.setattr(writer.StreamLog, "open", partial(writer.StreamLog.open, segment_bytes=1500))

    def begun(retention: int) -> SteppedBackend:
        stepped = SteppedBackend(tmp_path)
        stepped.backend.create_stream("s", StreamSettings("http://ex/s", TimeKind.EVENT, retention=retention))
        return stepped

    return begun


def query(window: str) -> str:
    return f"SELECT ?v FROM STREAM <http://ex/s> [{window}] WHERE {{ ?s <http://ex/v> ?v }} ORDER BY ?v"


def post(stepped: SteppedBackend, at: int, *values: int) -> None:
    stepped.post("s", "".join(f"<http://ex/a> <http://ex/v> {value} . " for value in values), at)


def values(stepped: SteppedBackend, name: str = "q") -> dict[int, list[int]]:
    stepped.run()
    return {instant: solutions(data) for instant, data in stepped.answers(name).items()}


def solutions(data: bytes) -> list[int]:
    return [int(binding["v"]["value"]) for binding in json.loads(data)["results"]["bindings"]]


def bounds(stepped: SteppedBackend, instant: int) -> list[str]:
    ((_, told),) = json.loads(stepped.answers("q")[instant])["evaluation"]["windows"].items()
    return list(told)


def test_the_last_triples_are_those_last_sent_and_the_window_closes_with_each_step(stepped: SteppedBackend) -> None:
    stepped.register("q", query("TRIPLES 3 STEP 2"))
    post(stepped, 1, 10)
    post(stepped, 2, 7, 8, 9)  # 4 in all: past 2 and 4 at once
    post(stepped, 5, 10)
    post(stepped, 6, 10)  # the same triple again counts, and is in the graph once
    post(stepped, 9, 1)
    stepped.backend.advance("s", 20)
    assert values(stepped) == {2: [7, 8, 9], 6: [9, 10]}
    assert bounds(stepped, 6) == ["1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.006Z"]


def test_of_an_element_with_more_triples_than_fit_those_further_back_in_it_stay(stepped: SteppedBackend) -> None:
    stepped.register("q", query("TRIPLES 2"))
    post(stepped, 1, 5, 3, 4, 1)
    stepped.backend.advance("s", 20)
    assert values(stepped) == {1: [1, 4]}


def test_the_last_elements_have_all_of_their_triples_and_empty_ones_do_not_count(stepped: SteppedBackend) -> None:
    stepped.register("q", query("ELEMENTS 2"))
    post(stepped, 1, 1, 2)
    post(stepped, 3)
    post(stepped, 4, 3)
    post(stepped, 4, 4, 5)
    stepped.backend.advance("s", 20)
    assert values(stepped) == {1: [1, 2], 4: [3, 4, 5]}


def test_a_late_element_counts_after_the_watermark_it_met_at_its_place_in_time(stepped: SteppedBackend) -> None:
    stepped.register("q", query("ELEMENTS 2"))
    post(stepped, 10, 1)
    post(stepped, 20, 2)
    post(stepped, 15, 3)  # late: the watermark is 19
    stepped.backend.advance("s", 30)
    assert values(stepped) == {10: [1], 20: [2, 3]}


def test_now_holds_the_elements_at_the_instant(stepped: SteppedBackend) -> None:
    stepped.register("q", query("NOW"))
    post(stepped, 3, 1)
    post(stepped, 3, 2)
    post(stepped, 4, 3)
    stepped.backend.advance("s", 20)
    assert values(stepped) == {3: [1, 2], 4: [3]}
    assert bounds(stepped, 4) == ["1970-01-01T00:00:00.003Z", "1970-01-01T00:00:00.004Z"]


def test_a_landmark_holds_all_since_then_at_its_steps_or_on_change(stepped: SteppedBackend) -> None:
    post(stepped, 1, 1)
    post(stepped, 3, 2)
    stepped.register("steps", query("LANDMARK 1 STEP 4"), since=-1)
    stepped.register("changes", query("LANDMARK 1"), since=-1)
    stepped.register("own", query("LANDMARK STEP 4"))  # starts at the watermark 2
    post(stepped, 6, 3)
    stepped.backend.advance("s", 10)
    assert values(stepped, "steps") == {5: [2], 9: [2, 3]}
    assert values(stepped, "changes") == {3: [2], 6: [2, 3]}
    assert values(stepped, "own") == {4: [2], 8: [2, 3]}


def test_a_query_that_goes_on_has_a_landmark_where_it_was(stepped: SteppedBackend) -> None:
    post(stepped, 1, 1)
    post(stepped, 3, 2)
    stepped.register("first", query("LANDMARK"), standing=False)  # starts at the watermark 2
    post(stepped, 6, 3)
    post(stepped, 8, 4)
    stepped.backend.advance("s", 10)
    assert values(stepped, "first") == {3: [2], 6: [2, 3], 8: [2, 3, 4]}
    assert stepped.backend.query("first").landmark == 2
    stepped.register("again", query("LANDMARK"), standing=False, since=5, landmark=2)
    assert values(stepped, "again") == {6: [2, 3], 8: [2, 3, 4]}
    assert stepped.backend.query("again").landmark == 2
    told = [one for one in stepped.backend.replay("again", 6, LAST_INSTANT) if isinstance(one, Evaluation)]
    assert [(one.instant, one.landmark) for one in told] == [(8, 2)]
    # Of others it is nothing that answers depend on, nor of a standing one, which has the same start for ever.
    stepped.register("range", query("RANGE 2"), standing=False)
    stepped.register("standing", query("LANDMARK"))
    assert {stepped.backend.query(name).landmark for name in ("range", "standing")} == {None}


def test_a_landmark_is_no_further_back_than_its_stream_is_held(keeping: Keeping) -> None:
    stepped = keeping(1_000)
    for at in range(1, 41):
        post(stepped, at * 1_000, at)
        stepped.backend._progress.say()
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 20_000 < held < 39_000
    for landmark in (5_000, 39_500):
        stepped.register("q", query("LANDMARK"), standing=False, since=39_999, landmark=landmark)
        assert stepped.backend.query("q").landmark == max(held, landmark)
    stepped.close()


def test_after_the_end_a_landmark_closes_once_more_and_not_for_ever(stepped: SteppedBackend) -> None:
    stepped.register("q", query("LANDMARK STEP 10"))
    post(stepped, 3, 1)
    post(stepped, 12, 2)
    stepped.backend.end_stream("s")
    assert values(stepped) == {10: [1], 20: [1, 2]}


def test_a_window_by_count_is_present_whenever_another_one_decides(stepped: SteppedBackend) -> None:
    stepped.register(
        "q",
        """SELECT ?v FROM NAMED WINDOW <http://ex/last> ON <http://ex/s> [TRIPLES 2]
           FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10 REPORT ON_WINDOW_CLOSE]
           WHERE { WINDOW <http://ex/last> { ?s <http://ex/v> ?v } } ORDER BY ?v""",
    )
    for at in (1, 2, 3, 14):
        post(stepped, at, at)
    stepped.backend.advance("s", 30)
    assert values(stepped) == {10: [2, 3], 20: [3, 14], 30: [3, 14]}


def test_the_plan_says_what_the_windows_hold(stepped: SteppedBackend) -> None:
    for window, said in (
        ("RANGE 1h STEP 5m OFFSET 7d", "range PT1H, step PT5M, all bounds PT168H earlier"),
        ("TRIPLES 5 STEP 2", "the last 5 triples, step 2"),
        ("NOW", "the elements at the instant"),
        ("SESSION 30s", "the sessions that close, with gaps of at most PT30S"),
        ("SESSION 30s PARTITION BY SUBJECT", "the sessions of each subject that close, with gaps of at most PT30S"),
        ("LANDMARK 0 STEP 1s", "all since 1970-01-01T00:00:00Z, step PT1S"),
        ("LANDMARK", "all since the first element"),
    ):
        stepped.register("q", query(window))
        assert said in stepped.backend.plan("q")


def test_retention_keeps_what_count_windows_and_landmarks_hold_and_counting_goes_on_after_a_restart(
    tmp_path: Path, keeping: Keeping
) -> None:
    stepped = keeping(1_000)
    stepped.register("q", query("ELEMENTS 12 STEP 4"))
    for at in range(1, 41):
        post(stepped, at * 1_000, at)
        post(stepped, at * 1_000)  # counts for nothing
        stepped.run()
        stepped.backend._progress.say()
    told = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    last_twelve = {n * 1_000: list(range(max(1, n - 11), n + 1)) for n in range(4, 40, 4)}
    assert {one.instant: solutions(one.data) for one in told} == last_twelve
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 20_000 < held < 29_000
    assert stepped.backend.retained_from("q") == held + 11_999
    stepped.close()

    again = SteppedBackend(tmp_path)
    try:
        again.pipeline.offset = json.loads(json.dumps(stepped.pipeline.offset))
        post(again, 41_000, 41)
        assert values(again) == {40_000: list(range(29, 41))}
    finally:
        again.close()


def test_retention_keeps_what_a_window_of_the_past_reaches_back_to(keeping: Keeping) -> None:
    stepped = keeping(1_000)
    stepped.register("q", query("RANGE 2s STEP 2s OFFSET 10s"))
    for at in range(1, 41):
        post(stepped, at * 1_000, at)
        stepped.run()
        stepped.backend._progress.say()
    told = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    earlier = {n * 1_000: [n - 11, n - 10] for n in range(12, 40, 2)}
    assert {one.instant: solutions(one.data) for one in told} == earlier
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 10_000 < held <= 39_999 - 12_000
    assert stepped.backend.retained_from("q") == held + 11_999
    stepped.close()


def test_retention_keeps_a_session_from_its_beginning_on_as_long_as_it_is_open(keeping: Keeping) -> None:
    stepped = keeping(1_000)
    stepped.register("q", query("SESSION 2s"))
    stepped.register("each", query("SESSION 2s PARTITION BY SUBJECT"))
    for at in [*range(1, 31), *range(41, 61), 70]:
        post(stepped, at * 1_000, at)
        stepped.run()
        stepped.backend._progress.say()
    sessions = {32_000: list(range(1, 31)), 62_000: list(range(41, 61))}
    for name in ("q", "each"):
        told = [notice for notice in stepped.notices if isinstance(notice, Evaluation) and notice.query == name]
        assert {one.instant: solutions(one.data) for one in told} == sessions
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 41_000 < held < 68_000
    # The session that was open when its beginning went is no longer whole.
    assert stepped.backend.retained_from("q") == 62_000
    assert list(stepped.backend.replay("q", 62_000, LAST_INSTANT)) == []
    stepped.close()


def test_the_bounds_of_partitioned_sessions_are_what_they_were_after_retention(keeping: Keeping) -> None:
    stepped = keeping(20_000)
    stepped.register("q", query("SESSION 2s PARTITION BY SUBJECT"))
    for at in range(1, 81):
        if at % 8 < 4:
            post(stepped, at * 1_000, at)
        stepped.run()
        stepped.backend._progress.say()
    assert bounds(stepped, 69_000) == ["1970-01-01T00:01:03.999Z", "1970-01-01T00:01:09Z"]
    held = stepped.backend.retained_from("q")
    assert held is not None
    told = {instant: data for instant, data in stepped.answers("q").items() if instant > held}
    assert len(told) in range(2, 8)
    assert stepped.replayed("q", held) == told
    stepped.close()


def test_a_replay_compares_with_no_answer_that_is_held_in_part(keeping: Keeping) -> None:
    stepped = keeping(45_000)
    stepped.register("q", query("SESSION 2s").replace("SELECT", "SELECT DSTREAM"), since=0)
    for at in range(1, 76):
        post(stepped, at * 1_000, *([at] if at <= 50 or at in (60, 70) else []))
        stepped.run()
        stepped.backend._progress.say()
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 10_000 < held < 50_000
    assert stepped.backend.retained_from("q") == 52_000
    assert values(stepped) == {52_000: [], 62_000: [*range(1, 51)], 72_000: [60]}
    told = {instant: solutions(data) for instant, data in stepped.replayed("q", 52_000).items()}
    assert told == {62_000: [], 72_000: [60]}
    stepped.close()


@pytest.mark.parametrize(
    ("window", "gone"),
    [
        ("RANGE 2s", [29]), ("NOW", [29]), ("ELEMENTS 2", [28]), ("SESSION 2s", [*range(20, 30)]),
        ("SESSION 2s PARTITION BY SUBJECT", [*range(20, 30)]),
    ],
)  # fmt: skip
def test_an_answer_that_the_next_one_is_compared_with_is_kept_until_then(
    tmp_path: Path, keeping: Keeping, window: str, gone: list[int]
) -> None:
    stepped = keeping(1_000)
    stepped.register("q", query(window).replace("SELECT", "SELECT DSTREAM"))
    for at in range(1, 60):
        post(stepped, at * 1_000, *([at] if at < 5 or 8 <= at < 12 or 20 <= at < 30 else []))
        stepped.run()
        stepped.backend._progress.say()
    assert stepped.backend._streams.retained_from("s.1") is not None
    stepped.close()
    again = SteppedBackend(tmp_path)
    try:
        post(again, 60_000, 60)
        again.backend.end_stream("s")
        assert next(iter(values(again).values())) == gone
    finally:
        again.close()


def test_what_would_be_evaluated_after_the_year_9999_is_not(stepped: SteppedBackend) -> None:
    stepped.register("q", query("RANGE 10s STEP 10s"))
    post(stepped, LAST_INSTANT - 12_000, 1)
    post(stepped, LAST_INSTANT, 2)
    stepped.backend.end_stream("s")
    assert values(stepped) == {LAST_INSTANT - 9_999: [1]}
    stepped.backend._progress.say()
    stepped.backend._progress.say()
    assert not [notice for notice in stepped.notices if isinstance(notice, Failed)]
    assert [notice for notice in stepped.notices if isinstance(notice, Ended)]
