"""A session window's part in ET: the instants at which a session closes, or the beats of PERIODIC (Definition 23;
docs/model.md, "Windows" and "Instants and reports").
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.time import Instant
from protocol.windows.progression import Progression, beat
from protocol.windows.spec import Report, SessionWindow, Strategy
from protocol.windows.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SessionDecision:
    """A session window over a timeline, with its report.

    The window holds something just when a session closes, and what it holds enters with that: so all strategies but
    PERIODIC say the same, that one closes (``closing``). ``entries``: the elements, each the gap later, which is when a
    session closes if it was the last one of it. Of a partitioned window these are all that may be instants.
    """

    window: SessionWindow
    timeline: Timeline
    entries: Timeline
    beat: Progression
    closing: bool

    @staticmethod
    def of(window: SessionWindow, report: Report, timeline: Timeline) -> SessionDecision:
        """The decision of this report on this window. Raises ValueError for an impossible report."""
        closing = report.strategies != {Strategy.PERIODIC}
        return SessionDecision(window, timeline, timeline.shifted(window.gap), beat(window, report), closing)

    def next(self, after: Instant, upto: Instant) -> Instant | None:
        """The smallest of the decision's instants in (after, upto], None if there is none."""
        if not self.closing:
            t = self.beat.at_or_after(after + 1)
            return t if t <= upto else None
        found = self.entries.next_entry(after)
        while found is not None and found <= upto:
            newest = self.timeline.latest(found)
            assert newest is not None, "something has just entered"
            if self.window.partition is not None or newest + self.window.gap == found:
                if self.beat.at_or_after(found) == found:
                    return found
                found = self.entries.next_entry(found)
            else:
                # Something came since: nothing closes until nothing has come for the gap.
                last = self.timeline.end_of_run(self.window.gap, newest)
                found = self.entries.next_entry(last + self.window.gap - 1)
        return None

    def previous(self, after: Instant, upto: Instant) -> Instant | None:
        """The greatest of the decision's instants in (after, upto], None if there is none."""
        if not self.closing:
            t = self.beat.at_or_before(upto)
            return t if t is not None and t > after else None
        found = self.entries.previous_entry(upto)
        while found is not None and found > after:
            closes = self.window.partition is not None or self.timeline.latest(found) == found - self.window.gap
            if closes and self.beat.at_or_before(found) == found:
                return found
            # From an element that is on time until the gap after it, no session closes; nor while others follow so.
            on_time = self.timeline.previous_entry(found)
            if not closes and on_time is not None and found < on_time + self.window.gap:
                found = self.timeline.begin_of_run(self.window.gap, on_time)
            found = self.entries.previous_entry(found - 1)
        return None
