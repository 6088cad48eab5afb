"""RDF streams in memory: every element, and the watermark it met (RSP-QL Definition 9; docs/model.md, "Watermarks")."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

Triple = tuple[str, str, str]
"""Subject, predicate and object in N-Triples."""


@dataclass(frozen=True)
class Element:
    """One message: its timestamp in ms, its triples in their order, and the watermark that it met (None: none yet)."""

    time: int
    triples: tuple[Triple, ...]
    seen: int | None

    def takes_part(self, t: int) -> bool:
        """Whether an evaluation at t knows of it: it is not of the future, and did not come after the answer."""
        return self.time <= t and (self.seen is None or self.seen < t)

    @property
    def late(self) -> bool:
        return self.seen is not None and self.time <= self.seen


@dataclass
class OracleStream:
    """The elements of one stream in the order of arrival. ``lateness`` in ms; ``said``: the watermark that was set."""

    lateness: int = 0
    elements: list[Element] = field(default_factory=list)
    said: int | None = None
    ended: bool = False

    @property
    def watermark(self) -> int | None:
        """The largest time that nothing is awaited at or before: what was said, or t_max − L − 1."""
        known = [] if self.said is None else [self.said]
        if self.elements:
            known.append(max(element.time for element in self.elements) - self.lateness - 1)
        return max(known, default=None)

    def append(self, time: int, triples: Iterable[Triple]) -> None:
        """Take a message, a set of triples that keeps its order. Of a Python set, the order is that of its texts."""
        ordered = sorted(triples) if isinstance(triples, Set) else triples
        self.elements.append(Element(time, tuple(dict.fromkeys(ordered)), self.watermark))

    def advance(self, watermark: int) -> None:
        """Take a watermark that was said; one that goes back means nothing."""
        self.said = watermark if self.said is None else max(self.said, watermark)
