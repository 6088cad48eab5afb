from __future__ import annotations

import pytest

from protocol.time import Instant
from protocol.windows.decision import Decision
from protocol.windows.instants import evaluation_instants, next_instant, previous_instant
from protocol.windows.spec import Report, Strategy, StreamWindow, TimeWindow
from protocol.windows.timeline import END, Timeline

SECOND = 1_000
HOUR = 3_600 * SECOND
YEAR = 365 * 24 * HOUR
CLOSE_NON_EMPTY = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))
CLOSE = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))
CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))
NON_EMPTY = Report(frozenset({Strategy.NON_EMPTY_CONTENT}))


class Counting(Timeline):
    """A timeline that counts how often it is asked."""

    def __init__(self, *times: Instant) -> None:
        super().__init__()
        self.asked = 0
        self.extend(times, [t - 1 for t in times], [1] * len(times))

    def latest(self, upto: Instant) -> Instant | None:
        self.asked += 1
        return super().latest(upto)

    def next_entry(self, after: Instant) -> Instant | None:
        self.asked += 1
        return super().next_entry(after)

    def previous_entry(self, upto: Instant) -> Instant | None:
        self.asked += 1
        return super().previous_entry(upto)


def window(width: int, slide: int, report: Report | None, origin: int | None = None) -> list[StreamWindow]:
    return [StreamWindow("s", TimeWindow(width, slide, -width if origin is None else origin, report), None, False)]


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (Report(frozenset()), "at least one strategy"),
        (Report(frozenset({Strategy.PERIODIC})), "longer than zero"),
        (Report(frozenset({Strategy.PERIODIC, Strategy.ON_WINDOW_CLOSE}), 0), "longer than zero"),
        (Report(frozenset({Strategy.PERIODIC}), -5), "longer than zero"),
    ],
)
def test_a_report_that_gives_no_instants_is_refused(report: Report, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Decision.of(TimeWindow(1, 1, 0), report, Timeline())


@pytest.mark.parametrize("slide", [1, SECOND])
def test_a_gap_of_a_year_costs_a_few_steps(slide: int) -> None:
    timeline = Counting(1_000, 1_000 + YEAR)
    streams = {"s": timeline}
    windows = window(5 * slide, slide, CLOSE_NON_EMPTY)
    found = evaluation_instants(windows, streams, None, 2 * YEAR, limit=None)
    assert found == [*range(1_000, 1_000 + 5 * slide, slide), *range(1_000 + YEAR, 1_000 + YEAR + 5 * slide, slide)]
    assert timeline.asked < 50
    timeline.asked = 0
    assert next_instant(windows, streams, 1_000 + 4 * slide, 2 * YEAR) == 1_000 + YEAR
    assert previous_instant(windows, streams, 1_000 + YEAR, None) == 1_000 + 4 * slide
    assert previous_instant(windows, streams, 2 * YEAR, None) == 1_000 + YEAR + 4 * slide
    assert timeline.asked < 50


def test_a_gap_of_a_year_is_jumped_where_every_instant_with_content_counts() -> None:
    timeline = Counting(0, YEAR)
    windows = window(3, 2, NON_EMPTY)
    # The close at 2 is of (-1, 2]; from 3 on (1, 4] is present, which does not hold the element at 0.
    assert evaluation_instants(windows, {"s": timeline}, None, 2 * YEAR, limit=None) == [
        0, 1, 2, YEAR, YEAR + 1, YEAR + 2,
    ]  # fmt: skip
    assert timeline.asked < 50


def test_a_window_that_slides_continuously_over_a_day_is_evaluated_at_its_elements_only() -> None:
    times = list(range(0, 100 * SECOND, SECOND))
    timeline = Counting(*times)
    windows = window(24 * HOUR, 1, CHANGE)
    assert evaluation_instants(windows, {"s": timeline}, None, YEAR, limit=None) == times
    assert timeline.asked <= 2 * len(times) + 10
    timeline.asked = 0
    assert evaluation_instants(windows, {"s": timeline}, None, END, limit=None) == times
    assert previous_instant(windows, {"s": timeline}, YEAR, None) == times[-1]
    assert timeline.asked <= 2 * len(times) + 10


def test_empty_windows_close_all_through_a_year_and_the_limit_bounds_the_work() -> None:
    timeline = Counting(0, YEAR)
    windows = window(SECOND, SECOND, CLOSE)
    found = evaluation_instants(windows, {"s": timeline}, HOUR, YEAR, limit=500)
    assert found == list(range(HOUR + SECOND, HOUR + 501 * SECOND, SECOND))
    assert timeline.asked < 1_000


def test_sampling_leaps_over_dense_data_between_its_instances() -> None:
    timeline = Counting(*range(0, 3 * HOUR, 100))
    for report in (NON_EMPTY, CHANGE):
        windows = window(200, HOUR, report, origin=0)
        timeline.asked = 0
        found = evaluation_instants(windows, {"s": timeline}, None, 3 * HOUR, limit=None)
        assert found[0] == 100
        assert found[-1] == 2 * HOUR + 200
        assert previous_instant(windows, {"s": timeline}, 2 * HOUR, None) == HOUR + 200
        assert timeline.asked < 2 * len(found) + 50


def test_rare_beats_leap_over_dense_data() -> None:
    timeline = Counting(*range(0, 2 * HOUR, 100))
    windows = window(HOUR, 1, Report(frozenset({Strategy.ON_CONTENT_CHANGE, Strategy.PERIODIC}), 30 * 60 * SECOND))
    found = evaluation_instants(windows, {"s": timeline}, None, 3 * HOUR, limit=None)
    assert found == [0, HOUR // 2, HOUR, HOUR + HOUR // 2]
    assert previous_instant(windows, {"s": timeline}, HOUR, None) == HOUR // 2
    assert timeline.asked < 50


def test_the_end_of_a_stream_is_found_without_walking_to_it() -> None:
    timeline = Counting(0, SECOND)
    windows = window(YEAR, 1, CLOSE)
    streams = {"s": timeline}
    assert previous_instant(windows, streams, END + 1, None) == SECOND + YEAR
    assert next_instant(windows, streams, SECOND + YEAR, END) is None
    assert next_instant(windows, streams, SECOND + YEAR - 1, END) is not None
    assert timeline.asked < 50
