"""Windows by definition: content, bounds and closes (RSP-QL Definitions 12 and 13; docs/model.md, "Windows")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import pyoxigraph as ox

from conformance.rsp.oracle.elements import Element, OracleStream, Triple

CLOSE, NON_EMPTY, CHANGE, PERIODIC = "ON_WINDOW_CLOSE", "NON_EMPTY_CONTENT", "ON_CONTENT_CHANGE", "PERIODIC"
YEAR_1 = -62_135_596_800_000
"""The first instant that can be written; what is shown of a window that holds everything there ever was."""


@dataclass(frozen=True)
class Window(ABC):
    """A window of a query: its stream's name, the graph it becomes (None: the default graph), its report.

    ``strategies`` None: no REPORT is written on it. ``period``: that of PERIODIC in ms.
    """

    stream: str
    graph: str | None = None
    strategies: frozenset[str] | None = None
    period: int = 0

    @property
    @abstractmethod
    def written(self) -> str:
        """What stands in its brackets, without REPORT."""

    @abstractmethod
    def content(self, stream: OracleStream, t: int) -> frozenset[Triple]:
        """The triples in it at t: a set (docs/model.md, "Windows")."""

    @abstractmethod
    def timed(self, stream: OracleStream, t: int) -> dict[Triple, int]:
        """Each triple in it at t with its latest timestamp."""

    @abstractmethod
    def bounds(self, stream: OracleStream, t: int) -> tuple[int, int]:
        """What is said of its content: (o, t]."""

    @abstractmethod
    def closes(self, stream: OracleStream, t: int) -> bool:
        """Whether it closes at t."""

    @abstractmethod
    def beats(self, t: int) -> bool:
        """Whether t is one of the instants of PERIODIC."""

    @property
    def forgets(self) -> bool:
        """Whether what is in it leaves it as time goes by."""
        return True

    @property
    def default(self) -> frozenset[str]:
        """When it reports if no REPORT is written in the query."""
        return frozenset({CLOSE, NON_EMPTY})

    @property
    def reporting(self) -> frozenset[str]:
        """The strategies of its report."""
        return self.default if self.strategies is None else self.strategies

    @property
    def by_content(self) -> bool:
        """Whether what its elements hold decides on when it reports, not only when they come."""
        return False

    def started(self, start: int | None) -> Window:
        """The window in a query that starts there."""
        return self

    def entry(self, element: Element) -> int | None:
        """When the element enters the window, if it comes in time for that; None if it is never in it."""
        return element.time

    def changes(self, stream: OracleStream, t: int) -> bool:
        """Whether an element enters it at t."""
        return any(e.triples and e.takes_part(t) and self.entry(e) == t for e in stream.elements)

    def is_told(self, stream: OracleStream, t: int) -> bool:
        """Whether it asks for no evaluation after t, no element being awaited any more, whatever it holds."""
        return True

    def reports_after_end(self, stream: OracleStream, t: int) -> bool:
        """Whether an instant at which it reports is one that it asks for when no watermark reaches that but the end."""
        return True


@dataclass(frozen=True)
class IntervalWindow(Window):
    """A window that holds what is in an interval (o, t], or in one so much (``shift``) earlier."""

    @abstractmethod
    def opening(self, t: int) -> int:
        """The o of the present instance."""

    @property
    def shift(self) -> int:
        return 0

    def bounds(self, stream: OracleStream, t: int) -> tuple[int, int]:
        opening = min(self.opening(t), t)
        return opening - self.shift, t - self.shift

    def content(self, stream: OracleStream, t: int) -> frozenset[Triple]:
        return frozenset(self.timed(stream, t))

    def timed(self, stream: OracleStream, t: int) -> dict[Triple, int]:
        after, upto = self.bounds(stream, t)
        there = [element for element in stream.elements if after < element.time <= upto and element.takes_part(t)]
        return _latest([(element.time, triple) for element in there for triple in element.triples])

    def entry(self, element: Element) -> int | None:
        entry = element.time + self.shift
        return entry if entry > self.opening(entry) else None


@dataclass(frozen=True)
class TimeWindow(IntervalWindow):
    """Definition 13: width α, slide β and t0, here ``origin``, in ms; ``offset``: all bounds so much earlier."""

    width: int = 1
    slide: int = 1
    origin: int = 0
    offset: int = 0

    @property
    def written(self) -> str:
        offset = f"OFFSET {self.offset} " if self.offset else ""
        return f"RANGE {self.width} STEP {self.slide} {offset}T0 {self.origin}"

    @property
    def shift(self) -> int:
        return self.offset

    def opening(self, t: int) -> int:
        """That of the oldest instance not closed before t: the least i ≥ 0 with t0 + iβ + α ≥ t."""
        i = max(0, -((self.origin + self.width - t) // self.slide))
        return self.origin + i * self.slide

    def closes(self, stream: OracleStream, t: int) -> bool:
        return self.opening(t) + self.width == t

    def beats(self, t: int) -> bool:
        k, rest = divmod(t - (self.origin + self.width), self.period)
        return k >= 0 and rest == 0


def _steps(origin: int | None, step: int, t: int) -> bool:
    """Whether t is origin + k·step with k ≥ 1, or without an origin a multiple of the step."""
    return t % step == 0 if origin is None else t > origin and (t - origin) % step == 0


def _latest(items: list[tuple[int, Triple]]) -> dict[Triple, int]:
    latest: dict[Triple, int] = {}
    for time, triple in items:
        latest[triple] = max(time, latest.get(triple, time))
    return latest


@dataclass(frozen=True)
class NowWindow(IntervalWindow):
    """The elements at the instant."""

    origin: int | None = None

    @property
    def written(self) -> str:
        return "NOW" if self.origin is None else f"NOW T0 {self.origin}"

    @property
    def default(self) -> frozenset[str]:
        return frozenset({CHANGE})

    def opening(self, t: int) -> int:
        return t - 1 if self.origin is None or t > self.origin else self.origin

    def closes(self, stream: OracleStream, t: int) -> bool:
        return self.origin is None or t > self.origin

    def beats(self, t: int) -> bool:
        return _steps(self.origin, self.period, t)


@dataclass(frozen=True)
class LandmarkWindow(IntervalWindow):
    """What came after a landmark; without one (``of_query``), after the start of the query."""

    landmark: int | None = None
    step: int | None = None
    origin: int | None = None
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

    def started(self, start: int | None) -> Window:
        return replace(self, landmark=start) if self.of_query else self

    def opening(self, t: int) -> int:
        return YEAR_1 if self.landmark is None else self.landmark

    def closes(self, stream: OracleStream, t: int) -> bool:
        assert self.step is not None
        return _steps(self._origin, self.step, t)

    def beats(self, t: int) -> bool:
        return _steps(self._origin, self.period, t)

    @property
    def _origin(self) -> int | None:
        if self.origin is not None or self.of_query:
            return self.origin
        return self.landmark


@dataclass(frozen=True)
class CountWindow(Window):
    """The last triples or elements, as many as ``size``; ``by`` is TRIPLES or ELEMENTS."""

    size: int = 1
    by: str = "TRIPLES"
    step: int = 1
    origin: int | None = None
    partition: tuple[str, ...] = ()
    """The keys of PARTITION BY: SUBJECT, PREDICATE, OBJECT or properties in N-Triples."""
    where: str | None = None
    """What a message has to match: a group in SPARQL, its IRIs in full."""
    steps: bool = True
    """Whether STEP is written, which says when a window with WHERE reports."""

    @property
    def written(self) -> str:
        words = [f"{self.by} {self.size}", *([f"STEP {self.step}"] if self.steps else [])]
        words += ["PARTITION BY", *self.partition] if self.partition else []
        words += [f"WHERE {self.where}"] if self.where else []
        return " ".join([*words, *([] if self.origin is None else [f"T0 {self.origin}"])])

    @property
    def forgets(self) -> bool:
        return False

    def content(self, stream: OracleStream, t: int) -> frozenset[Triple]:
        return frozenset(self.timed(stream, t))

    @property
    def default(self) -> frozenset[str]:
        return super().default if self.where is None or self.steps else frozenset({CHANGE})

    @property
    def by_content(self) -> bool:
        return self.where is not None and not self.reporting.isdisjoint({NON_EMPTY, CHANGE})

    def timed(self, stream: OracleStream, t: int) -> dict[Triple, int]:
        return _latest([(item.time, triple) for item in self._held(stream, t) for triple in item.triples])

    def bounds(self, stream: OracleStream, t: int) -> tuple[int, int]:
        items = self._items([(e, e) for e in stream.elements], t)
        last = items if self.partition else items[-self.size :]
        return (last[0].time - 1, t) if last else (t, t)

    def closes(self, stream: OracleStream, t: int) -> bool:
        """Whether the count passes a multiple of the step at t, of all whatever their key."""
        everything = [(e, e) for e in stream.elements]
        now, before = len(self._items(everything, t)), len(self._items(everything, t - 1))
        return any(count % self.step == 0 for count in range(before + 1, now + 1))

    def changes(self, stream: OracleStream, t: int) -> bool:
        """Whether an element enters at t; with WHERE, whether the content has others than a moment before."""
        return super().changes(stream, t) if self.where is None else self._held(stream, t) != self._held(stream, t - 1)

    def beats(self, t: int) -> bool:
        return _steps(self.origin, self.period, t)

    def _held(self, stream: OracleStream, t: int) -> list[_Item]:
        last = [item for part in _parts(stream, self.partition) for item in self._items(part, t)[-self.size :]]
        return [item for item in last if self.where is None or _matches(item.message.triples, self.where)]

    def _items(self, part: Sequence[tuple[Element, Element]], t: int) -> list[_Item]:
        """What takes part at t in its order: elements, or the triples of each in the order they were sent."""
        there = [(e, of) for e, of in part if e.triples and e.takes_part(t)]
        there.sort(key=lambda pair: pair[0].time)
        if self.by == "ELEMENTS":
            return [_Item(e.time, e.triples, id(of), 0, of) for e, of in there]
        return [
            _Item(e.time, (triple,), id(of), number, of) for e, of in there for number, triple in enumerate(e.triples)
        ]


def _parts(stream: OracleStream, partition: Sequence[str]) -> list[list[tuple[Element, Element]]]:
    """The streams of all keys: the elements that have triples of the key, with just these; and as they came."""
    if not partition:
        return [[(element, element) for element in stream.elements]]
    parts: dict[tuple[object, ...], list[tuple[Element, Element]]] = {}
    for element in stream.elements:
        of_key: dict[tuple[object, ...], list[Triple]] = {}
        for triple in element.triples:
            of_key.setdefault(tuple(_key(word, triple, element) for word in partition), []).append(triple)
        for key, triples in of_key.items():
            parts.setdefault(key, []).append((replace(element, triples=tuple(triples)), element))
    return list(parts.values())


class _Item(NamedTuple):
    """What is counted: which of the elements that came, which of its triples, and all of that element."""

    time: int
    triples: tuple[Triple, ...]
    element: int
    number: int
    message: Element


@cache
def _matches(message: tuple[Triple, ...], where: str) -> bool:
    store = ox.Store()
    text = "".join(f"{' '.join(triple)} .\n" for triple in message)
    store.load(text.encode(), format=ox.RdfFormat.N_TRIPLES)
    return bool(store.query(f"ASK {where}"))


def _key(word: str, triple: Triple, element: Element) -> object:
    """What a word of PARTITION BY looks at: a part of the triple, or the values of a property in the message."""
    parts = ("SUBJECT", "PREDICATE", "OBJECT")
    return triple[parts.index(word)] if word in parts else frozenset(o for _, p, o in element.triples if p == word)


@dataclass(frozen=True)
class SessionWindow(Window):
    """The sessions that close: longest runs of elements with triples, no neighbours more than ``gap`` apart.

    ``partition`` as in ``CountWindow``: of the elements of each key.
    """

    gap: int = 1
    origin: int | None = None
    partition: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        words = [f"SESSION {self.gap}", *(["PARTITION BY", *self.partition] if self.partition else [])]
        return " ".join([*words, *([] if self.origin is None else [f"T0 {self.origin}"])])

    @property
    def by_content(self) -> bool:
        return bool(self.partition) and self.reporting != {PERIODIC}

    def content(self, stream: OracleStream, t: int) -> frozenset[Triple]:
        return frozenset(self.timed(stream, t))

    def timed(self, stream: OracleStream, t: int) -> dict[Triple, int]:
        closing = [
            element for part in _parts(stream, self.partition) for element in self._closing([e for e, _ in part], t)
        ]
        return _latest([(element.time, triple) for element in closing for triple in element.triples])

    def bounds(self, stream: OracleStream, t: int) -> tuple[int, int]:
        """Of sessions of keys those of the session of all keys that they are in, whether any of them closes or not."""
        sessions = self._sessions(stream.elements, t)
        last = sessions[-1] if sessions else []
        told = last if self.partition and last and last[-1].time + self.gap >= t else self._closing(stream.elements, t)
        return (told[0].time - 1, t) if told else (t, t)

    def closes(self, stream: OracleStream, t: int) -> bool:
        return bool(self.content(stream, t))

    def changes(self, stream: OracleStream, t: int) -> bool:
        return self.closes(stream, t)

    def beats(self, t: int) -> bool:
        return _steps(self.origin, self.period, t)

    def _closing(self, elements: Sequence[Element], t: int) -> list[Element]:
        """The elements of the session that closes at t."""
        sessions = self._sessions(elements, t)
        return next((session for session in sessions if session[-1].time + self.gap == t), [])

    def _sessions(self, elements: Sequence[Element], t: int) -> list[list[Element]]:
        sessions: list[list[Element]] = []
        for element in sorted((e for e in elements if e.triples and e.takes_part(t)), key=lambda e: e.time):
            if not sessions or element.time - sessions[-1][-1].time > self.gap:
                sessions.append([])
            sessions[-1].append(element)
        return sessions
