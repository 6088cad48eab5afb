"""ET on paper: the worked examples of RSP-QL (its time units as milliseconds), and the words of
docs/model.md, "Instants and reports".
"""

from __future__ import annotations

import pytest

from protocol.time import parse_instant
from protocol.windows.instances import content_bounds
from protocol.windows.instants import deciding, evaluation_instants, next_instant, previous_instant
from protocol.windows.spec import CountWindow, Report, Strategy, StreamWindow, TimeWindow, Unit
from protocol.windows.timeline import END, Timeline

CLOSE = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))
CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))
CLOSE_NON_EMPTY = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))


def periodic(period: int, *others: Strategy) -> Report:
    return Report(frozenset({Strategy.PERIODIC, *others}), period)


def in_order(*times: int) -> Timeline:
    timeline = Timeline()
    highest = -(2**60)
    for t in times:
        timeline.extend([t], [highest - 1], [1])
        highest = max(highest, t)
    return timeline


NEARBY = [2, 2, 5, 7, 12]
COUPONS = [8, 15]


def on(stream: str, width: int, slide: int, origin: int, report: Report | None = None) -> StreamWindow:
    return StreamWindow(stream, TimeWindow(width, slide, origin, report), None, False)


def on_count(report: Report) -> StreamWindow:
    """The last element that matches a pattern."""
    return StreamWindow("s", CountWindow(1, Unit.ELEMENTS, report=report, where="ASK { ?s ?p ?o }"), None, False)


def instants(windows: list[StreamWindow], upto: int, **streams: Timeline) -> list[int]:
    return evaluation_instants(windows, streams, None, upto, limit=None)


def test_example_6_the_window_from_4_to_8_holds_carl_at_5_and_eve_at_7() -> None:
    window = TimeWindow(4, 4, 4)
    after, upto = content_bounds(window, 8)
    assert [t for t in NEARBY if after < t <= upto] == [5, 7]


def test_example_7_at_9_the_window_holds_eve_at_7_only() -> None:
    after, upto = content_bounds(TimeWindow(5, 2, 1), 9)
    assert [t for t in NEARBY if after < t <= upto] == [7]


def test_example_9_and_10_the_coupon_window_decides_and_the_query_is_evaluated_at_8_and_16() -> None:
    windows = [on("nearby", 5, 2, 1), on("coupon", 2, 2, 0, CLOSE_NON_EMPTY)]
    streams = {"nearby": in_order(*NEARBY), "coupon": in_order(*COUPONS)}
    assert instants(windows, 20, **streams) == [8, 16]
    nearby = windows[0].window
    assert isinstance(nearby, TimeWindow)
    shoppers = [
        [t for t in NEARBY if after < t <= upto] for after, upto in (content_bounds(nearby, e) for e in (8, 16))
    ]
    assert shoppers == [[5, 7], [12]]


def test_example_11_the_origin_decides_what_the_first_window_captures() -> None:
    # By Definition 12, left-open and right-closed; the example's prose leaves out elements at the very close.
    firsts = [
        content_bounds(window, window.first_close) for window in (TimeWindow(5, 2, origin) for origin in (0, 1, 2))
    ]
    assert [[t for t in NEARBY if o < t <= c] for o, c in firsts] == [[2, 2, 5], [2, 2, 5], [5, 7]]


def test_example_13_content_change_reports_at_each_element_and_window_close_at_each_non_empty_close() -> None:
    nearby = in_order(*NEARBY)
    assert instants([on("nearby", 5, 2, 1, CHANGE)], 20, nearby=nearby) == [2, 5, 7, 12]
    assert instants([on("nearby", 5, 2, 1, CLOSE_NON_EMPTY)], 20, nearby=nearby) == [6, 8, 10, 12, 14, 16]
    assert instants([on("nearby", 5, 2, 1, CLOSE)], 20, nearby=nearby) == [6, 8, 10, 12, 14, 16, 18, 20]


def test_without_a_report_windows_are_reported_when_they_close_with_content() -> None:
    assert instants([on("s", 10, 10, -10)], 50, s=in_order(12, 31)) == [20, 40]


def test_an_element_at_the_close_is_in_the_window_that_closes() -> None:
    assert instants([on("s", 10, 10, -10)], 50, s=in_order(20)) == [20]
    assert instants([on("s", 10, 10, -10)], 50, s=in_order(21)) == [30]


