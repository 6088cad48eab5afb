"""Window specifications and report policies as plain values (RSP-QL Definitions 12, 13 and 23;
docs/model.md, "Windows").
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias, TypeGuard

from protocol.time import BEFORE_ALL, Instant, Milliseconds


class Strategy(StrEnum):
    """A report strategy (Definition 23; SECRET)."""

    ON_WINDOW_CLOSE = "ON_WINDOW_CLOSE"
    NON_EMPTY_CONTENT = "NON_EMPTY_CONTENT"
    ON_CONTENT_CHANGE = "ON_CONTENT_CHANGE"
    PERIODIC = "PERIODIC"


@dataclass(frozen=True)
class Report:
    """The strategies on one window, a conjunction. ``period`` (ms) goes with PERIODIC."""

    strategies: frozenset[Strategy]
    period: Milliseconds | None = None


DEFAULT_REPORT = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))
NON_EMPTY = Report(frozenset({Strategy.NON_EMPTY_CONTENT}))
"""Every instant at which there is content."""


@dataclass(frozen=True)
class TimeWindow:
    """A time-based sliding window (Definition 13): width α, slide β, origin t0, all in milliseconds.

    Its instances are (o, c] with o = t0 + iβ, c = o + α, i ≥ 0. ``report`` is None where the query
    wrote no REPORT on this window (docs/model.md, "Instants and reports", says which windows then decide).
    ``offset`` δ: at t it holds what lies in (o − δ, t − δ], where (o, t] is what it would hold without; its closes and
    the beats of PERIODIC stay where they are. An element with timestamp x so enters at x + δ.
    """

    width: Milliseconds
    slide: Milliseconds
    origin: Instant
    report: Report | None = None
    offset: Milliseconds = 0

    def __post_init__(self) -> None:
        if self.width <= 0 or self.slide <= 0:
            raise ValueError("a window's range and step must be longer than zero")
        if self.offset < 0:
            raise ValueError("a window's offset leads into the past")

    @property
    def first_close(self) -> Instant:
        """c of the instance i = 0."""
        return self.origin + self.width


@dataclass(frozen=True)
class NowWindow:
    """``[NOW]``: the elements at t, which is the interval (t − 1 ms, t] (docs/model.md, "Windows").

    An instance closes at every instant. With an origin (``T0``) it holds nothing at or before that, and
    PERIODIC counts from there: t0 + k·d, k ≥ 1; without one PERIODIC d is at the multiples of d.
    """

    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class LandmarkWindow:
    """``[LANDMARK L STEP β]``: everything since L, the interval (L, t] (docs/model.md, "Windows").

    ``landmark`` None is the query's start, until ``bound`` puts that in its place; what has not been bound, or
    whose query has no start, holds everything there is. It closes at t0 + kβ, k ≥ 1, and PERIODIC d is at t0 + kd.
    t0, the ``origin``, is what T0 says, else the L that is written; None, without either, are the multiples of β
    or d. Without a step it never closes.
    """

    landmark: Instant | None
    step: Milliseconds | None
    origin: Instant | None
    report: Report | None = None

    def __post_init__(self) -> None:
        if self.step is not None and self.step <= 0:
            raise ValueError("a window's step must be longer than zero")

    @property
    def opening(self) -> Instant:
        """L, BEFORE_ALL where there is none."""
        return BEFORE_ALL if self.landmark is None else self.landmark


@dataclass(frozen=True)
class FactsWindow(LandmarkWindow):
    """``CURRENT``: the facts of a definition that hold at t, a graph (docs/model.md, "Facts").

    What began may hold for ever: like a LANDMARK from the beginning on it needs all that the stream ever had.
    ``definition`` is its key. ON_CONTENT_CHANGE is where a fact begins or ends; PERIODIC d is at the multiples of d,
    when the stream has ended up to the first one after the last begin or end.
    """

    landmark: Instant | None = BEFORE_ALL
    step: Milliseconds | None = None
    origin: Instant | None = None
    definition: str = field(default="", kw_only=True)

    @property
    def period(self) -> Milliseconds | None:
        """The d of PERIODIC; None where it reports when a fact begins or ends."""
        return None if self.report is None else self.report.period


class Unit(StrEnum):
    """What a count window counts."""

    TRIPLES = "TRIPLES"
    ELEMENTS = "ELEMENTS"


class TriplePart(StrEnum):
    """A part of a triple that a window may be partitioned by."""

    SUBJECT = "SUBJECT"
    PREDICATE = "PREDICATE"
    OBJECT = "OBJECT"


@dataclass(frozen=True)
class Partition:
    """``PARTITION BY``: what the triples of one partition have in common (docs/model.md, "Partitioned windows").

    The same ``parts``, and messages with the same set of values for each of the ``properties`` (IRIs): the objects
    that the property has in the message, whatever their subjects.
    """

    parts: tuple[TriplePart, ...] = ()
    properties: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a key: without one all triples are in one partition."""
        return bool(self.parts or self.properties)


