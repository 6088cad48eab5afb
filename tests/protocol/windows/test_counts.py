"""The counts of a stream against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.windows.counts import Counts
from protocol.windows.spec import Unit
from protocol.windows.timeline import Timeline

CountedElement = tuple[int, int, int]
"""An element with triples: its timestamp, its entry and the number of its triples."""

items = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-20, 40), st.integers(1, 3)).map(
        lambda item: (item[0], max(item[0], item[1] + 1), item[2])
    ),
    max_size=15,
) | st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 3)).map(lambda item: (item[0], *item)), max_size=15)
units = st.sampled_from(Unit)


def counted(items: list[CountedElement], chunk: int) -> Counts:
    counts = Counts()
    for i in range(0, len(items), chunk):
        counts.extend(*np.array(items[i : i + chunk], np.int64).T)
    return counts


def there(items: list[CountedElement], unit: Unit, t: int) -> list[int]:
    """The timestamps of all that takes part at t, ascending, each as often as it counts."""
    weights = [(time, 1 if unit is Unit.ELEMENTS else triples) for time, entry, triples in items if entry <= t]
    return sorted(time for time, weight in weights for _ in range(weight))


@given(items, units, st.integers(1, 5), st.integers(-25, 45), st.integers(0, 30))
def test_what_takes_part_is_counted_however_it_came_in_batches(
    items: list[CountedElement], unit: Unit, chunk: int, t: int, before: int
) -> None:
    counts = counted(items, chunk)
    counts.before[unit] = before
    assert counts.at(unit, t) == before + len(there(items, unit, t))
    assert counts.total(unit) == len(there(items, unit, 100))


@given(items, units, st.integers(1, 5), st.integers(0, 40), st.integers(0, 5))
def test_a_count_is_reached_at_the_first_instant_with_so_many(
    items: list[CountedElement], unit: Unit, chunk: int, count: int, before: int
) -> None:
    counts = counted(items, chunk)
    counts.before[unit] = before
    first = next((t for t in range(-25, 50) if before + len(there(items, unit, t)) >= count), None)
    assert counts.reached(unit, count) == (None if count <= before else first)


@given(items, units, st.integers(1, 5), st.integers(1, 8), st.integers(-25, 45))
def test_the_oldest_of_the_last_ones_is_found_by_its_timestamp(
    items: list[CountedElement], unit: Unit, chunk: int, count: int, t: int
) -> None:
    times = there(items, unit, t)
    assert counted(items, chunk).oldest(unit, count, t) == (times[-count:][0] if times else None)


@given(items, units, st.integers(1, 8), st.integers(-25, 25))
def test_so_many_have_come_after_an_instant(items: list[CountedElement], unit: Unit, count: int, after: int) -> None:
    on_time = [item for item in items if item[0] == item[1]]
    newer = [time for time in there(on_time, unit, 100) if time > after]
    assert counted(items, 4).filled(unit, count, after) == (newer[count - 1] if len(newer) >= count else None)


@given(items, st.integers(-25, 45))
def test_the_next_entry_is_that_of_any_element(items: list[CountedElement], after: int) -> None:
    assert counted(items, 3).next_entry(after) == min((e for _, e, _ in items if e > after), default=None)


@given(items, units, st.integers(-25, 45), st.integers(0, 70), st.integers(1, 8), st.integers(0, 40), st.integers(0, 5))
def test_what_was_forgotten_is_counted_as_long_there(
    items: list[CountedElement], unit: Unit, before: int, later: int, count: int, reached: int, held_before: int
) -> None:
    counts, whole = counted(items, 3), counted(items, 3)
    counts.before[unit] = whole.before[unit] = held_before
    counts.forget(before)
    t = before + later
    assert counts.at(unit, t) == whole.at(unit, t)
    assert counts.next_entry(t - 1) == whole.next_entry(t - 1)
    assert counts.total(unit) + counts.before[unit] == whole.total(unit) + held_before
    kept = [item for item in items if item[1] >= before]
    times = there(kept, unit, t)
    assert counts.oldest(unit, count, t) == (times[-count:][0] if times else None)
    if reached > counts.before[unit]:
        assert counts.reached(unit, reached) == whole.reached(unit, reached)


def test_an_element_without_triples_does_not_count() -> None:
    timeline = Timeline(counting=True)
    timeline.extend([5, 6, 3], [0, 4, 5], [2, 0, 0])
    assert [timeline.counts.at(unit, 10) for unit in (Unit.TRIPLES, Unit.ELEMENTS)] == [2, 1]
    with pytest.raises(ValueError, match="counting=True"):
        _ = Timeline().counts


def test_a_session_is_followed_back_to_its_first_and_on_to_its_last_late_elements_too() -> None:
    counts = counted([(time, time, 1) for time in (1, 10, 14, 40)] + [(6, 15, 1), (44, 90, 2)], 6)
    assert counts.first_of_session(4, 0) is None
    assert [counts.first_of_session(4, t) for t in (1, 12, 14, 15, 40)] == [1, 10, 10, 6, 40]
    assert counts.first_of_session(5, 15) == 1
    # Whenever they came: what goes on from 0 by gaps of 5 is 1, 6, 10, 14.
    assert [counts.end_of_session(5, t) for t in (-9, 0, 14, 20, 38)] == [-9, 14, 14, 20, 44]


@given(items, st.integers(1, 5), st.integers(1, 6), st.integers(-25, 45), st.integers(1, 4))
def test_a_session_has_no_gap_and_reaches_to_one_however_much_is_looked_through_at_once(
    items: list[CountedElement], chunk: int, gap: int, t: int, some: int
) -> None:
    counts = counted(items, chunk)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("protocol.windows.runs._SOME", some)
        first, last = counts.first_of_session(gap, t), counts.end_of_session(gap, t)
    before, after = there(items, Unit.ELEMENTS, t), sorted(time for time, _, _ in items if time > t)
    expected = before[-1] if before else None
    for time in reversed(before):
        expected = time if expected is not None and expected - time <= gap else expected
    assert first == expected
    expected = t
    for time in after:
        expected = time if time - expected <= gap else expected
    assert last == expected
