"""What an evaluation gives: one query's solutions at one instant."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.time import Instant


@dataclass(frozen=True)
class Answer:
    """One query's solutions at one instant.

    ``solutions``: SPARQL JSON binding objects, in order. ``triples``: for CONSTRUCT, the N-Triples lines
    of each solution (as many entries as solutions), else empty. ``error`` is set instead where it failed.
    """

    instant: Instant
    solutions: list[str]
    triples: list[str]
    error: str | None = None
