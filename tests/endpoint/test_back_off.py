"""Attempts are further and further apart."""

from __future__ import annotations

import pytest

from endpoint.back_off import FIRST_SECONDS, BackOff, patience


def test_each_wait_is_twice_as_long_up_to_the_longest() -> None:
    back_off = BackOff(60, lambda: 0.0)
    waits = [back_off.failed() for _ in range(2000)]
    assert waits[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert waits[-1] == 60
    back_off.succeeded()
    assert back_off.failed() == FIRST_SECONDS


def test_jitter_takes_off_up_to_a_half() -> None:
    assert BackOff(60, lambda: 1.0).failed() == FIRST_SECONDS / 2


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7),
        (" 601 ", 600),
        ("Thu, 01 Jan 1970 00:17:10 GMT", 30),
        ("Thursday, 01-Jan-70 00:17:10 GMT", 30),
        ("Thu, 01 Jan 1970 00:16:00 GMT", 0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 600),
        ("Thu, 41 Jan 1970 00:17:10 GMT", 0),
        ("soon", 0),
        ("-1", 0),
        ("", 0),
    ],
)
def test_who_is_asked_for_patience_has_it_for_ten_minutes_at_most(said: str, seconds: float) -> None:
    assert patience(said, lambda: 1000.0) == seconds
