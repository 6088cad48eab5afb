"""The instances of a window and which of them is present (RSP-QL Definitions 12 and 13; docs/model.md, "Windows")."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.time import Instant
from protocol.windows.progression import Progression
from protocol.windows.spec import (
    IntervalWindow,
    LandmarkWindow,
    NowWindow,
    TimeWindow,
    offset_of,
)


def closing_instants(window: TimeWindow) -> Progression:
    """The closing instants c of all instances."""
    return Progression(window.first_close, window.slide)


def opening(window: IntervalWindow, t: Instant) -> Instant:
    """The opening instant o of the instance that is present at t; where that is not before t, it has no content.

    What entered after o is content: of a window with an offset, by the instants at which elements enter it.
    """
    if isinstance(window, TimeWindow):
        return closing_instants(window).at_or_after(t) - window.width
    if isinstance(window, LandmarkWindow):
        return window.opening
    return t - 1 if window.origin is None else max(t - 1, window.origin)


def present(window: TimeWindow, t: Instant) -> tuple[Instant, Instant]:
    """The instance (o, c] that is present at t: the oldest not closed before t, so the one with the smallest c ≥ t.

    There always is one. Before the first opening it is the first instance, and between two instances
    of a sampling window (β > α) the next one: then o ≥ t, and the window has no content at t.
    """
    c = closing_instants(window).at_or_after(t)
    return c - window.width, c


def content_bounds(window: IntervalWindow, t: Instant) -> tuple[Instant, Instant]:
    """(after, upto] of the window's content at t: the present instance cut at t, or (t, t] while that is not open.

    Of a window with an offset, both so much earlier.
    """
    offset = offset_of(window)
    return min(opening(window, t), t) - offset, t - offset


def closes(window: TimeWindow, after: Instant, upto: Instant) -> Iterator[Instant]:
    """The closing instants in (after, upto], ascending; none is skipped."""
    return iter(range(closing_instants(window).at_or_after(after + 1), upto + 1, window.slide))


def last_holding(window: IntervalWindow, t: Instant) -> tuple[Instant, Instant | None] | None:
    """The last instance that opened before t, and when it closes for good; None if t is not after the origin.

    From its close on, every window is empty into which nothing comes after t. Between two instances
    of a sampling window it is one that closed before t. A LANDMARK window has one instance, and that never closes.
    """
    match window:
        case TimeWindow():
            o = Progression(window.origin, window.slide).at_or_before(t - 1)
            return None if o is None else (o, o + window.width)
        case NowWindow(origin=origin):
            return (t - 1, t) if origin is None or origin < t else None
        case LandmarkWindow():
            return (window.opening, None) if window.opening < t else None
