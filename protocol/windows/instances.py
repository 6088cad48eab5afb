"""The instances of a time window and which of them is present (RSP-QL Definitions 12 and 13; contract section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

from protocol.time import Instant, Milliseconds
from protocol.windows.spec import TimeWindow


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

    def meet(self, other: Progression) -> Progression:
        """The members of both. Raises ValueError unless they start at the same base."""
        if self.base != other.base:
            raise ValueError("progressions with different bases do not meet in this way")
        return Progression(self.base, lcm(self.step, other.step))


def closing_instants(window: TimeWindow) -> Progression:
    """The closing instants c of all instances."""
    return Progression(window.first_close, window.slide)


def opening(window: TimeWindow, t: Instant) -> Instant:
    """The opening instant o of the instance that is present at t."""
    return closing_instants(window).at_or_after(t) - window.width


def present(window: TimeWindow, t: Instant) -> tuple[Instant, Instant]:
    """The instance (o, c] that is present at t: the oldest not closed before t, so the one with the smallest c ≥ t.

    There always is one. Before the first opening it is the first instance, and between two instances
    of a sampling window (β > α) the next one: then o ≥ t, and the window has no content at t.
    """
    c = closing_instants(window).at_or_after(t)
    return c - window.width, c


def content_bounds(window: TimeWindow, t: Instant) -> tuple[Instant, Instant]:
    """(after, upto] of the window's content at t: the present instance cut at t, or (t, t] while that is not open."""
    return min(opening(window, t), t), t


def closes(window: TimeWindow, after: Instant, upto: Instant) -> Iterator[Instant]:
    """The closing instants in (after, upto], ascending; none is skipped."""
    return iter(range(closing_instants(window).at_or_after(after + 1), upto + 1, window.slide))


def last_holding(window: TimeWindow, t: Instant) -> tuple[Instant, Instant] | None:
    """The last instance that opened before t; None if t is not after the origin.

    From its close on, every window is empty that has no content newer than t. Between two instances
    of a sampling window it is one that closed before t.
    """
    o = Progression(window.origin, window.slide).at_or_before(t - 1)
    return None if o is None else (o, o + window.width)
