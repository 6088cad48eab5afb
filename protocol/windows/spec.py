"""Window specifications and report policies as plain values (RSP-QL Definitions 12, 13 and 23)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from protocol.time import Instant, Milliseconds


class Strategy(StrEnum):
    """A report strategy (Definition 23; SECRET)."""

    ON_WINDOW_CLOSE = "ON_WINDOW_CLOSE"
    NON_EMPTY_CONTENT = "NON_EMPTY_CONTENT"
    ON_CONTENT_CHANGE = "ON_CONTENT_CHANGE"
    PERIODIC = "PERIODIC"


@dataclass(frozen=True)
class Report:
    """The strategies on one window, a conjunction. ``period`` (ms) goes with PERIODIC."""

    strategies: frozenset[Strategy]
    period: Milliseconds | None = None


DEFAULT_REPORT = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))


@dataclass(frozen=True)
class TimeWindow:
    """A time-based sliding window (Definition 13): width α, slide β, origin t0, all in milliseconds.

    Its instances are (o, c] with o = t0 + iβ, c = o + α, i ≥ 0. ``report`` is None where the query
    wrote no REPORT on this window (contract section 2 says which windows then decide).
    """

    width: Milliseconds
    slide: Milliseconds
    origin: Instant
    report: Report | None = None

    def __post_init__(self) -> None:
        if self.width <= 0 or self.slide <= 0:
            raise ValueError("a window's range and step must be longer than zero")

    @property
    def first_close(self) -> Instant:
        """c of the instance i = 0."""
        return self.origin + self.width


WindowSpec = TimeWindow
"""All kinds of windows this version evaluates; count, NOW and LANDMARK windows join them later."""
