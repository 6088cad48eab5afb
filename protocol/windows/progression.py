"""Instants at a constant distance, and which of them a window's report asks for (Definition 23;
docs/model.md, "Instants and reports").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.spec import CountWindow, LandmarkWindow, Report, SessionWindow, Strategy, TimeWindow, WindowSpec


@dataclass(frozen=True, slots=True)
class Progression:
    """The instants base + k·step, k ≥ 0: a window's closes, the beats of PERIODIC."""

    base: Instant
    step: Milliseconds

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ValueError("the step between instants must be longer than zero")

    def at_or_after(self, t: Instant) -> Instant:
        """The smallest member ≥ t."""
        if t <= self.base:
            return self.base
        return t + (self.base - t) % self.step

    def at_or_before(self, t: Instant) -> Instant | None:
        """The greatest member ≤ t, None if t lies before the base."""
        if t < self.base:
            return None
        return t - (t - self.base) % self.step


def beat(window: WindowSpec, report: Report) -> Progression:
    """The instants that the report allows by the clock alone: closes, the beats of PERIODIC, or those that are both.

    Where neither is asked for, every instant at which the window may have content. The closes of count windows
    and sessions are no matter of the clock. Raises ValueError for a report that can never hold.
    """
    steps = []
    if not report.strategies:
        raise ValueError("a report needs at least one strategy")
    if Strategy.ON_WINDOW_CLOSE in report.strategies and not isinstance(window, CountWindow | SessionWindow):
        steps.append(_close_step(window))
    if Strategy.PERIODIC in report.strategies:
        if report.period is None or report.period <= 0:
            raise ValueError("PERIODIC needs a period longer than zero")
        steps.append(report.period)
    if isinstance(window, TimeWindow):
        if not steps:
            return Progression(window.origin + 1, 1)
        return Progression(window.first_close, lcm(*steps))
    step = lcm(*steps)  # of nothing: 1
    if window.origin is None or not steps:
        return Progression(BEFORE_ALL - BEFORE_ALL % step, step)
    return Progression(window.origin + step, step)


def _close_step(window: WindowSpec) -> Milliseconds:
    if isinstance(window, TimeWindow):
        return window.slide
    if not isinstance(window, LandmarkWindow):
        return 1
    if window.step is None:
        raise ValueError("a LANDMARK window without STEP never closes")
    return window.step
