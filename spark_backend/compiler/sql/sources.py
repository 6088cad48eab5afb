"""What a leaf of a query is matched in: a table or several, of which other leaves leave only some rows to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SourcePart:
    """Some rows of a table, which are looked at as ``x``.

    ``select`` is the beginning of a SELECT of them, up to its FROM, "" for all of the table's columns. ``conditions``
    are met by those that match constants; ``parameters`` are the columns that parameters stand for, with their numbers.
    ``streamed``: the table is a window's; ``ranged``: it is one graph of several.
    """

    table: str
    select: str = ""
    conditions: tuple[str, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()
    streamed: bool = False
    ranged: bool = False

    def sql(self, conditions: Sequence[str]) -> str:
        """The SELECT of the rows that meet these conditions besides."""
        listed = [*self.conditions, *conditions]
        where = f" WHERE {' AND '.join(listed)}" if listed else ""
        rows = f"SELECT * FROM {self.table} x{where}"
        return f"{self.select} ({rows}) x" if self.select else rows


@dataclass(frozen=True)
class Source:
    """``table`` stands for it where nothing is narrowed, in a FROM; its rows are those of all ``parts``, each once.

    ``columns``: where the values of variables are, each under a name that joined leaves have in common. ``narrowed_by``
    are other sources, by their numbers: a row that agrees with none of theirs is no part of any solution. Of rows that
    are alike in the columns ``alike``, if there are any, one is enough.
    """

    table: str
    parts: tuple[SourcePart, ...]
    columns: tuple[tuple[str, str], ...]
    narrowed_by: tuple[int, ...] = ()
    alike: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Source:
        parts = tuple(
            SourcePart(
                part["table"],
                part["select"],
                tuple(part["conditions"]),
                tuple((column, number) for column, number in part["parameters"]),
                part["streamed"],
                part["ranged"],
            )
            for part in document["parts"]
        )
        columns = tuple((column, name) for column, name in document["columns"])
        alike = tuple(document["alike"])
        return cls(document["table"], parts, columns, tuple(document["narrowed_by"]), alike)
