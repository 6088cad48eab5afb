from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.time import BEFORE_ALL
from protocol.windows.session_decision import SessionDecision
from protocol.windows.spec import Report, SessionWindow, Strategy, Unit
from protocol.windows.timeline import END, Timeline
from tests.protocol.windows.steps import steps

Element = tuple[int, int, int]
"""Timestamp, watermark at arrival, number of triples."""

elements_in_any_order = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-25, 25) | st.just(BEFORE_ALL), st.integers(0, 2)), max_size=30
)
late_elements = st.lists(st.tuples(st.integers(-20, 0), st.integers(0, 20), st.integers(1, 2)), max_size=30)


def timeline_of(*elements: Element) -> Timeline:
    timeline = Timeline()
    timeline.extend([t for t, _, _ in elements], [w for _, w, _ in elements], [n for _, _, n in elements])
    return timeline


def entry(element: Element) -> int:
    return max(element[0], element[1] + 1)


def test_a_timeline_without_elements_has_no_content_and_no_first_instant() -> None:
    timeline = Timeline()
    timeline.extend([], [], [])
    assert (timeline.first, timeline.last, timeline.advanced) == (None, None, None)
    assert timeline.latest(END) is None
    assert timeline.next_entry(-END) is None
    assert timeline.previous_entry(END) is None
    assert timeline.next_change(-END) is None
    assert not timeline.non_empty(-END, END)
    timeline.forget(5)


def test_an_element_without_triples_moves_time_and_is_never_content() -> None:
    timeline = timeline_of((3, BEFORE_ALL, 0), (7, 2, 0))
    assert (timeline.first, timeline.last) == (3, 7)
    assert not timeline.non_empty(-100, 100)
    assert timeline.next_entry(-100) is None


def test_content_is_what_lies_in_the_left_open_right_closed_interval() -> None:
    timeline = timeline_of((5, BEFORE_ALL, 1))
    assert timeline.non_empty(4, 5)
    assert not timeline.non_empty(5, 9)
    assert not timeline.non_empty(0, 4)


def test_a_late_element_is_content_only_after_the_watermark_it_met() -> None:
    timeline = timeline_of((10, BEFORE_ALL, 0), (4, 9, 2))
    assert not timeline.non_empty(3, 9)
    assert timeline.non_empty(3, 10)
    assert timeline.next_entry(BEFORE_ALL) is None
    assert timeline.next_change(BEFORE_ALL) == 10


def test_of_late_elements_an_older_one_that_comes_afterwards_does_not_hide_a_newer_one() -> None:
    timeline = timeline_of((30, BEFORE_ALL, 0), (8, 19, 1), (4, 24, 1), (9, 19, 1), (2, 24, 1))
    assert timeline.latest(19) is None
    assert timeline.latest(20) == 9
    assert timeline.latest(25) == 9
    assert timeline.next_change(20) is None
    assert not timeline.non_empty(9, 29)


def test_a_late_first_element_moves_the_first_instant_only_past_its_watermark() -> None:
    assert timeline_of((3000, 5000, 1)).first == 5001


def test_an_on_time_element_out_of_order_moves_the_first_instant_back() -> None:
    timeline = timeline_of((100, BEFORE_ALL, 1))
    assert timeline.first == 100
    timeline.extend([60], [49], [1])
    assert (timeline.first, timeline.last) == (60, 100)


def test_the_same_timestamp_twice_is_one_entry() -> None:
    timeline = timeline_of((5, BEFORE_ALL, 1), (5, 4, 3), (5, 4, 1))
    assert timeline.next_entry(4) == 5
    assert timeline.next_entry(5) is None


def test_sequences_of_different_length_are_refused_and_nothing_is_added() -> None:
    timeline = Timeline()
    with pytest.raises(ValueError, match="timestamp, a watermark and triples"):
        timeline.extend([1, 2], [0, 1], [1])
    with pytest.raises(ValueError, match="timestamp, a watermark and triples"):
        timeline.extend([1, 2], [0], [1, 1])
    assert timeline.first is None
    assert timeline.latest(END) is None


def test_an_instant_beyond_64_bits_is_refused_and_nothing_is_added() -> None:
    timeline = Timeline()
    with pytest.raises(OverflowError):
        timeline.extend([1, 2**63], [0, 0], [1, 1])
    with pytest.raises(OverflowError):
        timeline.extend([1, -(2**63) - 1], [0, 4], [1, 1])
    assert timeline.first is None
    assert timeline.latest(END) is None


def test_a_watermark_never_steps_back_and_the_end_keeps_the_one_before_it() -> None:
    timeline = Timeline()
    for watermark in (50, 40):
        timeline.advance(watermark)
    assert (timeline.ended, timeline.advanced) == (False, 50)
    timeline.advance(END)
    assert (timeline.ended, timeline.advanced) == (True, 50)


def test_forgetting_drops_old_content_and_keeps_the_first_and_last_instant() -> None:
    timeline = timeline_of((1, BEFORE_ALL, 1), (5, 0, 1), (9, 4, 1), (2, 8, 1), (6, 8, 1), (20, 8, 0))
    timeline.forget(6)
    assert (timeline.first, timeline.last) == (1, 20)
    assert timeline.latest(8) is None
    assert timeline.latest(9) == 9
    timeline.forget(7)
    timeline.forget(100)
    assert timeline.latest(END) is None


