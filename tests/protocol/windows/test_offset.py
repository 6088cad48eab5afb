"""Windows that end in the past, worked out by hand (docs/model.md, "Windows")."""

from __future__ import annotations

import pytest

from protocol.windows.instances import content_bounds
from protocol.windows.instants import evaluation_instants
from protocol.windows.spec import CountWindow, Report, Strategy, StreamWindow, TimeWindow, Unit, WindowSpec
from protocol.windows.timeline import END, Timeline

CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))
CLOSES = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))


def instants(*windows: WindowSpec, elements: list[tuple[int, int]], upto: int) -> list[int]:
    """ET over one stream of elements of a triple: timestamp and watermark met."""
    timeline = Timeline.of(windows)
    timeline.extend([time for time, _ in elements], [seen for _, seen in elements], [1] * len(elements))
    members = [StreamWindow("s", window, f"http://ex/w{number}", True) for number, window in enumerate(windows)]
    return evaluation_instants(members, {"s": timeline}, None, upto, limit=None)


def test_all_bounds_are_earlier_and_it_closes_as_without() -> None:
    window = TimeWindow(10, 5, -10, offset=7)
    assert [content_bounds(window, t) for t in (5, 8, 10)] == [(-12, -2), (-7, 1), (-7, 3)]
    # At 5 (-12,-2] is empty, at 20 (3,13] as well.
    assert instants(window, elements=[(1, 0), (2, 1)], upto=100) == [10, 15]


def test_an_element_enters_later_and_in_time_if_it_is_late_by_less() -> None:
    window = TimeWindow(100, 100, -100, CHANGE, offset=10)
    assert instants(window, elements=[(1, 0), (5, 4), (3, 12), (2, 12), (4, 13)], upto=100) == [11, 13, 14, 15]


def test_after_the_end_windows_close_until_nothing_can_enter_any_more() -> None:
    plain = TimeWindow(10, 10, -10, CLOSES)
    past = TimeWindow(10, 10, -10, offset=40)
    assert instants(plain, elements=[(5, 4)], upto=END) == [10, 20]
    # (5 + 40) is in the instance that ends at 50; before that all windows are empty from 20 on, and it goes on.
    assert instants(plain, past, elements=[(5, 4)], upto=END) == [10, 20, 30, 40, 50, 60]


def test_after_the_end_nobody_waits_for_what_falls_between_two_samples() -> None:
    plain = TimeWindow(1, 1, -1, CLOSES)
    # The instances that hold something lie in (2k − 1, 2k]: 1 enters at 5, which is in none.
    sampled = TimeWindow(1, 2, -1, offset=4)
    assert instants(plain, sampled, elements=[(1, 0)], upto=END) == [1, 2]


def test_what_retention_takes_leaves_the_shifted_window_too() -> None:
    window = TimeWindow(10, 10, -10, CHANGE, offset=10)
    timeline = Timeline.of([window])
    timeline.extend([1, 5, 12], [0, 4, 11], [1, 1, 1])
    timeline.forget(5)
    members = [StreamWindow("s", window, None, False)]
    assert evaluation_instants(members, {"s": timeline}, None, 100, limit=None) == [15, 22]


def test_a_timeline_serves_what_it_was_made_for() -> None:
    week, day, count = TimeWindow(1, 1, 0, offset=7), TimeWindow(1, 1, 0, offset=1), CountWindow(1, Unit.TRIPLES)
    timeline = Timeline.of([week, TimeWindow(1, 1, 0)])
    assert timeline.serves([week, TimeWindow(5, 5, 0)])
    assert not timeline.serves([week, day])
    assert not timeline.serves([count])
    with pytest.raises(ValueError, match="made for them"):
        timeline.shifted(1)