def test_all_windows_decide_if_none_carries_a_report_and_the_union_has_no_doubles() -> None:
    windows = [on("s", 10, 10, -10), on("s", 15, 15, -15), on("s", 10, 10, -10)]
    assert deciding(windows) == windows
    assert instants(windows, 60, s=in_order(5, 25)) == [10, 15, 30]


def test_instants_before_the_epoch_belong_to_the_first_instance_only() -> None:
    assert instants([on("s", 10, 10, -10, CHANGE)], 50, s=in_order(-15, -10, -9, 0, 3)) == [-9, 0, 3]
    assert instants([on("s", 10, 5, -40)], 50, s=in_order(-33)) == [-30, -25]


def test_an_origin_later_than_the_data_leaves_nothing_to_evaluate() -> None:
    later = parse_instant("2100-01-01T00:00:00Z")
    for report in (None, CHANGE, Report(frozenset({Strategy.NON_EMPTY_CONTENT}))):
        windows = [on("s", 10, 10, later, report)]
        assert instants(windows, later, s=in_order(5, 25)) == []
        assert instants(windows, END, s=in_order(5, 25)) == []
    # Without NON_EMPTY_CONTENT the first close is also the first instant at which the window is empty.
    assert instants([on("s", 10, 10, later, CLOSE)], END, s=in_order(5, 25)) == [later + 10]


def test_nothing_is_evaluated_before_the_first_element_of_any_stream() -> None:
    windows = [on("a", 10, 10, -10, CLOSE), on("b", 10, 10, -10, CLOSE)]
    assert instants(windows, 60, a=in_order(35), b=Timeline()) == [40, 50, 60]
    assert instants(windows, 60, a=in_order(35), b=in_order(20)) == [20, 30, 40, 50, 60]
    assert instants(windows, 60, a=Timeline(), b=Timeline()) == []
    assert instants(windows, END, a=Timeline(), b=Timeline()) == []


def test_an_element_without_triples_starts_evaluation_but_enters_nothing() -> None:
    timeline = Timeline()
    timeline.extend([15], [-(2**60)], [0])
    assert instants([on("s", 10, 10, -10, CLOSE)], 40, s=timeline) == [20, 30, 40]
    assert instants([on("s", 10, 10, -10)], 40, s=timeline) == []
    assert instants([on("s", 10, 10, -10, CHANGE)], 40, s=timeline) == []


def test_a_late_element_counts_after_the_watermark_it_met_and_in_no_evaluation_before() -> None:
    timeline = in_order(3)
    timeline.extend([24], [2], [0])
    assert instants([on("s", 30, 10, -30)], 60, s=timeline) == [10, 20, 30]
    timeline.extend([15], [23], [1])
    assert instants([on("s", 30, 10, -30)], 60, s=timeline) == [10, 20, 30, 40]
    assert instants([on("s", 30, 1, -30, CHANGE)], 60, s=timeline) == [3]


def test_a_late_element_fills_no_window_that_closed_at_the_watermark_it_met() -> None:
    timeline = Timeline()
    timeline.extend([31, 8, 9], [-1_000, 30, 30], [0, 1, 1])
    assert instants([on("s", 10, 10, -10)], 60, s=timeline) == []


def test_a_sampling_window_takes_in_only_what_falls_into_its_instances() -> None:
    data = in_order(1, 4, 5, 10, 11, 12, 13, 20)
    assert instants([on("s", 2, 10, 0, CHANGE)], 50, s=data) == [1, 11, 12]
    assert instants([on("s", 2, 10, 0)], 50, s=data) == [2, 12]
    assert instants([on("s", 2, 10, 0, CLOSE)], 50, s=data) == [2, 12, 22, 32, 42]


def test_periodic_instants_count_from_the_first_close_by_default_the_multiples_of_the_period() -> None:
    assert instants([on("s", 10, 5, -10, periodic(4))], 20, s=in_order(3)) == [4, 8, 12, 16, 20]
    assert instants([on("s", 10, 5, 1, periodic(4))], 20, s=in_order(3)) == [11, 15, 19]


