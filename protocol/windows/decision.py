"""One window's part in ET: the instants that satisfy its report, found in either direction by leaps (Definition 23)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from protocol.time import Instant
from protocol.windows.instances import Progression, closing_instants, last_holding, opening
from protocol.windows.spec import Report, Strategy, TimeWindow
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
    instant after the origin, as there is no content before). ``content``: NON_EMPTY_CONTENT, or
    ON_CONTENT_CHANGE, which implies it.
    """

    window: TimeWindow
    timeline: Timeline
    beat: Progression
    content: _Content

    @staticmethod
    def of(window: TimeWindow, report: Report, timeline: Timeline) -> Decision:
        """The decision of this report on this window. Raises ValueError for an impossible report."""
        strategies = report.strategies
        if not strategies:
            raise ValueError("a report needs at least one strategy")
        beats = []
        if Strategy.ON_WINDOW_CLOSE in strategies:
            beats.append(closing_instants(window))
        if Strategy.PERIODIC in strategies:
            if report.period is None or report.period <= 0:
                raise ValueError("PERIODIC needs a period longer than zero")
            beats.append(Progression(window.first_close, report.period))
        if not beats:
            beats.append(Progression(window.origin + 1, 1))
        beat = beats[0] if len(beats) == 1 else beats[0].meet(beats[1])
        if Strategy.ON_CONTENT_CHANGE in strategies:
            return Decision(window, timeline, beat, _Content.ENTERING)
        if Strategy.NON_EMPTY_CONTENT in strategies:
            return Decision(window, timeline, beat, _Content.NON_EMPTY)
        return Decision(window, timeline, beat, _Content.ANY)

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
            holding = last_holding(self.window, newest)
            if holding is None:
                return None
            t = self.beat.at_or_before(holding[1])
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
                holding = last_holding(self.window, entry)
                beat = None if holding is None else self.beat.at_or_before(holding[1])
            t = beat
        return None
