"""One window's part in ET: the instants that satisfy its report, found in either direction by leaps (Definition 23)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from protocol.time import Instant
from protocol.windows.instances import last_holding, opening
from protocol.windows.progression import Progression, beat
from protocol.windows.spec import IntervalWindow, Report, Strategy
from protocol.windows.timeline import Timeline


class _Content(Enum):
    """What a report asks of the content, beside the times it allows."""

    ANY = auto()
    NON_EMPTY = auto()
    ENTERING = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """A window over a timeline, with its report brought to two conditions whose conjunction it is.

    ``beat``: t is one of these instants (ON_WINDOW_CLOSE, PERIODIC, or both; without either, every
    instant at which there may be content). ``content``: NON_EMPTY_CONTENT, or
    ON_CONTENT_CHANGE, which implies it.
    """

    window: IntervalWindow
    timeline: Timeline
    beat: Progression
    content: _Content

    @staticmethod
    def of(window: IntervalWindow, report: Report, timeline: Timeline) -> Decision:
        """The decision of this report on this window. Raises ValueError for an impossible report."""
        content = _Content.ANY
        if Strategy.ON_CONTENT_CHANGE in report.strategies:
            content = _Content.ENTERING
        elif Strategy.NON_EMPTY_CONTENT in report.strategies:
            content = _Content.NON_EMPTY
        return Decision(window, timeline, beat(window, report), content)

    def next(self, after: Instant, upto: Instant) -> Instant | None:
        """The smallest of the decision's instants in (after, upto], None if there is none."""
        if after >= upto:
            return None
        if self.content is _Content.ENTERING:
            return self._next_entering(after, upto)
        t = self.beat.at_or_after(after + 1)
        if self.content is _Content.NON_EMPTY:
            return self._next_non_empty(t, upto)
        return t if t <= upto else None

    def previous(self, after: Instant, upto: Instant) -> Instant | None:
        """The greatest of the decision's instants in (after, upto], None if there is none."""
        if after >= upto:
            return None
        if self.content is _Content.ENTERING:
            return self._previous_entering(after, upto)
        t = self.beat.at_or_before(upto)
        if self.content is _Content.NON_EMPTY:
            return self._previous_non_empty(after, t)
        return t if t is not None and t > after else None

    def _next_non_empty(self, t: Instant, upto: Instant) -> Instant | None:
        while t <= upto:
            o = opening(self.window, t)
            if self.timeline.non_empty(o, t):
                return t
            # No later window opens earlier: only what enters after t can fill one, and nothing does before it opens.
            change = self.timeline.next_change(t)
            if change is None:
                return None
            t = self.beat.at_or_after(max(change, o + 1))
        return None

    def _previous_non_empty(self, after: Instant, t: Instant | None) -> Instant | None:
        while t is not None and t > after:
            newest = self.timeline.latest(t)
            if newest is None:
                return None
            if newest > opening(self.window, t):
                return t
            # Nothing newer is there before t either, so the instances that opened after it are empty throughout.
            close = _close_of_last_holding(self.window, newest)
            t = None if close is None else self.beat.at_or_before(close)
        return None

    def _next_entering(self, t: Instant, upto: Instant) -> Instant | None:
        while t < upto:
            entry = self.timeline.next_entry(t)
            if entry is None or entry > upto:
                return None
            beat = self.beat.at_or_after(entry)
            o = opening(self.window, entry)
            if beat == entry and o < entry:
                return entry
            t = max(beat - 1, o)
        return None

    def _previous_entering(self, after: Instant, t: Instant | None) -> Instant | None:
        while t is not None and t > after:
            entry = self.timeline.previous_entry(t)
            if entry is None or entry <= after:
                return None
            beat = self.beat.at_or_before(entry)
            if beat == entry:
                if opening(self.window, entry) < entry:
                    return entry
                # Between two instances of a sampling window: back to the close before.
                close = _close_of_last_holding(self.window, entry)
                beat = None if close is None else self.beat.at_or_before(close)
            t = beat
        return None


def _close_of_last_holding(window: IntervalWindow, t: Instant) -> Instant | None:
    """When the last instance that opened before t closes; None if none did (or it never closes, and t is content)."""
    holding = last_holding(window, t)
    return None if holding is None else holding[1]
