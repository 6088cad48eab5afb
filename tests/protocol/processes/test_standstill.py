from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.processes.standstill import Standstill


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_stands_still_is_counted_from_the_first_look_and_begins_again_when_it_moved() -> None:
    clock = Clock()
    standstill: Standstill[str] = Standstill(clock)
    told = []
    for still in ({"a"}, {"a", "b"}, {"b"}, {"a", "b"}):
        clock.now += 1
        told.append(standstill.look(still))
    assert told == [{"a": 0}, {"a": 1, "b": 0}, {"b": 1}, {"a": 0, "b": 2}]


def test_time_in_which_nobody_looked_is_not_held_against_anybody() -> None:
    clock = Clock()
    standstill: Standstill[str] = Standstill(clock, longest=2)
    standstill.look({"a"})
    clock.now = 3600  # the machine was suspended
    assert standstill.look({"a"}) == {"a": 2}


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=20))
def test_never_more_than_went_by_and_never_more_a_look_than_the_longest(looks: list[tuple[float, bool]]) -> None:
    clock = Clock()
    standstill: Standstill[str] = Standstill(clock, longest=2)
    since = 0.0
    in_a_row = 0
    for passed, still in looks:
        clock.now += passed
        seconds = standstill.look({"a"} if still else ())
        if not still:
            assert seconds == {}
            in_a_row = 0
            continue
        if in_a_row == 0:
            since = clock.now
        assert seconds["a"] <= min(clock.now - since, 2 * in_a_row) + 1e-6
        in_a_row += 1
