"""Placeholders: tables and constants that a plan's statement is given where it is evaluated (``evaluation.statement``).

They are written to a plan's JSON and read from there as lists, a kind with its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from spark_backend.compiler.sql.tree.nodes import Expression, Pieces, Placeholder, named


@dataclass(frozen=True)
class Instants(Placeholder):
    """The table of the instants due, column ``instant``."""

    @property
    def name(self) -> str:
        return "instants"


@dataclass(frozen=True)
class Members(Placeholder):
    """The table of the queries that are evaluated together, column ``member`` and those of parameters that differ."""

    @property
    def name(self) -> str:
        return "members"


@dataclass(frozen=True)
class WindowRows(Placeholder):
    """The table of a window's contents at the instants due."""

    number: int

    @property
    def name(self) -> str:
        return f"window_{self.number}"


@dataclass(frozen=True)
class NewRows(Placeholder):
    """The table of the occurrences in a window that are new at the instants due."""

    number: int

    @property
    def name(self) -> str:
        return f"new_{self.number}"


@dataclass(frozen=True)
class StaticRows(Placeholder):
    """The table of what one of a plan's static joins gives."""

    number: int

    @property
    def name(self) -> str:
        return f"joined_{self.number}"


@dataclass(frozen=True)
class ClosureRows(Placeholder):
    """What follows, at the instants due, from one of a plan's closed contents."""

    number: int

    @property
    def name(self) -> str:
        return f"closure_{self.number}"


@dataclass(frozen=True)
class ServiceRows(Placeholder):
    """The solutions, at the instants due, that one of a plan's services gave."""

    number: int

    @property
    def name(self) -> str:
        return f"service_{self.number}"


@dataclass(frozen=True)
class SourceRows(Placeholder):
    """What there is to look at of one of a plan's sources."""

    number: int

    @property
    def name(self) -> str:
        return f"source_{self.number}"

    @property
    def united(self) -> tuple[tuple[int, ...], ...]:
        """As of ``DerivedRows``: itself, of which nothing is joined."""
        return ((self.number,),)


@dataclass(frozen=True)
class DerivedRows(Placeholder):
    """The rows of a statement that reads sources: what it unites, each the numbers of the sources that it joins."""

    statement: Pieces
    united: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        return f"({named(self.statement)})"


@dataclass(frozen=True)
class IntervalRows(Placeholder):
    """The solutions, at the instants due, of what is matched once for all instants."""

    number: int

    @property
    def name(self) -> str:
        return f"intervals_{self.number}"


@dataclass(frozen=True)
class MatchRows(Placeholder):
    """The matches of one of the triple patterns of an interval part."""

    number: int

    @property
    def name(self) -> str:
        return f"part_{self.number}"


@dataclass(frozen=True)
class LogRows(Placeholder):
    """Rows of a stream's log, from which matches of an interval part follow."""

    @property
    def name(self) -> str:
        return "log_rows"


@dataclass(frozen=True)
class SolutionRows(Placeholder):
    """The solutions of an interval part, of which some are taken."""

    @property
    def name(self) -> str:
        return "solutions"


@dataclass(frozen=True, eq=False)
class Parameter(Expression, Placeholder):
    """A parameter's term or, ``numeric``, the number of it: a column of the members' table under an alias, or the one
    constant that it is for all of them.
    """

    alias: str
    number: int
    numeric: bool = False

    @property
    def written(self) -> Pieces:
        return (self,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def column(self) -> str:
        """Its column in the members' table."""
        return f"c{self.number}_n" if self.numeric else f"c{self.number}"

    @property
    def name(self) -> str:
        return f"{self.alias}.{self.column}"

    @property
    def _key(self) -> tuple[str, int, bool]:
        return self.alias, self.number, self.numeric


@dataclass(frozen=True)
class SourceList(Placeholder):
    """Sources that are joined, what is derived from others, and tables of instants and members with them: all of a
    FROM, with their aliases.

    In which order they are joined is told where the statement is evaluated. ``links`` are pairs of aliases: those of
    tables that a condition joins.
    """

    tables: tuple[tuple[Placeholder, str], ...]
    links: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return ", ".join(f"{table.name} {alias}" for table, alias in self.tables)


@dataclass(frozen=True)
class Alone(Placeholder):
    """A clause that is there where one query is evaluated at one instant, and nowhere else."""

    clause: Pieces

    @property
    def name(self) -> str:
        return f"/* {named(self.clause)} */"


@dataclass(frozen=True, repr=False)
class SameKey(Expression, Placeholder):
    """That the keys of two values are the same (``values.value_key``), where all values of both columns have keys.

    ``columns``: each with the number of the source whose rows have it.
    """

    clause: Pieces
    columns: tuple[tuple[int, str], ...]
    aliases: tuple[str, str]

    @property
    def written(self) -> Pieces:
        return (self,)

    @property
    def name(self) -> str:
        return f"/* {named(self.clause)} */ TRUE"


_KINDS: dict[str, Callable[..., Placeholder]] = {
    "instants": Instants,
    "members": Members,
    "window": WindowRows,
    "new": NewRows,
    "static": StaticRows,
    "closure": ClosureRows,
    "service": ServiceRows,
    "source": SourceRows,
    "intervals": IntervalRows,
    "matches": MatchRows,
    "log": LogRows,
    "solutions": SolutionRows,
    "parameter": Parameter,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def pieces_to_json(pieces: Pieces) -> list[Any]:
    """Pieces as they are written in JSON: a text as it is, a placeholder as a list."""
    return [piece if isinstance(piece, str) else _to_json(piece) for piece in pieces]


def pieces_from_json(document: Sequence[Any]) -> Pieces:
    return tuple(piece if isinstance(piece, str) else _from_json(*piece) for piece in document)


def _to_json(placeholder: Placeholder) -> list[Any]:
    match placeholder:
        case Alone(clause):
            return ["alone", pieces_to_json(clause)]
        case SameKey(clause, columns, aliases):
            return ["key", pieces_to_json(clause), columns, aliases]
        case DerivedRows(statement, united):
            return ["derived", pieces_to_json(statement), united]
        case SourceList(tables, links):
            return ["sources", [(_to_json(table), alias) for table, alias in tables], links]
    return [_NAMES[type(placeholder)], *astuple(placeholder)]  # type: ignore[call-overload]  # all of _KINDS are dataclasses


def _from_json(kind: str, *values: Any) -> Placeholder:
    if kind == "alone":
        return Alone(pieces_from_json(values[0]))
    if kind == "key":
        clause, columns, (one, other) = values
        return SameKey(pieces_from_json(clause), tuple((number, column) for number, column in columns), (one, other))
    if kind == "derived":
        return DerivedRows(pieces_from_json(values[0]), tuple(map(tuple, values[1])))
    if kind == "sources":
        tables, links = values
        listed = tuple((_from_json(*table), alias) for table, alias in tables)
        return SourceList(listed, tuple((one, other) for one, other in links))
    return _KINDS[kind](*values)
