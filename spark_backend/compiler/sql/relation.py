"""A compiled pattern: a SELECT in parts, and what is known of its columns.

Every relation has the *key* columns of the scope it was compiled in: ``instant``, the evaluation instant,
so that one plan evaluates any number of due windows at once, and inside ``GRAPH ?g`` the graph's name.
Queries that differ in constants only are evaluated together: a relation that reads such a constant has
the key ``member`` besides.
A variable has a column of its canonical N-Triples term (NULL where unbound) and, where expressions
read it, the facets of the term beside it: its kind and its number (``protocol.terms``).

Operators work on the parts, so that joins, filters and projections of plain triple patterns stay one
flat SELECT: planning nested ones costs more than evaluating a small window.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from protocol.language.algebra import Variable
from spark_backend.compiler.refusals import TooDeep
from spark_backend.compiler.sql.tree.expressions import STAR, Cast, Column, SortKey, null, number
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.placeholders import Alone
from spark_backend.compiler.sql.tree.statements import (
    Compound,
    FromItem,
    Select,
    Statement,
    Subselect,
    Table,
    TableName,
    common,
    unnamed,
)

MEMBER = "member"
"""Key column of the query a solution is of, among those of its shape; a relation without it is the same for all."""
ANY_INSTANT = Cast(number(0), "BIGINT")
"""In place of the key ``instant`` where it is one and the same, whichever."""
RANK = '"rank"'
"""Column of the solution's place in its evaluation's sequence, from 1, once an order is known."""

MOST_COLUMNS = 60_000
"""Of all SELECTs of a query together. SELECTs over SELECTs over many columns grow with the square of their number, and
for so many DuckDB takes seconds to read them."""
_INLINE = 90
"""Columns no longer than this are repeated where they are used, rather than computed in a SELECT of their own."""

Columns = Mapping[str, Expression]
"""Names of columns, and what they are."""


@dataclass(frozen=True)
class Relation:
    """``columns`` are the keys, those of ``variables`` and, if ``ranked``, RANK.

    ``certain`` are the variables bound in every solution (so that joins on them are plain equality).
    ``group`` is what is grouped by, ``first`` which of the rows are taken (``Select``). A ``closed`` relation cannot
    take further conditions or tables; it can still be projected, unless it is ``distinct``. ``parts`` are variables
    whose column is a partial sum instead of a term. ``order`` are the sort keys of a sequence that
    has no RANK yet; whatever makes a multiset of it drops them. Where it is ``optional``, its first table has a
    LEFT JOIN that is planned together with the other tables (``joins.join``).
    """

    columns: Columns
    tables: tuple[FromItem, ...]
    variables: tuple[Variable, ...] = ()
    certain: frozenset[Variable] = frozenset()
    conditions: tuple[Expression, ...] = ()
    group: tuple[Expression, ...] = ()
    first: Alone | None = None
    ranked: bool = False
    distinct: bool = False
    closed: bool = False
    parts: frozenset[Variable] = frozenset()
    order: tuple[SortKey, ...] = ()
    optional: bool = False

    @property
    def select(self) -> Select:
        return Select(tuple(self.columns.items()), self.tables, self.conditions, self.distinct, self.group, self.first)

    def keys(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """A scope's keys, and MEMBER if the relation differs from query to query."""
        return (*keys, MEMBER) if MEMBER in self.columns else keys

    def where(self, *conditions: Expression) -> Relation:
        assert not self.closed
        return replace(self, conditions=(*self.conditions, *conditions), order=())

    def within(self, alias: str, *, materialised: bool = False) -> Relation:
        """The same relation as a SELECT over this one; ``materialised``, it is planned and computed on its own.

        Raises TooDeep for what has more than MOST_COLUMNS.
        """
        statement: Statement = self.select
        if materialised:
            table = f"{alias}m"
            statement = common(table, statement, Select(unnamed(STAR), (Table(TableName(table)),)))
        if statement.width > MOST_COLUMNS:
            raise TooDeep(f"the query has too many expressions: its SQL would have more than {MOST_COLUMNS:,} columns")
        told = Relation(
            columns_of_table(alias, self.columns),
            (Table(Subselect(statement), alias),),
            self.variables,
            self.certain,
            ranked=self.ranked,
        )
        return replace(told, parts=self.parts, optional=self.optional and not materialised)


@dataclass
class Names:
    """Column names of variables: DuckDB and Spark fold case, SPARQL does not."""

    faceted: frozenset[Variable]
    _numbers: dict[Variable, int] = field(default_factory=dict)
    _fresh: int = 0

    def column(self, variable: Variable) -> str:
        return f"v{self._numbers.setdefault(variable, len(self._numbers))}"

    def columns(self, variable: Variable) -> tuple[str, ...]:
        """The term's column, followed by those of its facets if expressions read the variable."""
        name = self.column(variable)
        return (name, f"{name}_k", f"{name}_n") if variable in self.faceted else (name,)

    def all_columns(self, variables: Iterable[Variable]) -> list[str]:
        return [column for variable in variables for column in self.columns(variable)]

    def fresh(self, prefix: str) -> str:
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def open(self, relation: Relation, read: Collection[Variable] | None = None) -> Relation:
        """The relation as one that takes conditions and further tables, its columns cheap to repeat: all of them, or
        those of the variables that are read.
        """
        repeated = relation.columns if read is None else relation.columns.keys() & set(self.all_columns(read))
        if relation.closed or any(relation.columns[name].length > _INLINE for name in repeated):
            return relation.within(self.fresh("q"))
        return relation


def repeated(relation: Relation) -> Relation:
    """The same rows, some of them perhaps several times, for a reader that makes a set of them itself."""
    return replace(relation, tables=tuple(map(_repeated, relation.tables)))


def _repeated(table: FromItem) -> FromItem:
    match table:
        case Table(Subselect(Compound(statements=statements)), alias, columns):
            return Table(Subselect(Compound("UNION ALL", statements)), alias, columns)
        case Table(Subselect(Select(distinct=False, group=(), first=None) as select), alias, columns):
            return Table(Subselect(replace(select, tables=tuple(map(_repeated, select.tables)))), alias, columns)
    return table


def columns_of_table(alias: str, names: Iterable[str]) -> dict[str, Expression]:
    """Columns of a table under its alias, by the names that they have there."""
    return {name: Column(name, alias) for name in names}


def facet_type(column: str) -> str:
    """The SQL type of a variable's column, by its name."""
    if column.endswith("_k"):
        return "UTINYINT"
    return "DOUBLE" if column.endswith("_n") else "VARCHAR"


def unbound_column(column: str) -> Cast:
    return null(facet_type(column))
