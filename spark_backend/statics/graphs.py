"""The store, as continuous queries read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

Quad = tuple[str, str, str, str]
"""(g, s, p, o) as canonical N-Triples; g is "" for the default graph."""


class StaticGraphs(Protocol):
    """The endpoint's dataset, as far as continuous queries read it. Terms are canonical N-Triples."""

    @property
    def version(self) -> int:
        """Grows with every change."""

    @property
    def settled_version(self) -> int:
        """The version, as soon as no change is being committed: what is read between two that are the same is of one
        state.
        """

    def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
        """Whether quads with this predicate (None: any) may have been changed since a version in one of these graphs:
        IRIs, "" for the default graph; None: any.
        """

    def named_graphs(self) -> list[str]:
        """The IRIs of the named graphs; ``_:label`` for those named by blank nodes."""

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterable[Quad]:
        """(g, s, p, o) matching these terms (None: any) in the graphs of these names, or None for the default graph."""

    def n_quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterable[bytes]:
        """The same as canonical N-Quads, in parts."""
