"""A part of a query that is matched once for all instants, each solution with the interval in which it holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

TriplePlace = tuple[str | None, str | None, str | None]
"""Subject, predicate and object of a triple pattern: a canonical term, None where a variable stands."""


@dataclass(frozen=True)
class IntervalPart:
    """A SELECT of ``columns`` and ``prev, first, entry`` over tables of the matches of each of its triple patterns.

    The tables are placeholders, ``part_0`` and so on with ``mark`` behind. ``window`` is the number of the query's
    window that is read; ``links`` are the columns of two patterns (their places) in which the same variable stands.
    """

    window: int
    patterns: tuple[TriplePlace, ...]
    links: tuple[tuple[int, str, int, str], ...]
    sql: str
    mark: str
    columns: tuple[str, ...]

    @cached_property
    def neighbours(self) -> dict[int, dict[int, list[tuple[str, str]]]]:
        """For each pattern those that it shares variables with, and the columns of both in which they stand."""
        found: dict[int, dict[int, list[tuple[str, str]]]] = {place: {} for place in range(len(self.patterns))}
        for place, column, other, theirs in self.links:
            found[place].setdefault(other, []).append((column, theirs))
            found[other].setdefault(place, []).append((theirs, column))
        return found

    def joined(self, place: int) -> list[str]:
        """The columns of a pattern in which a variable of another stands."""
        shared = self.neighbours[place].values()
        return list(dict.fromkeys(column for pairs in shared for column, _ in pairs))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> IntervalPart:
        told = {name: tuple(map(tuple, document[name])) for name in ("patterns", "links")}
        return cls(**{**document, **told, "columns": tuple(document["columns"])})
