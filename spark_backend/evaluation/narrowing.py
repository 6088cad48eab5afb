"""What a statement reads, narrowed to what may be part of a solution, before the statement is planned.

Large tables of static triples beside small windows: DuckDB guesses in which order to join them, and where it guesses
wrong they are joined with each other, many to many, before anything narrows them. So the smallest is looked at first,
of the next one what agrees with it, and so on: semi-joins, from the small side into the large (Yannakakis, 1981). What
is left is small, in tables whose sizes are known, and static triples go with every instant only then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import duckdb

from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.sources import Source, SourcePart
from spark_backend.compiler.sql.tree.expressions import quote
from spark_backend.compiler.sql.tree.nodes import Pieces, Placeholder, filled, named
from spark_backend.compiler.sql.tree.placeholders import Instants, Parameter, StaticRows, WindowRows
from spark_backend.compiler.sql.triple_columns import columns_named, facet_columns
from spark_backend.compiler.sql.values import has_value_key, value_key
from spark_backend.evaluation.database import plan_without
from spark_backend.evaluation.statement import JoinOrder, United, constant, differing_parameters

WORTH = 2000
"""So many rows of the store in one source are looked for, if there are as many in another, or if they are to be united
with what a window holds: fewer are joined sooner than looked for.
"""
SEVERAL, WORTH_OF_SEVERAL, MANY = 6, 100, 9
"""Where several sources are joined in a bad order, that costs more: fewer rows are looked for. Where there are many, to
find an order takes DuckDB longer than to look for what they have, however little.
"""
LITTLE = 2000
"""Of tables with fewer rows, planning a statement costs more than reading them."""
AGAIN = 500
"""So many rows are narrowed once more, by what was narrowed after them."""


@dataclass(frozen=True)
class ReadTables:
    """The tables that a plan's statement reads: those of instants, windows and static joins, by their names."""

    instants: str
    windows: Sequence[str]
    static_joins: Sequence[str]


@dataclass(frozen=True)
class Narrowed:
    """What is left of each of a plan's sources: the names of tables, and in which order to join some of them.

    ``none``: nothing is left of one that each solution has a match of, so that there is no solution; of the others
    nothing is told then. ``keyed``: in which columns of sources, of those that are to be equal, all values have keys.
    """

    tables: Sequence[str] | None = None
    order: JoinOrder | None = None
    keyed: frozenset[tuple[int, str]] = frozenset()
    none: bool = False


@contextmanager
def narrowed(
    connection: duckdb.DuckDBPyConnection,
    plan: Plan,
    members: Sequence[tuple[str, ...]],
    tables: ReadTables,
    rows: Callable[[str], int],
    instants: int = 1,
    worth: float | None = None,
) -> Iterator[Narrowed | None]:
    """Tables of what is left of the plan's sources, as long as the context lasts; None where it is not worth it.

    ``members`` are the parameters of the queries that are evaluated, ``rows`` tells how many a table has; ``worth`` of
    static ones in one source are looked for, or as many as it says above.
    """
    narrowing = _Narrowing(connection, plan, members, tables, rows, instants)
    if worth is None:
        worth = WORTH if len(plan.sources) < SEVERAL else WORTH_OF_SEVERAL if len(plan.sources) < MANY else 0
    if not narrowing.has_much(worth):
        yield None
        return
    # Tables that are given up are never written.
    connection.execute("BEGIN")
    try:
        found = narrowing.narrow()
        # DuckDB's own search for an order takes longer than all else, and has less to go by.
        if plan.in_order or found.none:
            plan_without(connection, "join_order")
        yield found
    finally:
        connection.execute("ROLLBACK")
        plan_without(connection)


