"""Windows by enumeration (RSP-QL Definitions 12, 13 and 23; contract section 2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from protocol.time import Instant
from tests.spark_backend.oracle.streams import Element, Stream, Triple

CLOSE, NON_EMPTY, CHANGE, PERIODIC = "ON_WINDOW_CLOSE", "NON_EMPTY_CONTENT", "ON_CONTENT_CHANGE", "PERIODIC"
YEAR_1 = -62_135_596_800_000
"""The first instant that can be written; what is shown of a window that holds everything there ever was."""


@dataclass(frozen=True)
class Window(ABC):
    """A window of a query: its stream, the graph it becomes (None: the default graph), the strategies written on it."""

    stream: str
    graph: str | None = None
    strategies: frozenset[str] | None = None
    period: int = 0

    @property
    @abstractmethod
    def written(self) -> str:
        """What stands in its brackets, without REPORT."""

    @abstractmethod
    def content(self, stream: Stream, t: Instant) -> frozenset[Triple]:
        """The triples in it at t."""

    @abstractmethod
    def bounds(self, stream: Stream, t: Instant) -> tuple[Instant, Instant]:
        """What is said of its content: (o, t]."""

    @abstractmethod
    def closes(self, stream: Stream, t: Instant) -> bool:
        """Whether it closes at t."""

    @abstractmethod
    def beats(self, t: Instant) -> bool:
        """Whether t is one of the instants of PERIODIC."""

    @property
    def forgets(self) -> bool:
        """Whether what is in it leaves it as time goes by."""
        return True

    @property
    def default(self) -> frozenset[str]:
        """When it reports if no REPORT is written in the query."""
        return frozenset({CLOSE, NON_EMPTY})

    def started(self, start: Instant | None) -> Window:
        """The window in a query that starts there."""
        return self

    def reports(self, stream: Stream, t: Instant) -> bool:
        """Whether all of its strategies hold at t."""
        strategies = self.default if self.strategies is None else self.strategies
        return all(self._holds(strategy, stream, t) for strategy in strategies)

    def _holds(self, strategy: str, stream: Stream, t: Instant) -> bool:
        if strategy == CLOSE:
            return self.closes(stream, t)
        if strategy == PERIODIC:
            return self.beats(t)
        if strategy == NON_EMPTY:
            return bool(self.content(stream, t))
        return any(e.time == t and e.triples and e.takes_part(t) and self.admits(e) for e in stream.elements)

    def admits(self, element: Element) -> bool:
        """Whether the element is in the window at its own timestamp."""
        return True


@dataclass(frozen=True)
class IntervalWindow(Window):
    """A window that holds what is in an interval (o, t]."""

    @abstractmethod
    def opening(self, t: Instant) -> Instant:
        """The o of the present instance."""

    def bounds(self, stream: Stream, t: Instant) -> tuple[Instant, Instant]:
        opening = self.opening(t)
        return (opening, t) if opening < t else (t, t)

    def content(self, stream: Stream, t: Instant) -> frozenset[Triple]:
        return frozenset(
            triple
            for element in stream.elements
            if self.opening(t) < element.time and element.takes_part(t)
            for triple in element.triples
        )

    def admits(self, element: Element) -> bool:
        return element.time > self.opening(element.time)


@dataclass(frozen=True)
class TimeWindow(IntervalWindow):
    """Width α, slide β, origin."""

    width: int = 1
    slide: int = 1
    origin: Instant = 0

    @property
    def written(self) -> str:
        return f"RANGE {self.width} STEP {self.slide} T0 {self.origin}"

    def opening(self, t: Instant) -> Instant:
        i = 0
        while self.origin + i * self.slide + self.width < t:
            i += 1
        return self.origin + i * self.slide

    def closes(self, stream: Stream, t: Instant) -> bool:
        return self.opening(t) + self.width == t

    def beats(self, t: Instant) -> bool:
        k, rest = divmod(t - (self.origin + self.width), self.period)
        return k >= 0 and rest == 0


def _steps(origin: Instant | None, step: int, t: Instant) -> bool:
    """Whether t is origin + k·step with k ≥ 1, or without an origin a multiple of the step."""
    return t % step == 0 if origin is None else t > origin and (t - origin) % step == 0


@dataclass(frozen=True)
class NowWindow(IntervalWindow):
    """The elements at the instant."""

    origin: Instant | None = None

    @property
    def written(self) -> str:
        return "NOW" if self.origin is None else f"NOW T0 {self.origin}"

    @property
    def default(self) -> frozenset[str]:
        return frozenset({CHANGE})

    def opening(self, t: Instant) -> Instant:
        return t - 1 if self.origin is None or t > self.origin else self.origin

    def closes(self, stream: Stream, t: Instant) -> bool:
        return self.origin is None or t > self.origin

    def beats(self, t: Instant) -> bool:
        return _steps(self.origin, self.period, t)


@dataclass(frozen=True)
class LandmarkWindow(IntervalWindow):
    """What came after a landmark; without one (``of_query``), after the start of the query."""

    landmark: Instant | None = None
    step: int | None = None
    origin: Instant | None = None
    of_query: bool = False

    @property
    def written(self) -> str:
        words = ["LANDMARK"]
        words += [] if self.of_query or self.landmark is None else [f"{self.landmark}"]
        words += [] if self.step is None else [f"STEP {self.step}"]
        return " ".join([*words, *([] if self.origin is None else [f"T0 {self.origin}"])])

    @property
    def forgets(self) -> bool:
        return False

    @property
    def default(self) -> frozenset[str]:
        return frozenset({CHANGE}) if self.step is None else super().default

    def started(self, start: Instant | None) -> Window:
        return replace(self, landmark=start) if self.of_query else self

    def opening(self, t: Instant) -> Instant:
        return YEAR_1 if self.landmark is None else self.landmark

    def closes(self, stream: Stream, t: Instant) -> bool:
        assert self.step is not None
        return _steps(self._origin, self.step, t)

    def beats(self, t: Instant) -> bool:
        return _steps(self._origin, self.period, t)

    @property
    def _origin(self) -> Instant | None:
        if self.origin is not None or self.of_query:
            return self.origin
        return self.landmark


@dataclass(frozen=True)
class CountWindow(Window):
    """The last triples or elements, as many as ``size``; ``by`` is TRIPLES or ELEMENTS."""

    size: int = 1
    by: str = "TRIPLES"
    step: int = 1
    origin: Instant | None = None

    @property
    def written(self) -> str:
        return f"{self.by} {self.size} STEP {self.step}" + ("" if self.origin is None else f" T0 {self.origin}")

    @property
    def forgets(self) -> bool:
        return False

    def content(self, stream: Stream, t: Instant) -> frozenset[Triple]:
        return frozenset(triple for _, triples in self._items(stream, t)[-self.size :] for triple in triples)

    def bounds(self, stream: Stream, t: Instant) -> tuple[Instant, Instant]:
        last = self._items(stream, t)[-self.size :]
        return (last[0][0] - 1, t) if last else (t, t)

    def closes(self, stream: Stream, t: Instant) -> bool:
        now, before = len(self._items(stream, t)), len(self._items(stream, t - 1))
        return any(count % self.step == 0 for count in range(before + 1, now + 1))

    def beats(self, t: Instant) -> bool:
        return _steps(self.origin, self.period, t)

    def _items(self, stream: Stream, t: Instant) -> list[tuple[Instant, list[Triple]]]:
        """What takes part at t in its order: elements, or the triples of each in the order they were sent."""
        there = sorted((e for e in stream.elements if e.triples and e.takes_part(t)), key=lambda e: e.time)
        if self.by == "ELEMENTS":
            return [(e.time, sorted(e.triples)) for e in there]
        return [(e.time, [triple]) for e in there for triple in sorted(e.triples)]


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
        if all(e.takes_part(t) for e in elements) and not any(
            w.forgets and w.content(read[w.stream], t) for w in windows
        ):
            return max([t, *said])
    return max(instants, default=0)
