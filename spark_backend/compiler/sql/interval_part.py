"""A part of a query that is matched once for all instants, each solution with the interval in which it holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_backend.compiler.sql.tree.nodes import Pieces
from spark_backend.compiler.sql.tree.placeholders import pieces_from_json, pieces_to_json

TriplePlace = tuple[str | None, str | None, str | None]
"""Subject, predicate and object of a triple pattern: a canonical term, None where a variable stands."""


@dataclass(frozen=True)
class Narrowing:
    """A SELECT of those rows of a part that a query can use; of its parameters it reads ``parameters``.

    The table of the part's rows is a placeholder, ``SolutionRows``.
    """

    sql: Pieces
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class EntailedRows:
    """What a triple pattern matches under an entailment regime of rows of the log, and of what follows from them: a
    SELECT of s, p, o, k, n, time and seen, over a placeholder (``LogRows``) and static ``tables``.
    """

    sql: Pieces
    tables: tuple[str, ...]


@dataclass(frozen=True)
class IntervalPart:
    """A SELECT of ``columns`` and ``prev, first, entry`` over tables of the matches of each of its triple patterns.

    The tables are placeholders, ``MatchRows``. ``window`` is the number of the query's window that is read; ``links``
    are the columns of two patterns (their places) in which the same variable stands. ``entailed``: for each pattern
    what else than the log's rows is looked for matches, if anything is.
    """

    window: int
    patterns: tuple[TriplePlace, ...]
    links: tuple[tuple[int, str, int, str], ...]
    sql: Pieces
    columns: tuple[str, ...]
    entailed: tuple[EntailedRows | None, ...]
    narrowing: tuple[Narrowing, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The static tables that it reads."""
        return tuple(dict.fromkeys(table for one in self.entailed if one is not None for table in one.tables))

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
        narrowing = [{"sql": pieces_to_json(one.sql), "parameters": one.parameters} for one in self.narrowing]
        return {
            "window": self.window,
            "patterns": self.patterns,
            "links": self.links,
            "sql": pieces_to_json(self.sql),
            "columns": self.columns,
            "entailed": [
                None if one is None else {"sql": pieces_to_json(one.sql), "tables": one.tables} for one in self.entailed
            ],
            "narrowing": narrowing,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> IntervalPart:
        told = {name: tuple(map(tuple, document[name])) for name in ("patterns", "links")}
        return cls(
            document["window"],
            **told,
            sql=pieces_from_json(document["sql"]),
            columns=tuple(document["columns"]),
            entailed=tuple(
                None if one is None else EntailedRows(pieces_from_json(one["sql"]), tuple(one["tables"]))
                for one in document["entailed"]
            ),
            narrowing=tuple(
                Narrowing(pieces_from_json(one["sql"]), tuple(one["parameters"])) for one in document["narrowing"]
            ),
        )
