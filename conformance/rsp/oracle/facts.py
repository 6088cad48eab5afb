"""Facts by definition (docs/model.md, "Facts"): each instant up to t is looked at, in order, for what begins and ends.

An occurrence is a triple and a time. A group matches occurrences of any times, each combination of them, and occurs at
the last of these. A solution of SINCE begins to hold where it occurs, unless it holds; it ends where TILL occurs later
with a compatible solution. What both give at one time while it holds ends, and begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pyoxigraph as ox

from conformance.rsp.oracle.elements import Element, OracleStream, Triple
from conformance.rsp.oracle.windows import CHANGE, PERIODIC, YEAR_1, Window

Bindings = frozenset[tuple[str, str]]
"""A solution: variables (``?x``) and what they are bound to."""
Occurrence = tuple[Triple, int]


@dataclass(frozen=True)
class Pattern:
    """Triple patterns, their terms in N-Triples or variables, and conditions as they are written behind FILTER."""

    triples: tuple[Triple, ...]
    filters: tuple[str, ...] = ()

    def matches(self, occurrences: Sequence[Occurrence]) -> set[tuple[Bindings, int]]:
        """Solutions, each with a time at which it occurs."""
        found = {(frozenset(bound.items()), time) for bound, time in self._combined(occurrences, self.triples, {})}
        return {(bindings, time) for bindings, time in found if all(_is_true(one, bindings) for one in self.filters)}

    def _combined(
        self, occurrences: Sequence[Occurrence], triples: Sequence[Triple], bound: Mapping[str, str]
    ) -> Iterator[tuple[dict[str, str], int]]:
        if not triples:
            yield dict(bound), YEAR_1
            return
        for triple, time in occurrences:
            more = _matched(triples[0], triple, bound)
            if more is not None:
                for solution, latest in self._combined(occurrences, triples[1:], more):
                    yield solution, max(time, latest)


@dataclass(frozen=True)
class Definition:
    """``CONSTRUCT FACT name { template } (UNION (SINCE …) (TILL …))`` over a stream."""

    name: str
    stream: str
    since: Pattern
    till: Pattern
    template: tuple[Triple, ...]


@dataclass(frozen=True)
class History:
    """The facts at an instant with when each began, and whether one begins or ends just then."""

    holding: Mapping[Triple, int]
    changes: bool


def history(definition: Definition, occurrences: Sequence[Occurrence], t: int) -> History:
    """What the occurrences up to t, all of them known there, make of the facts at t."""
    since, till = (pattern.matches(occurrences) for pattern in (definition.since, definition.till))
    holding: dict[Bindings, int] = {}
    facts: dict[Triple, int] = {}
    changes = False
    for now in sorted({time for _, time in since | till if time <= t}):
        ending = [one for one in holding if any(time == now and _compatible(one, end) for end, time in till)]
        for solution in ending:
            del holding[solution]
        held = {triple for solution in holding for triple in _instantiated(definition.template, solution)}
        # A fact ends with the last of its solutions: one that begins just then begins it anew.
        ended = facts.keys() - held
        for triple in ended:
            del facts[triple]
        begun = False
        for solution in {solution for solution, time in since if time == now} - holding.keys():
            holding[solution] = now
            for triple in _instantiated(definition.template, solution):
                begun = begun or triple not in facts
                facts.setdefault(triple, now)
        changes = now == t and (begun or bool(ended))
    return History(facts, changes)


@dataclass(frozen=True)
class FactsWindow(Window):
    """``CURRENT``: the facts of a definition as a graph. ``strategies`` CHANGE is where one begins or ends."""

    definition: Definition | None = None

    @property
    def written(self) -> str:
        raise ValueError("facts are written as CURRENT")

    def content(self, stream: OracleStream, t: int) -> frozenset[Triple]:
        return frozenset(self.timed(stream, t))

    def timed(self, stream: OracleStream, t: int) -> dict[Triple, int]:
        return dict(self._history(stream, t).holding)

    def bounds(self, stream: OracleStream, t: int) -> tuple[int, int]:
        return YEAR_1, t

    def closes(self, stream: OracleStream, t: int) -> bool:
        return True

    def beats(self, t: int) -> bool:
        return t % self.period == 0

    def changes(self, stream: OracleStream, t: int) -> bool:
        # Whatever begins or ends at t does so by what comes at t: what comes late changes only what is known of before.
        return super().changes(stream, t) and self._history(stream, t).changes

    @property
    def forgets(self) -> bool:
        return False

    @property
    def default(self) -> frozenset[str]:
        return frozenset({CHANGE})

    @property
    def by_content(self) -> bool:
        return True

    def is_told(self, stream: OracleStream, t: int) -> bool:
        # Nothing begins or ends after the last element.
        return PERIODIC not in self.reporting or all(e.takes_part(t - 1) for e in stream.elements)

    def reports_after_end(self, stream: OracleStream, t: int) -> bool:
        # Periodically up to the first time after the last begin or end: the time before it is not after that.
        if PERIODIC not in self.reporting:
            return True
        times = {element.time for element in stream.elements if element.time >= t - self.period}
        return any(self._of(stream.elements, time).changes for time in times)

    def _history(self, stream: OracleStream, t: int) -> History:
        return self._of([element for element in stream.elements if element.takes_part(t)], t)

    def _of(self, known: Sequence[Element], t: int) -> History:
        """What the facts are at t, if these elements are known."""
        assert self.definition is not None
        occurrences = {(triple, element.time) for element in known for triple in element.triples}
        return _history(self.definition, frozenset(occurrences), t)


@cache
def _history(definition: Definition, occurrences: frozenset[Occurrence], t: int) -> History:
    return history(definition, sorted(occurrences), t)


def _matched(pattern: Triple, triple: Triple, bound: Mapping[str, str]) -> dict[str, str] | None:
    found = dict(bound)
    for part, term in zip(pattern, triple, strict=True):
        if part.startswith("?"):
            if found.setdefault(part, term) != term:
                return None
        elif part != term:
            return None
    return found


def _compatible(one: Bindings, other: Bindings) -> bool:
    terms = dict(one)
    return all(terms.get(variable, term) == term for variable, term in other)


def _instantiated(template: Sequence[Triple], solution: Bindings) -> set[Triple]:
    """The template's triples of a solution that are triples."""
    terms = dict(solution)
    made = {(terms.get(s, s), terms.get(p, p), terms.get(o, o)) for s, p, o in template}
    return {(s, p, o) for s, p, o in made if not s.startswith(('"', "?")) and p.startswith("<") and o[0] != "?"}


@cache
def _is_true(condition: str, bindings: Bindings) -> bool:
    row = dict(sorted(bindings))
    values = f"VALUES ({' '.join(row)}) {{ ({' '.join(row.values())}) }}"
    return bool(ox.Store().query(f"ASK {{ {values} FILTER{condition} }}"))
