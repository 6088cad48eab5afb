"""What keeps up and what does not, by its lags."""

from __future__ import annotations

import pytest

from tests.benchmarks.live import Lags


def _lags(instants: list[float], *, posts: float = 0.0, complete: bool = True) -> Lags:
    return Lags(list(instants), instants, [posts] * len(instants), complete)


def test_a_steady_lag_keeps_up() -> None:
    assert _lags([0.3] * 12).keep_up
    assert _lags([0.3] * 12).pace == 1


@pytest.mark.parametrize(
    "lags",
    [
        _lags([0.3 + 0.1 * number for number in range(12)]),
        _lags([1.5] * 12),
        _lags([0.3] * 12, complete=False),
        _lags([0.3] * 12, posts=2.0),
        _lags([]),
    ],
    ids=["grows", "more than a second", "answers are missing", "the source is late", "no answer"],
)
def test_what_does_not_keep_up(lags: Lags) -> None:
    assert not lags.keep_up


def test_the_pace_is_what_was_answered_of_what_passed() -> None:
    # Each second of event time takes two.
    assert _lags([float(number) for number in range(12)]).pace == pytest.approx(0.5)
