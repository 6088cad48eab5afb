"""Time windows by enumeration (RSP-QL Definitions 12, 13 and 23; contract section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.time import Instant
from tests.spark_backend.oracle.streams import Stream, Triple

CLOSE, NON_EMPTY, CHANGE, PERIODIC = "ON_WINDOW_CLOSE", "NON_EMPTY_CONTENT", "ON_CONTENT_CHANGE", "PERIODIC"


@dataclass(frozen=True)
class Window:
    """A window of a query: its stream, width α, slide β, origin, the strategies written on it.

    ``graph`` is the IRI of the named graph it becomes, None for the default graph.
    """

    stream: str
    width: int
    slide: int
    origin: Instant
    graph: str | None = None
    strategies: frozenset[str] | None = None
    period: int = 0

    def present(self, t: Instant) -> tuple[Instant, Instant]:
        """The oldest instance that is not closed before t."""
        i = 0
        while True:
            opening = self.origin + i * self.slide
            closing = opening + self.width
            if closing >= t:
                return opening, closing
            i += 1

    def bounds(self, t: Instant) -> tuple[Instant, Instant]:
        """The present instance cut at t; nothing while it has not opened."""
        opening, _ = self.present(t)
        return (opening, t) if opening < t else (t, t)

    def content(self, stream: Stream, t: Instant) -> frozenset[Triple]:
        opening, upto = self.bounds(t)
        return frozenset(
            triple
            for element in stream.elements
            if opening < element.time <= upto and element.takes_part(t)
            for triple in element.triples
        )

    def reports(self, stream: Stream, t: Instant) -> bool:
        """Whether all of its strategies hold at t."""
        strategies = frozenset({CLOSE, NON_EMPTY}) if self.strategies is None else self.strategies
        return all(self._holds(strategy, stream, t) for strategy in strategies)

    def _holds(self, strategy: str, stream: Stream, t: Instant) -> bool:
        if strategy == CLOSE:
            return self.present(t)[1] == t
        if strategy == PERIODIC:
            k, rest = divmod(t - (self.origin + self.width), self.period)
            return k >= 0 and rest == 0
        if strategy == NON_EMPTY:
            return bool(self.content(stream, t))
        opening, _ = self.bounds(t)
        return any(e.time == t and e.time > opening and e.triples and e.takes_part(t) for e in stream.elements)


def evaluation_instants(
    windows: Sequence[Window], streams: Mapping[str, Stream], start: Instant | None, horizon: tuple[Instant, Instant]
) -> list[Instant]:
    """ET of a query that started after ``start``, as far as its streams' watermarks have come.

    Every instant of the horizon is looked at. Of streams that have all ended, ET is up to the first of its
    instants, no element being awaited any more, at which all windows are empty; what a watermark that was
    said had closed before stays closed.
    """
    read = {window.stream: streams[window.stream] for window in windows}
    deciding = [window for window in windows if window.strategies is not None] or list(windows)
    elements = [element for stream in read.values() for element in stream.elements]
    instants = [
        t
        for t in range(horizon[0], horizon[1] + 1)
        if any(element.takes_part(t) for element in elements)
        and any(window.reports(streams[window.stream], t) for window in deciding)
    ]
    if all(stream.ended for stream in read.values()):
        upto = _last(windows, read, instants)
    else:
        reached = [stream.watermark for stream in read.values() if not stream.ended]
        upto = horizon[0] - 1 if None in reached else min(w for w in reached if w is not None)
    return [t for t in instants if t <= upto and (start is None or t > start)]


def _last(windows: Sequence[Window], read: Mapping[str, Stream], instants: Sequence[Instant]) -> Instant:
    elements = [element for stream in read.values() for element in stream.elements]
    said = [stream.said for stream in read.values() if stream.said is not None]
    for t in instants:
        if all(e.takes_part(t) for e in elements) and not any(w.content(read[w.stream], t) for w in windows):
            return max([t, *said])
    return max(instants, default=0)
