"""From relations to streams: RStream, IStream and DStream (RSP-QL Definitions 20 to 22)."""

from __future__ import annotations

from collections.abc import Sequence

Solution = frozenset[tuple[str, str]]
"""A solution mapping: pairs of a variable's name and a term in N-Triples."""


def streamed(operator: str, current: Sequence[Solution], previous: Sequence[Solution]) -> list[Solution]:
    """What is streamed out of the solutions now, those of the previous evaluation known. Multiplicities are kept."""
    if operator == "ISTREAM":
        return [solution for solution in current if solution not in previous]
    if operator == "DSTREAM":
        return [solution for solution in previous if solution not in current]
    return list(current)
