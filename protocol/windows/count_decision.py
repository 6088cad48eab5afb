"""A count window's part in ET: the instants that satisfy its report (Definition 23;
docs/model.md, "Instants and reports").
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.time import Instant
from protocol.windows.progression import Progression, beat
from protocol.windows.spec import CountWindow, Report, Strategy
from protocol.windows.timeline import Timeline


@dataclass(frozen=True, slots=True)
class CountDecision:
    """A count window over a timeline that counts, with its report: a conjunction of sets of instants.

    Each of them is found from any instant on, in either direction; the instants in all of them by leaping from
    one to the next. ``beat`` are those that the clock allows. Of a window with WHERE it is more than its part: all
    instants at which an element enters the stream are taken to change the content, which is told by evaluating it.
    """

    window: CountWindow
    timeline: Timeline
    beat: Progression
    strategies: frozenset[Strategy]

    @staticmethod
    def of(window: CountWindow, report: Report, timeline: Timeline) -> CountDecision:
        """The decision of this report on this window. Raises ValueError for an impossible report."""
        return CountDecision(window, timeline, beat(window, report), report.strategies)

    def next(self, after: Instant, upto: Instant) -> Instant | None:
        """The smallest of the decision's instants in (after, upto], None if there is none."""
        t = after + 1
        while t <= upto:
            found = t
            for strategy in self.strategies:
                later = self._at_or_after(strategy, found)
                if later is None:
                    return None
                found = later
            if found == t:
                return t
            t = found
        return None

    def previous(self, after: Instant, upto: Instant) -> Instant | None:
        """The greatest of the decision's instants in (after, upto], None if there is none."""
        t = upto
        while t > after:
            found = t
            for strategy in self.strategies:
                earlier = self._at_or_before(strategy, found)
                if earlier is None:
                    return None
                found = earlier
            if found == t:
                return t
            t = found
        return None

    def _at_or_after(self, strategy: Strategy, t: Instant) -> Instant | None:
        counts, unit, step = self.timeline.counts, self.window.unit, self.window.step
        match strategy:
            case Strategy.ON_WINDOW_CLOSE:
                return counts.reached(unit, (counts.at(unit, t - 1) // step + 1) * step)
            case Strategy.NON_EMPTY_CONTENT:
                return t if counts.at(unit, t) else counts.next_entry(t)
            case Strategy.ON_CONTENT_CHANGE if self.window.where is not None:
                return counts.next_entry(t - 1)
            case Strategy.ON_CONTENT_CHANGE:
                return self.timeline.next_entry(t - 1)
            case Strategy.PERIODIC:
                return self.beat.at_or_after(t)

    def _at_or_before(self, strategy: Strategy, t: Instant) -> Instant | None:
        counts, unit, step = self.timeline.counts, self.window.unit, self.window.step
        match strategy:
            case Strategy.ON_WINDOW_CLOSE:
                return counts.reached(unit, counts.at(unit, t) // step * step)
            case Strategy.NON_EMPTY_CONTENT:
                return t if counts.at(unit, t) else None
            case Strategy.ON_CONTENT_CHANGE if self.window.where is not None:
                return counts.previous_entry(t)
            case Strategy.ON_CONTENT_CHANGE:
                return self.timeline.previous_entry(t)
            case Strategy.PERIODIC:
                return self.beat.at_or_before(t)
