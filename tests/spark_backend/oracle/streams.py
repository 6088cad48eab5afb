"""Streams as the contract words them: all elements in memory, the watermark beside each (contract section 1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.time import Instant

Triple = tuple[str, str, str]
"""Subject, predicate and object in N-Triples."""


@dataclass(frozen=True)
class Element:
    """One message: its timestamp, its triples, and the watermark when it arrived (None: there was none)."""

    time: Instant
    triples: frozenset[Triple]
    seen: Instant | None

    def takes_part(self, t: Instant) -> bool:
        """Whether an evaluation at t knows of it: it is not of the future, and did not come after the answer."""
        return self.time <= t and (self.seen is None or self.seen < t)

    @property
    def late(self) -> bool:
        return self.seen is not None and self.time <= self.seen


@dataclass
class Stream:
    """The elements of one stream in the order of arrival."""

    lateness: int = 0
    elements: list[Element] = field(default_factory=list)
    said: Instant | None = None
    ended: bool = False

    @property
    def watermark(self) -> Instant | None:
        """The largest time that nothing is awaited at or before: what was said, or t_max − L − 1."""
        known = [] if self.said is None else [self.said]
        if self.elements:
            known.append(max(element.time for element in self.elements) - self.lateness - 1)
        return max(known, default=None)

    def append(self, time: Instant, triples: frozenset[Triple]) -> None:
        self.elements.append(Element(time, triples, self.watermark))

    def advance(self, watermark: Instant) -> None:
        self.said = watermark if self.said is None else max(self.said, watermark)