class _Narrowing:
    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        plan: Plan,
        members: Sequence[tuple[str, ...]],
        tables: ReadTables,
        rows: Callable[[str], int],
        instants: int,
    ) -> None:
        self._connection = connection
        self._sources = plan.sources
        self._large_joins = {f"({select})" for select in plan.static_joins}
        self._members = members
        self._differing = differing_parameters(members)
        self._read = tables
        self._rows_of = rows
        self._instants = instants
        self._tables: dict[int, str] = {}
        self._rows: dict[int, int] = {}
        self._computed: dict[int, str] = {}
        self._keyed: dict[tuple[str, str], bool] = {}
        self._made = 0

    def has_much(self, rows: float) -> bool:
        """Whether sources have so much of the store that it is worth it, and something may narrow them."""
        large = [
            len(source.parts) > 1 or self._is_select(source.parts[0])
            for source in self._sources
            if source.is_narrowed
            and sum(self._weight(part) for part in source.parts if not part.streamed and not part.computed) >= rows
        ]
        return any(large) or len(large) > 1

    def narrow(self) -> Narrowed:
        """Make the tables, of the smallest sources first; what is large still is narrowed by those behind it, too."""
        self._unite_windows()
        sizes = self._sizes()
        if any(source.required and not sum(sizes[number]) for number, source in enumerate(self._sources)):
            return Narrowed(none=True)
        order = _connected({number: sum(parts) for number, parts in sizes.items()}, self._by_narrowing())
        for number in order:
            self._make(number, sizes[number])
            if self._is_missing(number):
                return Narrowed(none=True)
        for place, number in reversed(list(enumerate(order))):
            later = [one for one in order[place + 1 :] if self._rows[one] < self._rows[number]]
            conditions = self._barred(number)
            if self._rows[number] >= AGAIN:
                conditions += [*self._conditions(number, later), *self._equalities(number)]
            if conditions:
                self._create(number, f"SELECT * FROM {self._tables[number]} x WHERE {' AND '.join(conditions)}")
                if self._is_missing(number):
                    return Narrowed(none=True)
        tables = [self._tables[number] for number in sorted(order)]
        equal = {
            place
            for number, source in enumerate(self._sources)
            for own, other, theirs in source.equals
            for place in ((number, own), (other, theirs))
        }
        return Narrowed(tables, self._in_order, frozenset(place for place in equal if self._has_keys(*place)))

    def _unite_windows(self) -> None:
        """Have one table of what windows hold together, where that is little and several sources are matched in it."""
        together = [self._small_windows(source) for source in self._sources]
        tables = {
            windows: self._made_of(" UNION ".join(part.sql(self._filled(part.table), "", ()) for part in windows))[0]
            for windows, times in Counter(together).items()
            if windows and times > 1
        }

        def united(source: Source, windows: Sequence[SourcePart]) -> Source:
            if windows not in tables:
                return source
            first, *others = source.parts
            parts = [replace(first, table=(tables[windows],)), *(part for part in others if not part.streamed)]
            return replace(source, parts=tuple(parts))

        self._sources = tuple(map(united, self._sources, together))

    def _small_windows(self, source: Source) -> tuple[SourcePart, ...]:
        """Several windows that a source is matched in as one graph, each as all that it holds; none if that is much."""
        windows = [part for part in source.parts if part.streamed]
        rows = sum(self._rows_of(self._filled(part.table)) for part in windows)
        if len(windows) == 1 or rows >= LITTLE or any(part.ranged for part in windows):
            return ()
        return tuple(replace(part, conditions=(), parameters=()) for part in windows)

    def _is_missing(self, number: int) -> bool:
        """Whether nothing is left of a source that each solution has a match of."""
        return self._sources[number].required and not self._rows[number]

    def _in_order(self, tables: Sequence[United], links: Collection[tuple[int, int]]) -> list[int]:
        # DuckDB joins what a condition joins, whatever follows from several: all else would be multiplied.
        sizes = {place: sum(map(self._joined_size, united)) for place, united in enumerate(tables)}
        return _connected(sizes, {*links, *((other, one) for one, other in links)})

    def _joined_size(self, joined: Sequence[int]) -> int:
        """How many rows a join of sources has, very roughly; of none of them, one."""
        return min((self._rows[number] for number in joined), default=1)

    def _by_narrowing(self) -> set[tuple[int, int]]:
        return {
            (one, number)
            for number, source in enumerate(self._sources)
            for one in (*source.narrowed_by, *(other for _, other, _ in source.equals))
        }

    def _make(self, number: int, sizes: Sequence[int]) -> None:
        """The table of what is left of a source, whose parts have so many rows."""
        source = self._sources[number]
        conditions = [
            *self._true(number),
            *self._conditions(number, [one for one in self._tables if self._rows[one] <= sum(sizes)]),
            *self._equalities(number),
        ]
        first = source.parts[0]
        if first.computed:
            if conditions:
                self._create(number, first.sql(self._computed[number], self._read.instants, conditions))
            else:
                self._tables[number], self._rows[number] = self._computed[number], sum(sizes)
            return
        if not (conditions or source.alike or len(source.parts) > 1 or first.streamed or first.conditions):
            self._tables[number], self._rows[number] = self._filled(source.table), sum(sizes)
            return
        if self._is_select(first):
            self._create(number, self._joined(number, list(self._tables)))
            return
        parts = [part for part, size in zip(source.parts, sizes, strict=True) if size] or source.parts[:1]
        # What goes with several instants is narrowed before it does, all else together: planning is what costs.
        together = [part for part in parts if self._times(part) == 1]
        apart = parts if len(together) == 1 else [part for part in parts if part not in together]
        selects = [self._select(part, conditions) for part in apart]
        if len(together) > 1:
            rows = " UNION ALL ".join(self._select(part, ()) for part in together)
            selects.append(f"SELECT * FROM ({rows}) x" + (f" WHERE {' AND '.join(conditions)}" if conditions else ""))
        united = " UNION ALL ".join(selects)
        if source.alike:
            self._create(number, f"SELECT DISTINCT ON ({', '.join(source.alike)}) * FROM ({united})")
        elif len(parts) > 1:
            self._create(number, f"SELECT DISTINCT * FROM ({united})")
        else:
            self._create(number, united)

    def _select(self, part: SourcePart, conditions: Sequence[str]) -> str:
        """The SELECT of a part's rows that meet these conditions."""
        return part.sql(self._filled(part.table), self._read.instants, [*self._given(part), *conditions])

    def _create(self, number: int, select: str) -> None:
        self._tables[number], self._rows[number] = self._made_of(select)

    def _made_of(self, select: str) -> tuple[str, int]:
        """A new table of what a SELECT gives, and how many rows it has."""
        self._made += 1
        table = f"narrowed_{self._made}"
        ((rows,),) = self._connection.execute(f"CREATE TEMP TABLE {table} AS {select}").fetchall()
        return table, rows

    def _is_select(self, part: SourcePart) -> bool:
        """Whether it is what joins static tables, and too much for a table of its own."""
        return self._filled(part.table) in self._large_joins

    def _conditions(self, number: int, by: Sequence[int]) -> list[str]:
        """That the rows ``x`` of a source agree with the tables of others, which were made in this order."""
        return [_row(shared, "IN", self._tables[other]) for other, shared in self._agreements(number, by)]

    def _equalities(self, number: int) -> list[str]:
        """That values of the rows ``x`` of a source are there in the tables of those that have to have equal ones."""
        return [
            f"({_key('x', column)} IN (SELECT {_key('y', theirs)} FROM {self._tables[other]} y)"
            f" OR NOT {_has_key('x', column)})"
            for column, other, theirs in self._sources[number].equals
            if other in self._tables and self._has_keys(other, theirs)
        ]

    def _has_keys(self, number: int, column: str) -> bool:
        """Whether all values in a column of what is left of a source have keys."""
        place = self._tables[number], column
        if place not in self._keyed:
            select = f"SELECT count(*) FROM {place[0]} x WHERE NOT {_has_key('x', column)}"
            ((without,),) = self._connection.execute(select).fetchall()
            self._keyed[place] = not without
        return self._keyed[place]

    def _barred(self, number: int) -> list[str]:
        """That the rows ``x`` of a source agree with no row of those that bar them for all of the queries."""
        ours = {name: column for column, name in self._sources[number].columns}
        found = []
        for other in self._sources[number].barred_by:
            if any(asked in self._differing for part in self._sources[other].parts for _, asked in part.parameters):
                continue
            shared = [(ours[name], column) for column, name in self._sources[other].columns if name in ours]
            if self._sources[other].has_instants:
                shared.append(("instant", "instant"))
            found.append(_row(shared, "NOT IN", self._tables[other]))
        return found

    def _joined(self, number: int, by: Sequence[int]) -> str:
        """The SELECT of what of a join agrees with the tables of others: joined with them, so that it begins there."""
        tables, conditions = [f"{self._filled(self._sources[number].table)} x"], []
        for other, shared in self._agreements(number, by):
            theirs = ", ".join(two for _, two in shared)
            tables.append(f"(SELECT DISTINCT {theirs} FROM {self._tables[other]}) y{other}")
            conditions += [f"x.{one} = y{other}.{two}" for one, two in shared]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT x.* FROM {', '.join(tables)}{where}"

    def _agreements(self, number: int, by: Sequence[int]) -> Iterator[tuple[int, list[tuple[str, str]]]]:
        """With which others a source is to agree, and in which columns: its own, and theirs."""
        source = self._sources[number]
        last: dict[str, int] = {}
        for other in by:
            if other in source.narrowed_by:
                # What was made last agrees with what was made before it.
                last |= {name: other for _, name in self._sources[other].columns}
        for other in dict.fromkeys(last[name] for _, name in source.columns if name in last):
            places = {name: column for column, name in self._sources[other].columns}
            yield other, [(column, places[name]) for column, name in source.columns if last.get(name) == other]

    def _sizes(self) -> dict[int, list[int]]:
        """How many rows each part of each source has, if all of it is looked at."""
        sizes = {number: [0] * len(source.parts) for number, source in enumerate(self._sources)}
        counted: dict[str, list[tuple[int, int, str]]] = {}
        for number, source in enumerate(self._sources):
            for place, part in enumerate(source.parts):
                if part.computed:
                    self._computed[number], sizes[number][place] = self._made_of(f"FROM {self._filled(part.table)}")
                    continue
                table = self._filled(part.table)
                # What a FILTER says is long: of little it is not told before what it leaves.
                true = [*part.conditions, *(self._true(number) if self._rows_of(table) >= LITTLE else ())]
                if part.streamed or true:
                    condition = " AND ".join([*true, *self._given(part)]) or "TRUE"
                    counted.setdefault(table, []).append((number, place, condition))
                else:
                    sizes[number][place] = self._weight(part)
        for table, parts in counted.items():
            counts = ", ".join(f"count(*) FILTER (WHERE {condition})" for _, _, condition in parts)
            (found,) = self._connection.execute(f"SELECT {counts} FROM {table} x").fetchall()
            for (number, place, _), count in zip(parts, found, strict=True):
                part = self._sources[number].parts[place]
                sizes[number][place] = count * self._times(part)
        return sizes

    def _weight(self, part: SourcePart) -> int:
        """How many rows a static table is: as many as it has, at each of the instants that they are to go with."""
        return self._rows_of(self._filled(part.table)) * self._times(part)

    def _times(self, part: SourcePart) -> int:
        """With how many instants each of its rows goes."""
        return self._instants if part.at_instants else 1

    def _given(self, part: SourcePart) -> list[str]:
        """That columns are what one of the queries has as parameter there."""
        return [
            f"x.{column} IN ({', '.join(quote(term) for term in sorted({terms[number] for terms in self._members}))})"
            for column, number in part.parameters
        ]

    def _true(self, number: int) -> list[str]:
        """The conditions of a source's rows, as far as they are the same for all of the queries."""

        def fill(placeholder: Placeholder) -> str:
            assert isinstance(placeholder, Parameter)
            return constant(placeholder, self._members[0])

        return [
            filled(one.sql, fill)
            for one in self._sources[number].conditions
            if not self._differing.intersection(one.parameters)
        ]

    def _filled(self, table: Pieces) -> str:
        """The table that is read in place of its placeholder."""

        def fill(placeholder: Placeholder) -> str:
            match placeholder:
                case Instants():
                    return self._read.instants
                case WindowRows(number):
                    return self._read.windows[number]
                case StaticRows(number):
                    return self._read.static_joins[number]
            raise AssertionError(f"no table of a source: {placeholder}")

        return filled(table, fill)


def _row(shared: Sequence[tuple[str, str]], operator: str, table: str) -> str:
    """That columns of a row ``x`` are, or are not, together those of a row of a table: pairs of its own and theirs."""
    ours, theirs = ", ".join(f"x.{one}" for one, _ in shared), ", ".join(other for _, other in shared)
    return f"({ours}) {operator} (SELECT {theirs} FROM {table})"


def _key(table: str, column: str) -> str:
    return named(value_key(*columns_named((column, *facet_columns(column)), table)).written)


def _has_key(table: str, column: str) -> str:
    return named(has_value_key(*columns_named(facet_columns(column), table)).written)


def _connected(sizes: Mapping[int, int], links: Collection[tuple[int, int]]) -> list[int]:
    """The numbers, each that of the smallest size of those that one before it is linked to."""
    left = dict(sizes)
    order: list[int] = []
    near: set[int] = set()
    while left:
        number = min(near & left.keys() or left, key=lambda one: (left[one], one))
        del left[number]
        order.append(number)
        near.update(other for one, other in links if one == number)
    return order
