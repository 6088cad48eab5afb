"""What is due, divided into steps: what one statement answers, and what is for Spark SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from protocol.errors import ProtocolError
from protocol.time import Instant
from protocol.windows.spec import StreamWindow, TimeWindow, decided_by_content
from spark_backend.answers.answer import Answer
from spark_backend.evaluation.contents.large import LARGE
from spark_backend.evaluation.step import Planned, Step
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.registry import PreparedQuery
from spark_backend.site import Site, SiteChoice

_ROWS_AT_ONCE = 400_000
"""Instants are evaluated together while their windows' contents have no more rows than this."""
_ROWS_OF_ALL_AT_ONCE = 16_000_000
"""The same rows, times the queries that are evaluated together."""


@dataclass(frozen=True)
class DueQuery:
    """A query that is due at these instants, ascending; ``prepared``: the file of its prepared form."""

    key: str
    prepared: str
    query: PreparedQuery
    instants: tuple[Instant, ...]


@dataclass(frozen=True)
class Planner:
    """What ``sites`` gives to Spark SQL is answered with a deferred Answer; by size only what ``has_translation`` to
    it. ``tables`` say how many rows windows hold.
    """

    tables: EvaluationTables
    sites: SiteChoice
    has_translation: Callable[[PreparedQuery], bool]

    def plan(self, due: Sequence[DueQuery]) -> Planned:
        """Queries of the same shape over the same windows are one step at the instants they share."""
        planned = Planned([], [])
        together: dict[str, list[DueQuery]] = {}
        for one in due:
            together.setdefault(one.query.together, []).append(one)
        for members in together.values():
            for some, at in _at_the_same_instants(members):
                elsewhere = self._for_spark(some[0].query, at)
                for instant, rows in elsewhere.items():
                    for member in some:
                        deferred = Answer(instant, site=Site.SPARK, read=rows, deferred=member.prepared)
                        planned.answers.append((member.key, deferred))
                here = tuple(instant for instant in at if instant not in elsewhere) if elsewhere else at
                named = tuple((member.key, member.prepared) for member in some)
                planned.steps.extend(Step(named, group) for group in self._groups(some, here) if here)
        return planned

    def _groups(self, members: Sequence[DueQuery], instants: tuple[Instant, ...]) -> Iterator[tuple[Instant, ...]]:
        if len(instants) > 1:
            rows = self._rows(members[0].query, instants)
            too_many = rows > _ROWS_AT_ONCE or rows * len(members) > _ROWS_OF_ALL_AT_ONCE
            # Large contents are read where they are if they are alone; those that share rows are found together.
            if too_many or (rows >= LARGE * len(instants) and _are_apart(members[0].query.windows)):
                middle = len(instants) // 2
                yield from self._groups(members, instants[:middle])
                yield from self._groups(members, instants[middle:])
                return
        yield instants

    def _for_spark(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> dict[Instant, int]:
        """The instants at which the windows hold what is for Spark SQL, and how many triples that is, about."""
        # Spark SQL does not tell which of its windows are empty.
        if any(decided_by_content(member.window) for member in query.windows):
            return {}
        # One estimate for all is enough where they are small together.
        if self.sites.forced is Site.DUCKDB or self.sites.of(self._rows(query, instants)) is Site.DUCKDB:
            return {}
        if self.sites.forced is None and not self.has_translation(query):
            return {}
        rows = {instant: self._rows(query, (instant,)) for instant in instants}
        return {instant: count for instant, count in rows.items() if self.sites.of(count) is Site.SPARK}

    def _rows(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> int:
        try:
            return sum(self.tables.rows_between(w.stream, w.window, instants) for w in query.windows)
        except ProtocolError:
            return 0  # a log that cannot be read: the evaluation says so, for each instant


def _are_apart(windows: Sequence[StreamWindow]) -> bool:
    """Whether what windows hold at an instant they hold at no other."""
    return all(
        isinstance(member.window, TimeWindow) and member.window.width <= member.window.slide and not member.occurrences
        for member in windows
    )


def _at_the_same_instants(members: Sequence[DueQuery]) -> list[tuple[list[DueQuery], tuple[Instant, ...]]]:
    """The members that are due at the same instants, and these, ascending."""
    due: dict[Instant, list[int]] = {}
    for place, member in enumerate(members):
        for instant in member.instants:
            due.setdefault(instant, []).append(place)
    shared: dict[tuple[int, ...], list[Instant]] = {}
    for instant in sorted(due):
        shared.setdefault(tuple(due[instant]), []).append(instant)
    return [([members[place] for place in places], tuple(at)) for places, at in shared.items()]
