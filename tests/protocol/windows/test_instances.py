from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.windows.instances import closes, content_bounds, last_holding, present
from protocol.windows.progression import Progression
from protocol.windows.spec import TimeWindow

windows = st.builds(TimeWindow, st.integers(1, 12), st.integers(1, 12), st.integers(-20, 20))


def instances(window: TimeWindow, upto: int) -> list[tuple[int, int]]:
    """The instances that open before or at ``upto``, and one more, by their definition."""
    found: list[tuple[int, int]] = []
    i = 0
    while not found or found[-1][0] <= upto:
        o = window.origin + i * window.slide
        found.append((o, o + window.width))
        i += 1
    return found


def test_example_7_the_present_window_at_9_is_the_third_and_is_cut_at_9() -> None:
    window = TimeWindow(5, 2, 1)
    assert instances(window, 5)[:3] == [(1, 6), (3, 8), (5, 10)]
    assert present(window, 9) == (5, 10)
    assert content_bounds(window, 9) == (5, 9)


def test_a_window_is_present_up_to_and_including_its_close() -> None:
    window = TimeWindow(5, 2, 1)
    assert present(window, 8) == (3, 8)
    assert content_bounds(window, 8) == (3, 8)


def test_before_the_first_opening_the_first_window_is_present_and_empty() -> None:
    window = TimeWindow(5, 2, 1)
    assert present(window, -100) == (1, 6)
    assert content_bounds(window, -100) == (-100, -100)
    assert content_bounds(window, 1) == (1, 1)
    assert content_bounds(window, 2) == (1, 2)


def test_between_two_samples_the_next_one_is_present_and_empty() -> None:
    window = TimeWindow(2, 10, 0)
    assert present(window, 2) == (0, 2)
    assert present(window, 3) == (10, 12)
    assert content_bounds(window, 3) == (3, 3)
    assert content_bounds(window, 11) == (10, 11)


def test_by_default_every_multiple_of_the_slide_closes_a_window() -> None:
    window = TimeWindow(10_000, 3_000, -10_000)
    assert list(closes(window, -1, 12_000)) == [0, 3_000, 6_000, 9_000, 12_000]


def test_a_sliding_window_of_one_millisecond_step_holds_the_last_range_at_every_instant() -> None:
    window = TimeWindow(1_000, 1, -1_000)
    assert content_bounds(window, 1_700_000_000_123) == (1_699_999_999_123, 1_700_000_000_123)


def test_closes_are_left_open_and_right_closed() -> None:
    window = TimeWindow(5, 2, 1)
    assert list(closes(window, 6, 10)) == [8, 10]
    assert list(closes(window, -50, 6)) == [6]
    assert list(closes(window, 6, 6)) == []
    assert list(closes(window, 7, 3)) == []


@given(windows, st.integers(-40, 60))
def test_the_present_window_is_the_oldest_one_not_closed_before(window: TimeWindow, t: int) -> None:
    oldest = next((o, c) for o, c in instances(window, t + 40) if c >= t)
    assert present(window, t) == oldest
    after, upto = content_bounds(window, t)
    assert set(range(after + 1, upto + 1)) == {s for s in range(-50, t + 1) if oldest[0] < s}
    assert after <= upto == t


@given(windows, st.integers(-40, 60), st.integers(0, 40))
def test_all_closes_are_listed_and_nothing_else(window: TimeWindow, after: int, length: int) -> None:
    upto = after + length
    assert list(closes(window, after, upto)) == [c for _, c in instances(window, upto) if after < c <= upto]


@given(windows, st.integers(-40, 60))
def test_the_last_holding_instance_is_the_last_that_opened_before(window: TimeWindow, t: int) -> None:
    opened = [(o, c) for o, c in instances(window, t) if o < t]
    assert last_holding(window, t) == (opened[-1] if opened else None)


@pytest.mark.parametrize("step", [0, -1])
def test_a_progression_that_does_not_move_on_is_refused(step: int) -> None:
    with pytest.raises(ValueError, match="longer than zero"):
        Progression(0, step)