@settings(max_examples=300)
@given(elements_in_any_order | late_elements, st.integers(1, 7), st.integers(-30, 30))
def test_every_question_is_answered_as_from_the_list_of_elements(
    elements: list[Element], chunk: int, instant: int
) -> None:
    timeline = Timeline()
    for i in range(0, len(elements), chunk):
        part = elements[i : i + chunk]
        timeline.extend(*([e[k] for e in part] for k in range(3)))
    content = [e for e in elements if e[2]]
    on_time = [t for t, w, _ in content if t > w]
    assert timeline.first == min(map(entry, elements), default=None)
    assert timeline.last == max(map(entry, elements), default=None)
    assert timeline.latest(instant) == max((e[0] for e in content if entry(e) <= instant), default=None)
    assert timeline.next_entry(instant) == min((t for t in on_time if t > instant), default=None)
    assert timeline.previous_entry(instant) == max((t for t in on_time if t <= instant), default=None)
    for after in range(instant - 8, instant + 2):
        assert timeline.non_empty(after, instant) == any(after < t <= instant and w < instant for t, w, _ in content)


@given(elements_in_any_order | late_elements, st.integers(-30, 30))
def test_between_two_changes_no_interval_gets_content(elements: list[Element], instant: int) -> None:
    timeline = timeline_of(*elements)
    change = timeline.next_change(instant)
    for later in range(instant, 40 if change is None else change):
        assert timeline.latest(later) == timeline.latest(instant)
    assert change is None or change > instant


@given(elements_in_any_order | late_elements, st.integers(-25, 25), st.integers(-30, 30))
def test_forgetting_is_as_if_the_old_content_had_never_come(elements: list[Element], before: int, instant: int) -> None:
    forgetful = timeline_of(*elements)
    forgetful.forget(before)
    fresh = timeline_of(*(e for e in elements if e[0] >= before))
    assert forgetful.latest(instant) == fresh.latest(instant)
    assert forgetful.next_change(instant) == fresh.next_change(instant)
    assert forgetful.next_entry(instant) == fresh.next_entry(instant)


def test_a_million_elements_in_and_out_of_order_are_taken_in_and_found() -> None:
    timeline = Timeline()
    block = 10_000
    for start in range(0, 1_000_000, block):
        # Even instants in order, then the odd ones between them, within the allowed lateness.
        times = [*range(start, start + block, 2), *range(start + 1, start + block, 2)]
        timeline.extend(times, [start - 1] * block, [1] * block)
    for t in range(999_000, 999_500):
        timeline.extend([t], [998_000], [1])
    assert timeline.next_entry(500_000) == 500_001
    assert timeline.previous_entry(END) == 999_999
    timeline.forget(900_000)
    assert timeline.next_entry(0) == 900_000
    assert timeline.first == 0


@pytest.mark.parametrize("late", [False, True])
def test_a_body_of_many_elements_is_taken_in_at_once_and_not_one_by_one(late: bool) -> None:
    def taken_in(elements: int) -> int:
        timeline = Timeline(counting=True, offsets=[7])
        timeline.extend([0], [-1], [1])
        times = np.arange(elements) * (-1 if late else 1)
        return steps(lambda: timeline.extend(times, np.full(elements, 50 if late else -1), np.ones(elements, int)))

    assert taken_in(100_000) <= taken_in(100)


@pytest.mark.parametrize("unit", Unit)
def test_a_late_element_is_taken_in_and_counted_however_many_came_late_before(unit: Unit) -> None:
    def taken_in(elements: int) -> tuple[int, int]:
        timeline = Timeline(counting=True)
        timeline.extend([100], [0], [1])
        timeline.extend(range(-elements, 0), [99] * elements, [1] * elements)
        one_more = steps(lambda: timeline.extend([-elements], [99], [1]))
        return one_more, steps(lambda: timeline.counts.oldest(unit, 5, 100))

    (one_more, asked), (few, asked_of_few) = taken_in(100_000), taken_in(10)
    assert one_more == few
    assert asked < 10 * asked_of_few


@given(elements_in_any_order | late_elements, st.integers(1, 6), st.integers(-30, 30), st.integers(1, 4))
def test_a_run_has_no_gap_and_reaches_to_one_however_much_is_looked_through_at_once(
    elements: list[Element], gap: int, t: int, some: int
) -> None:
    timeline = timeline_of(*elements)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("protocol.windows.runs._SOME", some)
        begin, end = timeline.begin_of_run(gap, t), timeline.end_of_run(gap, t)
    on_time = sorted({time for time, seen, triples in elements if time > seen and triples})
    first = last = t
    for time in reversed(on_time):
        first = time if first - gap <= time < first else first
    for time in on_time:
        last = time if last < time <= last + gap else last
    assert (begin, end) == (first, last)


def test_whether_a_session_closes_is_seen_at_once_however_long_it_has_gone_on() -> None:
    def seen(elements: int) -> tuple[int, int]:
        timeline = Timeline.of([SessionWindow(2)])
        timeline.extend(range(elements), range(-1, elements - 1), [1] * elements)
        decision = SessionDecision.of(SessionWindow(2), Report(frozenset({Strategy.ON_WINDOW_CLOSE})), timeline)
        return (
            steps(lambda: decision.next(0, elements - 1)),
            steps(lambda: decision.previous(0, elements - 1)),
        )

    assert seen(1000) == seen(10)
