"""What a leaf of a query is matched in: a table or several, of which other leaves leave only some rows to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spark_backend.compiler.sql.tree.nodes import Pieces
from spark_backend.compiler.sql.tree.placeholders import pieces_from_json, pieces_to_json


@dataclass(frozen=True)
class SourcePart:
    """Some rows of a table, which are looked at as ``x``.

    ``columns`` are those that are taken of them, in SQL, "" for all; ``at_instants``: each goes with every instant,
    ``i``. ``conditions`` are met by those that match constants; ``parameters`` are the columns that parameters stand
    for, with their numbers. ``streamed``: the table is a window's; ``ranged``: it is one graph of several.
    ``computed``: it is a statement in parentheses, which gives the instants itself, if any, and how many rows that is
    is seen when it has given them.
    """

    table: Pieces
    columns: str = ""
    at_instants: bool = False
    conditions: tuple[str, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()
    streamed: bool = False
    ranged: bool = False
    computed: bool = False

    def sql(self, table: str, instants: str, conditions: Sequence[str]) -> str:
        """The SELECT of the rows that meet these conditions besides, given the names of tables."""
        listed = [*self.conditions, *conditions]
        where = f" WHERE {' AND '.join(listed)}" if listed else ""
        rows = f"SELECT * FROM {table} x{where}"
        if not self.columns:
            return rows
        return f"SELECT {self.columns} FROM {f'{instants} i, ' if self.at_instants else ''}({rows}) x"


@dataclass(frozen=True)
class RowCondition:
    """What is true of the rows ``x`` of a source that are part of a solution; it reads parameters, by their numbers."""

    sql: Pieces
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """``table`` stands for it where nothing is narrowed, in a FROM; its rows are those of all ``parts``, each once.

    ``columns``: where the values of variables are, each under a name that joined leaves have in common. ``narrowed_by``
    are other sources, by their numbers: a row that agrees with none of theirs is no part of any solution. Of rows that
    are alike in the columns ``alike``, if there are any, one is enough. ``required``: without any row the query has no
    solution. ``conditions``: a row of which one of them is not true is no part of any. ``barred_by`` are other
    sources: nor is one that agrees with a row of theirs. ``equals``: nor is one whose value in a column equals no value
    of another source's column.
    """

    table: Pieces
    parts: tuple[SourcePart, ...]
    columns: tuple[tuple[str, str], ...]
    narrowed_by: tuple[int, ...] = ()
    alike: tuple[str, ...] = ()
    required: bool = False
    conditions: tuple[RowCondition, ...] = ()
    barred_by: tuple[int, ...] = ()
    equals: tuple[tuple[str, int, str], ...] = ()

    @property
    def is_narrowed(self) -> bool:
        """Whether there may be rows of its that other sources leave out."""
        return bool(self.narrowed_by or self.equals)

    @property
    def has_instants(self) -> bool:
        """Whether its rows have a column ``instant``; else they are there at every one."""
        return any(part.streamed or part.at_instants for part in self.parts)

    def bars(self, other: Source) -> bool:
        """Whether a row of the other agrees with one of its own wherever its columns do."""
        return not any(part.ranged for part in self.parts) and (other.has_instants or not self.has_instants)

    def to_json(self) -> dict[str, Any]:
        parts = [{**vars(part), "table": pieces_to_json(part.table)} for part in self.parts]
        conditions = [{"sql": pieces_to_json(one.sql), "parameters": one.parameters} for one in self.conditions]
        return {**vars(self), "table": pieces_to_json(self.table), "parts": parts, "conditions": conditions}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Source:
        parts = tuple(
            SourcePart(
                pieces_from_json(part["table"]),
                part["columns"],
                part["at_instants"],
                tuple(part["conditions"]),
                tuple((column, number) for column, number in part["parameters"]),
                part["streamed"],
                part["ranged"],
                part["computed"],
            )
            for part in document["parts"]
        )
        columns = tuple((column, name) for column, name in document["columns"])
        alike = tuple(document["alike"])
        narrowed_by, required = tuple(document["narrowed_by"]), document["required"]
        barred_by = tuple(document["barred_by"])
        conditions = tuple(
            RowCondition(pieces_from_json(one["sql"]), tuple(one["parameters"])) for one in document["conditions"]
        )
        equals = tuple((own, number, theirs) for own, number, theirs in document["equals"])
        table = pieces_from_json(document["table"])
        return cls(table, parts, columns, narrowed_by, alike, required, conditions, barred_by, equals)