def test_strategies_of_one_window_are_a_conjunction() -> None:
    data = in_order(3, 12, 30)
    # At 8 the present window is (6, 8], at 32 it is (30, 32]: the element at 30 was in the one before.
    non_empty = periodic(4, Strategy.NON_EMPTY_CONTENT)
    assert instants([on("s", 6, 6, -6, non_empty)], 40, s=data) == [4, 12]
    assert instants([on("s", 6, 6, -6, periodic(4, Strategy.ON_WINDOW_CLOSE))], 40, s=data) == [12, 24, 36]
    on_change = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.ON_CONTENT_CHANGE}))
    assert instants([on("s", 6, 6, -6, on_change)], 40, s=data) == [12, 30]


def test_after_the_end_the_last_instant_is_the_first_with_all_windows_empty() -> None:
    # (0, 10] holds 5, (5, 15] does not: evaluated once more, empty, at 15.
    assert instants([on("s", 10, 5, -10, CLOSE)], END, s=in_order(5)) == [5, 10, 15]
    # A wider window that does not decide keeps the query going until it is empty too: after (0, 30] closed.
    windows = [on("s", 10, 5, -10, CLOSE), on("s", 30, 30, -30)]
    assert instants(windows, END, s=in_order(5)) == [5, 10, 15, 20, 25, 30, 35]
    assert instants([on("s", 10, 5, -10, periodic(7))], END, s=in_order(5)) == [7, 14]


def test_after_the_end_a_policy_that_asks_for_content_stops_with_the_content() -> None:
    assert instants([on("s", 10, 5, -10)], END, s=in_order(5)) == [5, 10]
    assert instants([on("s", 10, 5, -10, CHANGE)], END, s=in_order(5)) == [5]


def test_after_the_end_a_report_that_content_decides_on_and_that_may_hold_for_ever_ends_at_once() -> None:
    # The window keeps its element, and holds something at every instant from 5 on if WHERE lets it in.
    data = Timeline(counting=True)
    data.extend([5], [4], [1])
    kept = on_count(Report(frozenset({Strategy.NON_EMPTY_CONTENT})))
    assert instants([kept], END, s=data) == [5]
    assert instants([on_count(periodic(10, Strategy.NON_EMPTY_CONTENT))], END, s=data) == [10]
    # It is not known to hold anything: the end is with an instant that time decides on.
    assert instants([kept, on("s", 10, 10, -10, periodic(4))], END, s=data) == [5, 6, 7, 8, 9, 10, 11, 12]


def test_what_a_said_watermark_closed_stays_closed_after_the_end() -> None:
    timeline = in_order(5)
    timeline.advance(42)
    assert instants([on("s", 10, 10, -10, CLOSE)], 42, s=timeline) == [10, 20, 30, 40]
    assert instants([on("s", 10, 10, -10, CLOSE)], END, s=timeline) == [10, 20, 30, 40]


def test_a_stream_that_told_its_end_needs_no_end_as_the_bound() -> None:
    timeline = in_order(5)
    timeline.advance(END)
    windows = [on("s", 10, 10, -10, CLOSE)]
    assert instants(windows, 1_000, s=timeline) == [10, 20]
    assert previous_instant(windows, {"s": timeline}, 1_000, None) == 20


def test_a_stream_that_goes_on_keeps_the_windows_of_an_ended_one_closing() -> None:
    ended, other = in_order(5), in_order(7)
    ended.advance(END)
    windows = [on("a", 10, 10, -10, CLOSE), on("b", 10, 10, -10)]
    assert instants(windows, 55, a=ended, b=other) == [10, 20, 30, 40, 50]


def test_bounds_are_left_open_and_right_closed() -> None:
    windows = [on("s", 10, 10, -10, CLOSE)]
    streams = {"s": in_order(5)}
    assert evaluation_instants(windows, streams, 20, 40, limit=None) == [30, 40]
    assert evaluation_instants(windows, streams, 40, 40, limit=None) == []
    assert next_instant(windows, streams, 40, 49) is None
    assert next_instant(windows, streams, 40, 50) == 50
    assert previous_instant(windows, streams, 40, 30) is None
    assert previous_instant(windows, streams, 40, 29) == 30


def test_a_stream_without_a_timeline_is_an_error() -> None:
    with pytest.raises(KeyError):
        evaluation_instants([on("s", 1, 1, 0)], {}, None, 10, limit=None)
