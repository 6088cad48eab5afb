"""ET, the instants at which a query is evaluated, as a pure function of its windows and its streams' timelines.

RSP-QL Definition 23; docs/model.md, "Instants and reports". ET is the union, over the windows that decide, of the
instants that satisfy the window's report. Nothing is evaluated before the first element of the query's streams.
When all of them have ended, ET ends too: with the first of its instants, once every element takes part,
at which all windows of the query are empty and stay so, except for those that stay as they are for ever, since they
forget nothing by time (count and LANDMARK windows). Watermarks that were said (``Timeline.advance``) have closed
windows before the end already; those closes stay in ET, so that a replay gives what was given.

What windows report by what elements hold, the timelines do not know: of these (``decided_by_content``) the instants
here are all that there may be, and an evaluation says whether its own is one; ``reported_by_time`` is of the others,
and where there are others ET ends with one of theirs. Facts that are asked for periodically are among them, as only
what elements hold tells which of them has begun or ended the last one.

Every function takes the windows of one query and the timelines by stream IRI (a missing one is a KeyError)
and is deterministic: as elements arrive, the part of ET at or below the least watermark does not change any more.
Raises ValueError for a report that says nothing or a PERIODIC without a period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from protocol.time import BEFORE_ALL, Instant
from protocol.windows.count_decision import CountDecision
from protocol.windows.decision import Decision
from protocol.windows.progression import beat
from protocol.windows.session_decision import SessionDecision
from protocol.windows.spec import (
    DEFAULT_REPORT,
    NON_EMPTY,
    CountWindow,
    FactsWindow,
    LandmarkWindow,
    SessionWindow,
    Strategy,
    StreamWindow,
    WindowSpec,
    decided_by_content,
    offset_of,
)
from protocol.windows.timeline import END, Timeline

AnyDecision: TypeAlias = Decision | CountDecision | SessionDecision
_HAPPENING = frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.ON_CONTENT_CHANGE})


def evaluation_instants(
    windows: Sequence[StreamWindow],
    timelines: Mapping[str, Timeline],
    after: Instant | None,
    upto: Instant,
    *,
    limit: int | None,
) -> list[Instant]:
    """ET ∩ (after, upto], ascending, at most the ``limit`` first ones.

    ``upto`` is the least of the streams' watermarks, END once all have ended (that they have is taken
    from it, or from the timelines if all of them were told). None for ``after`` means from the first.

    Fewer than ``limit`` instants: there are no more up to ``upto``, and the next call may start there.
    The work grows with the instants returned and the elements passed over, not with the time between.
    """
    decisions = _decisions(windows, timelines)
    after, upto = _bounds(decisions, windows, timelines, after, upto)
    found: list[Instant] = []
    upcoming = [(t, d) for d in decisions if (t := d.next(after, upto)) is not None]
    while upcoming and (limit is None or len(found) < limit):
        instant = min(t for t, _ in upcoming)
        found.append(instant)
        upcoming = [
            (later, d)
            for t, d in upcoming
            if (later := d.next(instant, upto) if t == instant else t) is not None
        ]  # fmt: skip
    return found


def next_instant(
    windows: Sequence[StreamWindow], timelines: Mapping[str, Timeline], after: Instant | None, upto: Instant
) -> Instant | None:
    """The first instant of ET ∩ (after, upto], None if there is none."""
    decisions = _decisions(windows, timelines)
    return _next(decisions, *_bounds(decisions, windows, timelines, after, upto))


def previous_instant(
    windows: Sequence[StreamWindow], timelines: Mapping[str, Timeline], before: Instant, start: Instant | None
) -> Instant | None:
    """The greatest instant of ET that is < before and > start (None: however early), None if there is none.

    With a ``before`` greater than END the streams are taken to have ended: then it is the last of ET.
    """
    decisions = _decisions(windows, timelines)
    start, upto = _bounds(decisions, windows, timelines, start, before - 1)
    return max((t for d in decisions if (t := d.previous(start, upto)) is not None), default=None)


def reported_by_time(windows: Sequence[StreamWindow], timelines: Mapping[str, Timeline], t: Instant) -> bool:
    """Whether an instant of ET is one, whatever the windows hold that are decided by content.

    Of facts that are asked for periodically, each is that a watermark had reached before the end.
    """
    before_end = t <= max(_advanced(timelines[window.stream] for window in windows), default=BEFORE_ALL)
    by_time = [
        member
        for member in deciding(windows)
        if not decided_by_content(member.window) or (before_end and _is_periodic(member.window))
    ]
    return _next(_decisions(by_time, timelines), t - 1, t) is not None


def allowed_by_clock(window: WindowSpec, t: Instant) -> bool:
    """Whether the report of a window allows t by the clock, whatever the window holds."""
    return beat(window, window.report or DEFAULT_REPORT).at_or_before(t) == t


def deciding(windows: Sequence[StreamWindow]) -> list[StreamWindow]:
    """The windows whose report gives ET: those that carry one, or else all of them."""
    return [w for w in windows if w.window.report is not None] or list(windows)


def _decisions(windows: Sequence[StreamWindow], timelines: Mapping[str, Timeline]) -> list[AnyDecision]:
    distinct = dict.fromkeys((w.window, w.stream) for w in deciding(windows))
    return [_decision(window, timelines[stream]) for window, stream in distinct]


def _decision(window: WindowSpec, timeline: Timeline) -> AnyDecision:
    report = window.report or DEFAULT_REPORT
    if isinstance(window, CountWindow):
        return CountDecision.of(window, report, timeline)
    if isinstance(window, SessionWindow):
        return SessionDecision.of(window, report, timeline)
    return Decision.of(window, report, timeline.shifted(offset_of(window)))


def _is_periodic(window: WindowSpec) -> bool:
    """Whether it is facts, by the clock."""
    return isinstance(window, FactsWindow) and window.period is not None


def _advanced(timelines: Iterable[Timeline]) -> Iterator[Instant]:
    """The watermarks before the end, where there were any."""
    return (timeline.advanced for timeline in timelines if timeline.advanced is not None)


def _may_last(window: WindowSpec) -> bool:
    """Whether the report may hold for ever once nothing enters any more: it asks for nothing that has to happen."""
    return (window.report or DEFAULT_REPORT).strategies.isdisjoint(_HAPPENING)


def _next(decisions: Sequence[AnyDecision], after: Instant, upto: Instant) -> Instant | None:
    earliest: Instant | None = None
    for decision in decisions:
        found = decision.next(after, upto)
        if found is not None:
            # What is not earlier than this need not be looked for.
            earliest, upto = found, found - 1
    return earliest


def _bounds(
    decisions: Sequence[AnyDecision],
    windows: Sequence[StreamWindow],
    timelines: Mapping[str, Timeline],
    after: Instant | None,
    upto: Instant,
) -> tuple[Instant, Instant]:
    """(after, upto] cut to where ET may lie: from the first element on and, all having ended, up to the last."""
    read = [timelines[stream] for stream in dict.fromkeys(w.stream for w in windows)]
    firsts = [timeline.first for timeline in read if timeline.first is not None]
    if not firsts:
        return END, END
    after = min(firsts) - 1 if after is None else max(after, min(firsts) - 1)
    if upto >= END or all(timeline.ended for timeline in read):
        upto = min(upto, _end(decisions, windows, timelines, read))
    return after, upto


def _end(
    decisions: Sequence[AnyDecision],
    windows: Sequence[StreamWindow],
    timelines: Mapping[str, Timeline],
    read: Sequence[Timeline],
) -> Instant:
    """No instant of ET lies after this one, all streams having ended."""
    empty_from = max(timeline.last for timeline in read if timeline.last is not None)
    for member in windows:
        if _is_periodic(member.window):
            # No fact begins or ends later than that, and the first instant after it has the last of them.
            last = timelines[member.stream].last
            empty_from = empty_from if last is None else max(empty_from, last + 1)
        if isinstance(member.window, CountWindow | LandmarkWindow):
            continue
        non_empty = _decision(replace(member.window, report=NON_EMPTY), timelines[member.stream])
        holding = non_empty.previous(BEFORE_ALL, END)
        if holding is not None:
            empty_from = max(empty_from, holding + 1)
    by_time = [d for d in decisions if not decided_by_content(d.window)]
    by_content = [d for d in decisions if decided_by_content(d.window) and _may_last(d.window)]
    final = _next(by_time, empty_from - 1, END)
    if final is None:
        final = _next(by_content, empty_from - 1, END)
    if final is None:
        # Only content makes instants here, so they end by themselves.
        return END
    return max([final, *_advanced(read)])
