"""Evaluation instants: report policies, looked at one instant after the other (Definition 23;
docs/model.md, "Instants and reports").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.rsp.oracle.elements import OracleStream
from conformance.rsp.oracle.windows import CHANGE, CLOSE, NON_EMPTY, PERIODIC, Window

_CHEAPEST_FIRST = (PERIODIC, CLOSE, CHANGE, NON_EMPTY)


def reports(window: Window, stream: OracleStream, t: int) -> bool:
    """Whether all of the window's strategies hold at t."""
    return all(_holds(one, window, stream, t) for one in _CHEAPEST_FIRST if one in window.reporting)


def _holds(strategy: str, window: Window, stream: OracleStream, t: int) -> bool:
    if strategy == CLOSE:
        return window.closes(stream, t)
    if strategy == PERIODIC:
        return window.beats(t)
    if strategy == NON_EMPTY:
        return bool(window.content(stream, t))
    return window.changes(stream, t)


def evaluation_instants(
    windows: Sequence[Window], streams: Mapping[str, OracleStream], start: int | None, horizon: tuple[int, int]
) -> list[int]:
    """ET of a query that started after ``start``, as far as its streams' watermarks have come.

    Every instant of the horizon is looked at. Of streams that have all ended, ET is up to the first of its
    instants, no element being awaited any more, at which all windows are empty and stay so, of those that time decides
    on if there are any; what a watermark that was said had closed before stays closed. What windows ask for no more
    when they have ended (``reports_after_end``) is in it as far as watermarks had come before.
    """
    read = {window.stream: streams[window.stream] for window in windows}
    # If any window of the query carries REPORT, only windows that carry it decide.
    deciding = [window for window in windows if window.strategies is not None] or list(windows)
    elements = [element for stream in read.values() for element in stream.elements]
    reported = {
        t: [window for window in deciding if reports(window, streams[window.stream], t)]
        for t in range(horizon[0], horizon[1] + 1)
        if any(element.takes_part(t) for element in elements)
    }
    instants = [t for t, by in reported.items() if by]
    if all(stream.ended for stream in read.values()):
        by_time = [t for t, by in reported.items() if not all(window.by_content for window in by)]
        upto = _last(windows, read, [*by_time, *instants], horizon)
        before_end = max((w for stream in read.values() if (w := stream.watermark) is not None), default=horizon[0] - 1)
        instants = [
            t
            for t in instants
            if t <= before_end or any(window.reports_after_end(read[window.stream], t) for window in reported[t])
        ]
    else:
        reached = [stream.watermark for stream in read.values() if not stream.ended]
        upto = horizon[0] - 1 if None in reached else min(w for w in reached if w is not None)
    return [t for t in instants if t <= upto and (start is None or t > start)]


def _last(
    windows: Sequence[Window], read: Mapping[str, OracleStream], instants: Sequence[int], horizon: tuple[int, int]
) -> int:
    elements = [element for stream in read.values() for element in stream.elements]
    said = [stream.said for stream in read.values() if stream.said is not None]
    forgetting = [(window, read[window.stream]) for window in windows if window.forgets]
    # The last instant at which a window holds something.
    held = next(
        (t for t in range(horizon[1], horizon[0] - 1, -1) if any(w.content(stream, t) for w, stream in forgetting)),
        horizon[0] - 1,
    )
    for t in instants:
        told = all(window.is_told(read[window.stream], t) for window in windows)
        if t > held and told and all(element.takes_part(t) for element in elements):
            return max([t, *said])
    return max(instants, default=0)
