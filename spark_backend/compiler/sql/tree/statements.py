"""Statements of SQL over tables: SELECTs, what they read, and what is made of several of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from spark_backend.compiler.sql.tree.expressions import Column, Infix, SortKey
from spark_backend.compiler.sql.tree.nodes import Expression, Node, Placeholder, separated
from spark_backend.compiler.sql.tree.placeholders import (
    Alone,
    DerivedRows,
    Instants,
    Members,
    SameKey,
    SourceList,
    SourceRows,
)


class Statement(Node):
    """What gives rows."""

    @cached_property
    def width(self) -> int:
        """Columns of it and of all that it reads, together: each that has a name given to it."""
        return self.own_width + sum(statement.width for statement in self.inner)

    @property
    def own_width(self) -> int:
        return 0

    @property
    def inner(self) -> Iterable[Statement]:
        """The statements that are written in it."""
        raise NotImplementedError

    @property
    def is_in_order(self) -> bool:
        """Whether the tables that it reads itself may be joined as they are written."""
        return True

    def all(self) -> Iterator[Statement]:
        """Itself, and those in it."""
        yield self
        for statement in self.inner:
            yield from statement.all()


@dataclass(frozen=True)
class TableName(Node):
    name: str

    def parts(self) -> Iterable[str | Node]:
        return (self.name,)


@dataclass(frozen=True)
class Subselect(Node):
    """The rows of a statement, as a table."""

    statement: Statement

    def parts(self) -> Iterable[str | Node]:
        return "(", self.statement, ")"


@dataclass(frozen=True)
class InlineRows(Node):
    rows: tuple[tuple[Expression, ...], ...]

    def parts(self) -> Iterable[str | Node]:
        yield "(VALUES "
        for place, row in enumerate(self.rows):
            yield from (", (" if place else "(", *separated(", ", row), ")")
        yield ")"


@dataclass(frozen=True)
class Table(Node):
    """A table in a FROM: a name, a placeholder, rows; with an alias and, if they are told, other names of columns."""

    source: Node
    alias: str = ""
    columns: tuple[str, ...] = ()

    def parts(self) -> Iterable[str | Node]:
        names = f"({', '.join(self.columns)})" if self.columns else ""
        return (self.source, f" {self.alias}{names}") if self.alias else (self.source,)


@dataclass(frozen=True)
class Joined(Node):
    """Two tables joined, a row of ``left`` with those of ``right`` that meet all conditions. ``kind`` is LEFT, SEMI,
    ANTI, CROSS, …
    """

    left: Table | Joined
    kind: str
    right: Table
    conditions: tuple[Expression, ...]

    def parts(self) -> Iterable[str | Node]:
        yield from (self.left, f" {self.kind} JOIN ", self.right)
        if self.conditions:
            yield from (" ON ", *separated(" AND ", self.conditions))


FromItem = Table | Joined


@dataclass(frozen=True)
class Select(Statement):
    """``columns``: names and what they are, None for a name that nobody needs.

    ``first``: ORDER BY and LIMIT where one query is evaluated at one instant.
    """

    columns: tuple[tuple[str | None, Expression], ...]
    tables: tuple[FromItem, ...] = ()
    conditions: tuple[Expression, ...] = ()
    distinct: bool = False
    group: tuple[Expression, ...] = ()
    first: Alone | None = None
    order: tuple[SortKey, ...] = ()

    def parts(self) -> Iterable[str | Node]:
        between = "SELECT DISTINCT " if self.distinct else "SELECT "
        for name, expression in self.columns:
            yield from (between, expression)
            if name is not None and expression.written != (name,):
                yield f" AS {name}"
            between = ", "
        if self.tables:
            yield from (" FROM ", *separated(", ", self._tables()))
        if self.conditions:
            yield from (" WHERE ", *separated(" AND ", self.conditions))
        if self.group:
            yield from (" GROUP BY ", *separated(", ", self.group))
        if self.first is not None:
            yield self.first
        if self.order:
            yield from (" ORDER BY ", *separated(", ", self.order))

    @property
    def own_width(self) -> int:
        return sum(name is not None for name, _ in self.columns)

    @property
    def inner(self) -> Iterable[Statement]:
        for _, expression in self.columns:
            if isinstance(expression, InStatement):
                yield expression.statement
        for table in self.tables:
            yield from _inside(table)

    @property
    def is_in_order(self) -> bool:
        # Sources, whose order is told, one table beside small ones, or behind those that have a name or are joined.
        if any(map(_is_source, self.tables)):
            return self._sources is not None
        if sum(not _is_small(table) for table in self.tables) <= 1:
            return True
        return all(isinstance(table, Joined) or isinstance(table.source, TableName) for table in self.tables[:-1])

    @cached_property
    def _sources(self) -> SourceList | None:
        """What it reads, if that is sources, and else what is derived from some, and tables of instants and members."""
        if not any(map(_is_source, self.tables)):  # asked first: else every level would be written once more
            return None
        listed = [one for one in map(_listed, self.tables) if one is not None]
        if len(listed) < len(self.tables):
            return None
        return SourceList(tuple(listed), tuple(filter(None, map(_link, self.conditions))))

    def _tables(self) -> Sequence[Node]:
        return self.tables if self._sources is None else (self._sources,)


@dataclass(frozen=True)
class Compound(Statement):
    """The rows of several statements: ``operator`` is UNION or UNION ALL."""

    operator: str
    statements: tuple[Statement, ...]

    def parts(self) -> Iterable[str | Node]:
        return separated(f" {self.operator} ", self.statements)

    @property
    def inner(self) -> Iterable[Statement]:
        return self.statements


@dataclass(frozen=True)
class CommonTable(Node):
    """A statement with a name: computed once, unless it is one of a recursive WITH and reads itself."""

    name: str
    statement: Statement
    columns: tuple[str, ...] = ()
    materialised: bool = True

    def parts(self) -> Iterable[str | Node]:
        names = f"({', '.join(self.columns)})" if self.columns else ""
        return f"{self.name}{names} AS {'MATERIALIZED ' if self.materialised else ''}(", self.statement, ")"


@dataclass(frozen=True)
class With(Statement):
    """A statement that reads common tables."""

    tables: tuple[CommonTable, ...]
    body: Statement
    recursive: bool = False

    def parts(self) -> Iterable[str | Node]:
        return (
            "WITH RECURSIVE " if self.recursive else "WITH ",
            *separated(", ", self.tables),
            " ",
            self.body,
        )

    @property
    def is_in_order(self) -> bool:
        # What has been reached is less than what there is to go to at one time, and more at another.
        return not self.recursive

    @property
    def inner(self) -> Iterable[Statement]:
        return *(table.statement for table in self.tables), self.body


@dataclass(frozen=True, eq=False, repr=False)
class InStatement(Expression):
    """That together they are one of the rows of a statement that has as many columns."""

    operands: tuple[Expression, ...]
    statement: Statement

    def parts(self) -> Iterable[str | Node]:
        return "(", *separated(", ", self.operands), ") IN (", self.statement, ")"


@dataclass(frozen=True, eq=False, repr=False)
class Exists(Expression):
    """That a statement has a row."""

    statement: Statement

    def parts(self) -> Iterable[str | Node]:
        return "EXISTS (", self.statement, ")"


def common(name: str, statement: Statement, body: Statement) -> With:
    """A statement that reads one table, which is computed once."""
    return With((CommonTable(name, statement),), body)


def unnamed(*columns: Expression) -> tuple[tuple[None, Expression], ...]:
    """Columns of a SELECT that nobody reads by a name."""
    return tuple((None, column) for column in columns)


def _link(condition: Expression) -> tuple[str, str] | None:
    """The aliases of two tables that a condition joins; None of another, and where only their instants are the same."""
    match condition:
        case Infix("=", (Column(name, str(one)), Column(_, str(other)))) if name != "instant":
            return one, other
        case SameKey():
            return condition.aliases
    return None


def _is_source(table: FromItem) -> bool:
    return isinstance(table, Table) and isinstance(table.source, SourceRows)


def _listed(table: FromItem) -> tuple[Placeholder, str] | None:
    """A table, as it is in a list of sources; None of one that cannot be there."""
    match table:
        case Table(SourceRows() | Instants() | Members() as rows, alias):
            return rows, alias
        case Table(Subselect(statement), alias):
            derived = _derived(statement)
            return None if derived is None else (derived, alias)
    return None


def _derived(statement: Statement) -> DerivedRows | None:
    """A statement over sources; None of one that reads none, or has common tables, which may be anything."""
    if any(isinstance(one, With) for one in statement.all()):
        return None
    parts = statement.statements if isinstance(statement, Compound) else (statement,)
    united = tuple(tuple(_sources_of(part)) for part in parts)
    return DerivedRows(statement.written, united) if any(united) else None


def _sources_of(statement: Statement) -> Iterator[int]:
    """The numbers of the sources that it reads."""
    for one in statement.all():
        for table in one.tables if isinstance(one, Select) else ():
            if isinstance(table, Table) and isinstance(table.source, SourceRows):
                yield table.source.number


def _is_small(table: FromItem) -> bool:
    return isinstance(table, Table) and isinstance(table.source, Instants | Members)


def _inside(table: FromItem) -> Iterator[Statement]:
    if isinstance(table, Joined):
        yield from _inside(table.left)
        yield from _inside(table.right)
    elif isinstance(table.source, Subselect):
        yield table.source.statement
