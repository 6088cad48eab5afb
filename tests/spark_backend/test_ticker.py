"""What is done again and again, by a clock of the test's own."""

from __future__ import annotations

import logging

import pytest

from spark_backend.ticker import Chore, Ticker


class Work:
    def __init__(self) -> None:
        self.times = 0
        self.broken = False

    def __call__(self) -> None:
        self.times += 1
        if self.broken:
            raise OSError("No space left on device")


def test_each_chore_is_done_when_it_is_time_for_it() -> None:
    now = 100.0
    always, often, seldom = Work(), Work(), Work()
    ticker = Ticker([Chore(0, always, ""), Chore(0.5, often, ""), Chore(5, seldom, "")], 0.02, lambda: now)
    for tick in range(11):
        now = 100 + tick / 4
        ticker.look()
    assert (always.times, often.times, seldom.times) == (11, 6, 1)
    now = 105
    ticker.look()
    assert seldom.times == 2


def test_what_takes_long_is_done_less_often() -> None:
    """However many streams there are to be looked at, there is time for other things."""
    now = 0.0

    class Long(Work):
        seconds = 0.1

        def __call__(self) -> None:
            nonlocal now
            now += self.seconds
            super().__call__()

    work = Long()
    ticker = Ticker([Chore(0, work, "")], 0.02, lambda: now)
    while now < 10:
        now += 0.02
        ticker.look()
    assert work.times == pytest.approx(10 / 0.4, abs=2)
    work.times, work.seconds, until = 0, 2.0, now + 50
    while now < until:
        now += 0.02
        ticker.look()
    assert work.times == pytest.approx(50 / 2, abs=2), "where a disk hangs, nothing is put off for long besides"


def test_a_chore_that_fails_is_told_once_and_tried_again_and_hinders_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing, other = Work(), Work()
    failing.broken = True
    ticker = Ticker([Chore(0, failing, "the watermarks could not be moved"), Chore(0, other, "")], 0.02, lambda: 0.0)
    with caplog.at_level(logging.ERROR):
        ticker.look()
        ticker.look()
    assert [record.message for record in caplog.records] == [
        "the watermarks could not be moved; it is tried again until it can be"
    ]
    assert failing.times == other.times == 2
    failing.broken = False
    ticker.look()
    failing.broken = True
    with caplog.at_level(logging.ERROR):
        ticker.look()
    assert len(caplog.records) == 2  # it had been done in between


def test_a_chore_in_which_oxigraph_panics_ends_none() -> None:
    class Panic(BaseException):
        """As pyoxigraph's is."""

    def panic() -> None:
        raise Panic

    other = Work()
    ticker = Ticker([Chore(0, panic, "the graphs could not be read"), Chore(0, other, "")], 0.02, lambda: 0.0)
    for _ in range(2):
        ticker.look()
    assert other.times == 2
