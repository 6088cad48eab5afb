"""Attempts are further and further apart."""

from __future__ import annotations

from endpoint.back_off import FIRST_SECONDS, BackOff


def test_each_wait_is_twice_as_long_up_to_the_longest() -> None:
    back_off = BackOff(60, lambda: 0.0)
    waits = [back_off.failed() for _ in range(2000)]
    assert waits[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert waits[-1] == 60
    back_off.succeeded()
    assert back_off.failed() == FIRST_SECONDS


def test_jitter_takes_off_up_to_a_half() -> None:
    assert BackOff(60, lambda: 1.0).failed() == FIRST_SECONDS / 2