@dataclass(frozen=True)
class CountWindow:
    """``[TRIPLES n STEP k]``, ``[ELEMENTS n STEP k]``: the last n that take part at t (docs/model.md, "Windows").

    Those with the greatest timestamps ≤ t, equal timestamps in the log's order, the triples of one element too: those
    further back in the message stay. An element that came late takes its place by its timestamp, at instants
    after the watermark it met. A triple counts as often as it is sent (once for each graph of a message
    that has it), though the content, being a set, has it once. An element without triples moves time, and does
    not count.

    The window closes at each instant t at which the count of all that takes part at t, from the stream's beginning, is
    past a multiple of k that it was not past at t − 1 ms. ``origin`` (``T0``) is where PERIODIC counts from, as
    in ``NowWindow``: a count begins nowhere in time.

    With a ``partition`` it holds the last n of each partition: each is a stream of its own, with the triples of its
    key and the elements that have such. When the window closes is a matter of all that takes part. With ``where`` only
    those of them are in the content whose messages match it: an ASK query of standard SPARQL. ON_CONTENT_CHANGE is then
    every instant at which an element enters or leaves the content.
    """

    size: int
    unit: Unit
    step: int = 1
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        if self.size <= 0 or self.step <= 0:
            raise ValueError("a window's size and step must be at least one")


@dataclass(frozen=True)
class SessionWindow:
    """``[SESSION gap]``: at t the sessions that close at t (docs/model.md, "Windows").

    A session is a longest run of elements no two neighbours of which are more than the gap apart, and closes at the
    timestamp of the last one + gap. It is of the elements that take part at t: one that came late may have made it
    longer, and then it closes again. An element without triples is in none. ``origin`` (``T0``) is where PERIODIC
    counts from, as in ``NowWindow``.

    With a ``partition`` it holds the sessions of each partition: each is a stream of its own, as in ``CountWindow``.
    """

    gap: Milliseconds
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise ValueError("the gap between sessions must be longer than zero")


IntervalWindow: TypeAlias = TimeWindow | NowWindow | LandmarkWindow
"""Windows whose content at t is what lies in an interval (o, t], or in one a constant time earlier."""

WindowSpec: TypeAlias = IntervalWindow | CountWindow | SessionWindow
"""All kinds of windows."""


ONLY_STREAM = ""
"""In the place of a stream's IRI: the endpoint's only stream, whichever it is."""


@dataclass(frozen=True)
class StreamWindow:
    """One window over one stream: a member of the query's dataset (Definition 14).

    ``graph`` is the IRI of the named graph the window's content becomes, None for the default graph; ``also`` that
    of the named graph which it is beside the default graph, None for none (C-SPARQL sections 2.6 and 5.2).
    ``instead``: in what reads the graph of this name the window takes the place of those of the default graph, and the
    store's default graph is there as ever (Streaming SPARQL, a window in a group).
    ``declared`` is true where ``WINDOW`` may range over it: FROM NAMED WINDOW and FROM NAMED STREAM.
    ``reference`` is the stream's IRI as it is written, if that is relative: to a base, or else to ``/streams/``.
    ``occurrences``: what it holds is no set of triples, but each triple at each time (docs/model.md, "Event patterns").
    ``line`` and ``column`` (from 1) are the place of the declaration in the query's text.
    """

    stream: str
    window: WindowSpec
    graph: str | None
    declared: bool
    line: int = field(default=1, compare=False)
    column: int = field(default=1, compare=False)
    reference: str | None = field(default=None, compare=False, kw_only=True)
    also: str | None = field(default=None, kw_only=True)
    instead: bool = field(default=False, kw_only=True)
    occurrences: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str | None:
        """The IRI of the named graph that has its content; None where only the default graph has."""
        return self.graph or self.also


def offset_of(window: WindowSpec) -> Milliseconds:
    """How long after its timestamp an element enters the window, at the earliest."""
    match window:
        case TimeWindow(offset=offset):
            return offset
        case SessionWindow(gap=gap):
            return gap
        case _:
            return 0


def begins_with_query(window: WindowSpec) -> TypeGuard[LandmarkWindow]:
    """Whether the window is a LANDMARK that no time was written for."""
    return isinstance(window, LandmarkWindow) and window.landmark is None


def bound(window: WindowSpec, start: Instant | None) -> WindowSpec:
    """The window in a query that starts at ``start`` (None: with the first element): what a LANDMARK may refer to."""
    if begins_with_query(window):
        return replace(window, landmark=start)
    return window


_OF_CONTENT = frozenset({Strategy.NON_EMPTY_CONTENT, Strategy.ON_CONTENT_CHANGE})

BY_CONTENT: tuple[type[WindowSpec], ...] = (FactsWindow,)
"""Kinds of windows that report by what elements hold, which no timeline knows."""


def decided_by_content(window: WindowSpec) -> bool:
    """Whether an evaluation says itself if its instant is one of ET: timelines give more instants than those."""
    if isinstance(window, SessionWindow):
        return window.partition is not None and (window.report or DEFAULT_REPORT).strategies != {Strategy.PERIODIC}
    if isinstance(window, CountWindow) and window.where is not None:
        return not (window.report or DEFAULT_REPORT).strategies.isdisjoint(_OF_CONTENT)
    return isinstance(window, BY_CONTENT)
