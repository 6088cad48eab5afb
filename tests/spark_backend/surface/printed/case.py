"""What a printed query answers over a small stream that was written for it, worked by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

MILLISECOND = 1
SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Case:
    """A query by its number, what it reads and what it answers; prefixes are those that the query has.

    ``working`` says why. ``elements`` has one a line, in the order of arrival: the last step of the stream's IRI, the
    time in ``unit``, triples in Turtle. ``stored`` is what the store holds, in TriG. ``answers`` has the solutions of
    each instant that has any, in ``unit`` (a one-shot query is asked at 0), separated by commas; of a term its local
    name or lexical form, ``-`` where there is none.
    """

    number: str
    working: str
    answers: Mapping[int | range, str]
    elements: str = ""
    stored: str = ""
    unit: int = SECOND

    def arrivals(self) -> Iterator[tuple[str, int, str]]:
        """Stream, instant in milliseconds and triples of each element."""
        for line in self.elements.strip().splitlines():
            stream, at, triples = line.split(None, 2)
            yield stream, int(at) * self.unit, f"{triples} ."

    def in_order(self) -> Case:
        """The same with every element at its time."""
        lines = sorted(self.elements.strip().splitlines(), key=lambda line: int(line.split()[1]))
        return replace(self, elements="\n".join(lines))

    def expected(self) -> dict[int, list[tuple[str, ...]]]:
        """Sorted solutions by instant in milliseconds."""
        rows: dict[int, list[tuple[str, ...]]] = {}
        for instants, text in self.answers.items():
            found = sorted(tuple(row.split()) for row in text.split(","))
            rows |= {at * self.unit: found for at in ([instants] if isinstance(instants, int) else instants)}
        return rows
