"""Where triple patterns are matched: windows and the store's graphs as SQL tables (Definition 14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocol.entailment.consequences import WAYS
from protocol.entailment.regimes import Regime
from protocol.language.algebra import Constant, Parameter, Static, TriplePattern, Values, Variable
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import StreamWindow
from spark_backend.compiler.algebra.narrowing import RANGING, Leaf
from spark_backend.compiler.algebra.new_matches import Followers
from spark_backend.compiler.refusals import NotCompilable
from spark_backend.compiler.sql.closed_content import ClosedContent
from spark_backend.compiler.sql.entailed import each_once, entailed_rows
from spark_backend.compiler.sql.interval_part import EntailedRows, IntervalPart
from spark_backend.compiler.sql.leaf_sources import Sources
from spark_backend.compiler.sql.sources import SourcePart
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, Text, null
from spark_backend.compiler.sql.tree.nodes import Expression, Node, named, written
from spark_backend.compiler.sql.tree.placeholders import (
    Alone,
    ClosureRows,
    Instants,
    IntervalRows,
    LogRows,
    NewRows,
    StaticRows,
    WindowRows,
)
from spark_backend.compiler.sql.tree.statements import (
    Compound,
    Exists,
    FromItem,
    Joined,
    Select,
    Statement,
    Subselect,
    Table,
    TableName,
    unnamed,
)
from spark_backend.compiler.sql.triple_columns import (
    FACETED,
    columns_named,
    constant_conditions,
    constant_term,
    is_lifted,
    places_of,
    repeated_conditions,
)


@dataclass(frozen=True)
class ActiveGraph:
    """The graph patterns are matched against: the default graph, one named graph, or each of several.

    ``column`` is the key column that carries the graph's name when ranging (``GRAPH ?g``).
    """

    iri: str | None = None
    column: str | None = None
    windows_only: bool = False


DEFAULT_GRAPH = ActiveGraph()


def active_graph(name: Variable | Constant, windows_only: bool) -> ActiveGraph:
    """What the patterns in ``GRAPH name`` are matched against; with ``windows_only`` in ``WINDOW name``."""
    if isinstance(name, Constant):
        return ActiveGraph(iri=name.text[1:-1])
    return ActiveGraph(column="g", windows_only=windows_only)


_NO_TIME = null("BIGINT")


@dataclass(frozen=True)
class TripleSource:
    """Where one triple pattern is matched: a table under an alias, conditions on it, and its key columns.

    ``keys`` gives key columns; without ``instant``, the triples are there at every instant.
    ``time`` is a triple's latest timestamp, where the pattern asks for it; NULL for what is static only.
    """

    table: Table
    conditions: tuple[Expression, ...]
    keys: Mapping[str, Expression]
    time: Expression = _NO_TIME


@dataclass
class QueryDataset:
    """The dataset of a continuous query, recording which static patterns its plan needs.

    ``present`` tells whether a static pattern has any match now; scans of those without are left out
    of the plan, which is compiled again when that changes.
    """

    query: ContinuousQuery
    present: Callable[[StaticPattern], bool]
    statics: dict[StaticPattern, None] = field(default_factory=dict)
    timed: bool = False
    """Whether the windows' tables need a column ``t``, the triples' times."""

    static_joins: dict[str, None] = field(default_factory=dict)
    """The SELECTs of static patterns and of long inline data that are tables of their own."""
    intervals: dict[IntervalPart, None] = field(default_factory=dict)
    """What is matched once for all instants."""
    closed: dict[ClosedContent, None] = field(default_factory=dict)
    """The contents of which what follows is made where they are evaluated."""
    followers: Followers | None = None
    """Where event patterns are matched by what is new: which of their occurrences are later than which."""
    at_all_instants: bool = False
    """Whether what is compiled is the same at all of them: one stands for them."""
    sources: Sources = field(default_factory=Sources)
    """What leaves that others may narrow are matched in."""

    @property
    def instants(self) -> Node:
        """The table of the instants due, one column ``instant``."""
        if not self.at_all_instants:
            return Instants()
        return Subselect(Select((("instant", sql.Cast(sql.number(0), "BIGINT")),)))

    def once(self) -> QueryDataset:
        """The same dataset, for what reads the store alone: at one instant that stands for all."""
        return replace(self, at_all_instants=True)

    def static_join(
        self, leaf: Static | Values, graph: ActiveGraph, statement: Statement, columns: Mapping[Variable, str]
    ) -> Node:
        """The table of what a SELECT over static tables, or over none, gives, ``columns`` those of variables."""
        text = named(statement.written)
        self.static_joins.setdefault(text)
        table = StaticRows(list(self.static_joins).index(text))
        return self._narrowable(leaf, graph, table, (SourcePart(table.written),), columns)

    def computed(
        self, leaf: Leaf, graph: ActiveGraph, table: Node, columns: Mapping[Variable, str], *, at_instants: bool
    ) -> Node:
        """The table of what a statement gives, at each instant or whenever, ``columns`` those of variables."""
        parts = table.written
        if not all(isinstance(part, str | Instants | WindowRows | StaticRows) for part in parts):
            return table  # it differs from query to query, or what it reads is not known before
        part = SourcePart(parts, at_instants=at_instants, computed=True)
        return self._narrowable(leaf, graph, table, (part,), columns)

    def _narrowable(
        self,
        leaf: Leaf,
        graph: ActiveGraph,
        table: Node,
        parts: Sequence[SourcePart],
        columns: Mapping[Variable, str],
    ) -> Node:
        """A table of which other leaves may leave some rows only; the table itself where none does."""
        if self.at_all_instants:
            return table
        return self.sources.placed((leaf, graph.iri if graph.column is None else RANGING), table, parts, columns)

    def interval_part(self, part: IntervalPart) -> Node:
        """The table of a part's solutions at the instants due."""
        self.intervals.setdefault(part)
        return IntervalRows(list(self.intervals).index(part))

    def alone(self, *clause: str | Node) -> Alone | None:
        """A clause for a statement that is evaluated for one query at one instant; None where none can stand."""
        return None if self.at_all_instants else Alone(written(clause))

    def new_source(self, triple: TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        """As ``source``, of the occurrences in the one window there is those that are new at the instants due."""
        (index,) = self._windows(graph)
        return replace(self.source(triple, graph, alias), table=Table(NewRows(index), alias))

    def only_streams(self, graph: ActiveGraph) -> bool:
        """Whether nothing but windows' contents is in an active graph, whatever the store holds."""
        named = self._named_graphs()
        if graph.column is not None:
            return graph.windows_only
        if graph.iri is not None and graph.iri not in self._instead:
            return graph.iri in self._window_graphs or (named is not None and graph.iri not in named)
        return named is not None and not self.query.from_graphs

    def has_static(self, triple: TriplePattern, graph: ActiveGraph) -> bool:
        """Whether a pattern of an active graph has a match in the store now."""
        return self._static(triple, graph) is not None

    def is_entailed(self, triple: TriplePattern, graph: ActiveGraph) -> bool:
        """Whether a pattern of an active graph may match what follows from windows' contents with the schema now."""
        windows = self._windows(graph)
        if self._materialises:
            return bool(windows)
        return any(self._entailing(index, triple, graph).is_something for index in windows)

    def only_store(self, graph: ActiveGraph) -> bool:
        """Whether no window's content is in an active graph, or in one of several."""
        return not self._windows(graph)

    def is_only_in_a_window(self, triple: TriplePattern, graph: ActiveGraph) -> bool:
        """Whether a pattern of an active graph is matched in one window, and in what follows from its triples, whenever
        they came, and nowhere else.
        """
        one = graph.column is None and len(self._windows(graph)) == 1 and triple.time is None
        if not one or self._materialises or self._static(triple, graph) is not None:
            return False
        # What follows from the schema alone comes with no row of a window.
        return self._entailing(self.only_window(graph), triple, graph).alone is None

    def only_window(self, graph: ActiveGraph) -> int:
        """The number of the one window that is a part of an active graph."""
        (index,) = self._windows(graph)
        return index

    def source(self, triple: TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        """The triples of the active graph that match the pattern's constants, columns ``s, p, o, k, n``."""
        windows = self._windows(graph)
        if windows and self._materialises:
            return self._materialised(triple, graph, alias)
        static = self._static(triple, graph)
        if static is not None and not windows:
            # What is static is there at every instant: it needs no column saying so.
            keys: dict[str, Expression] = {} if graph.column is None else {graph.column: Column("g", alias)}
            part = SourcePart(static.written, conditions=_repeated(triple), ranged=graph.column is not None)
            table = self._narrowable(triple, graph, static, [part], places_of(triple))
            return TripleSource(Table(table, alias), (), keys)
        keys = {"instant": Column("instant", alias)}
        timed = triple.time is not None and bool(windows)
        self.timed |= timed and not all(self.query.windows[index].occurrences for index in windows)
        time = Column("t", alias) if timed else _NO_TIME
        entailing = {index: self._entailing(index, triple, graph) for index in windows}
        infers = any(one.is_something for one in entailing.values())
        if len(windows) == 1 and static is None and not infers:
            if graph.column is not None:
                keys[graph.column] = self._window_name(windows[0])
            part = self._window_part(windows[0], triple, "", ranged=graph.column is not None)
            table = self._narrowable(triple, graph, WindowRows(windows[0]), [part], places_of(triple))
            return TripleSource(Table(table, alias), constant_conditions(triple, alias), keys, time)
        if graph.column is not None:
            keys[graph.column] = Column("g", alias)
        selects = []
        for index in windows:
            selects += self._window_selects(index, triple, graph, entailing[index])
        if static is not None:
            graphs = unnamed(Column("g", "x")) if graph.column is not None else ()
            last = (("t", _NO_TIME),) if timed else ()
            columns = (*unnamed(Column("instant", "i")), *graphs, *unnamed(*columns_named(FACETED, "x")), *last)
            selects.append(Select(columns, (Table(self.instants, "i"), Table(static, "x"))))
        if not selects:
            selects.append(Select(_NOTHING, (Table(self.instants),), (sql.FALSE,)))
        if timed or infers:
            named_by = ("instant", "g") if graph.column is not None else ("instant",)
            if any(self.query.windows[index].occurrences for index in windows):
                # A triple at another time is another occurrence, also of what follows.
                once = Subselect(each_once(triple, selects, (*named_by, "t"), timed=False))
            else:
                once = Subselect(each_once(triple, selects, named_by, timed=timed))
            return TripleSource(Table(once, alias), (), keys, time)
        # UNION, not UNION ALL: the merge of graphs is a set of triples. Named graphs are kept apart by g.
        every = Subselect(Compound("UNION", tuple(selects)))
        parts = self._parts(triple, graph, windows, static)
        table = self._narrowable(triple, graph, every, parts, places_of(triple))
        return TripleSource(Table(table, alias), (), keys)

    @property
    def _materialises(self) -> bool:
        """Whether much of what follows does so from several triples together, so that patterns cannot be rewritten."""
        return self.query.entailment is Regime.OWL_RL

    def _materialised(self, triple: TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        """As ``source``, in all that follows from windows' contents; where it ranges over graphs, from each alone."""
        if triple.time is not None:
            raise NotCompilable(
                "what follows from several triples has no time: under owl-rl timestamp() is not answered, say "
                "entailment=rdfs, or entailment=none"
            )
        keys: dict[str, Expression] = {"instant": Column("instant", alias)}
        if graph.column is None:
            table: Node = self._closure_rows(self._windows(graph), self._static_pattern(_ANY_TRIPLE, graph))
            return TripleSource(Table(table, alias), constant_conditions(triple, alias), keys)
        keys[graph.column] = Column("g", alias)
        selects = []
        for index in self._windows(graph):
            columns = (*unnamed(Column("instant")), ("g", self._window_name(index)), *unnamed(*columns_named(FACETED)))
            selects.append(Select(columns, (Table(self._closure_rows([index], None)),), constant_conditions(triple)))
        static = self._static(triple, graph)
        if static is not None:
            columns = (*unnamed(Column("instant", "i"), Column("g", "x")), *unnamed(*columns_named(FACETED, "x")))
            selects.append(Select(columns, (Table(self.instants, "i"), Table(static, "x"))))
        return TripleSource(Table(Subselect(Compound("UNION", tuple(selects))), alias), (), keys)

    def _closure_rows(self, windows: Sequence[int], static: StaticPattern | None) -> ClosureRows:
        """The table of what follows from windows, what is in the store beside them, and the schema, together."""
        regime = self.query.entailment
        schema = StaticPattern("schema", (), regime=regime)
        read = [schema] if static is None else [schema, replace(static, regime=Regime.NONE)]
        tables = [self._use(pattern) for pattern in read]
        content = ClosedContent(tuple(windows), tuple(table.name for table in tables if table is not None), regime)
        self.closed.setdefault(content)
        return ClosureRows(list(self.closed).index(content))

    def _parts(
        self, triple: TriplePattern, graph: ActiveGraph, windows: Sequence[int], static: TableName | None
    ) -> list[SourcePart]:
        """What several windows hold, or windows and the store, of which each triple is there once."""
        columns = "x.s, x.p, x.o, x.k, x.n"
        parts = []
        for index in windows:
            key = "" if graph.column is None else f"{named(self._window_name(index).written)} AS g, "
            listed = f"x.instant, {key}{columns}"
            parts.append(self._window_part(index, triple, listed, ranged=graph.column is not None))
        if static is not None:
            listed = f"i.instant, {'' if graph.column is None else 'x.g, '}{columns}"
            parts.append(SourcePart(static.written, listed, True, _repeated(triple), ranged=graph.column is not None))
        return parts

    def _window_part(self, index: int, triple: TriplePattern, columns: str, *, ranged: bool) -> SourcePart:
        given = tuple(
            (column, part.number)
            for column, part in (("s", triple.subject), ("o", triple.object))
            if isinstance(part, Parameter)
        )
        conditions = tuple(named(condition.written) for condition in constant_conditions(triple, "x"))
        conditions += _repeated(triple)
        table = WindowRows(index).written
        return SourcePart(table, columns, False, conditions, given, streamed=True, ranged=ranged)

    def has_graph(self, iri: str) -> Expression:
        """A condition: whether the dataset has this named graph, be it empty. TRUE where it surely has."""
        if iri in self._window_graphs:
            return sql.TRUE
        listed = self._named_graphs()
        if listed is not None:
            return sql.TRUE if iri in listed else sql.FALSE
        names = self._use(StaticPattern("names", None, without=self._window_graphs))
        if names is None:
            return sql.FALSE
        condition = sql.equal(Column("g", "x"), Text(f"<{iri}>"))
        return Exists(Select(unnamed(sql.number(1)), (Table(names, "x"),), (condition,)))

    def graph_names(self, graph: ActiveGraph) -> Statement:
        """A SELECT of the keys for each named graph an active graph ranges over."""
        assert graph.column is not None
        instant = Column("instant")
        selects = [
            Select((*unnamed(instant), (graph.column, self._window_name(index))), (Table(self.instants),))
            for index, window in enumerate(self.query.windows)
            if window.name is not None and self._ranged_over(window, graph)
        ]
        if not graph.windows_only:
            names = self._use(StaticPattern("names", self._named_graphs(), without=self._window_graphs))
            if names is not None:
                columns = (*unnamed(Column("instant", "i")), (graph.column, Column("g", "x")))
                tables: tuple[FromItem, ...] = (Joined(Table(self.instants, "i"), "CROSS", Table(names, "x"), ()),)
                selects.append(Select(columns, tables))
        if not selects:
            columns = (*unnamed(instant), (graph.column, null("VARCHAR")))
            return Select(columns, (Table(self.instants),), (sql.FALSE,))
        return selects[0] if len(selects) == 1 else Compound("UNION", tuple(selects))

    def _window_name(self, index: int) -> Expression:
        return Text(f"<{self.query.windows[index].name}>")

    def _ranged_over(self, window: StreamWindow, graph: ActiveGraph) -> bool:
        """Whether a window is one of the graphs that ``GRAPH ?g`` or ``WINDOW ?w`` stands for: of those that have a
        name in the query's words. Where the dataset names graphs, the variable stands for these alone, also if FROM
        STREAM's window is asked by its name elsewhere.
        """
        if window.declared:
            return True
        names_graphs = bool(self.query.from_named) or any(one.declared for one in self.query.windows)
        return window.graph is None and not graph.windows_only and not names_graphs

    def _windows(self, graph: ActiveGraph) -> list[int]:
        """The windows that are, or are part of, an active graph."""
        found = []
        for index, window in enumerate(self.query.windows):
            if graph.column is not None:
                if window.name is not None and self._ranged_over(window, graph):
                    found.append(index)
            elif window.graph == graph.iri or (graph.iri is not None and window.also == graph.iri):
                found.append(index)
        return found

    def _window_selects(
        self, index: int, triple: TriplePattern, graph: ActiveGraph, entailing: _Entailing
    ) -> list[Select]:
        """What of a window's content the pattern matches, and what it matches that follows from that: a SELECT for
        each way in which something follows, and one of what follows from the schema alone.
        """
        key = () if graph.column is None else (("g", self._window_name(index)),)
        occurrences = self.query.windows[index].occurrences
        last = () if triple.time is None and not occurrences else ("t",)
        first = (*unnamed(Column("instant")), *key)
        selects = entailed_rows(triple, WindowRows(index), entailing.ways, first, last)
        if entailing.alone is not None and not occurrences:
            columns = (*unnamed(Column("instant", "i")), *key, *unnamed(*columns_named(FACETED, "x")))
            columns = (*columns, *(("t", _NO_TIME) for _ in last))
            selects.append(Select(columns, (Table(self.instants, "i"), Table(entailing.alone, "x"))))
        return selects

    def entailed_rows(self, triple: TriplePattern, graph: ActiveGraph) -> EntailedRows | None:
        """Where a pattern that ``is_only_in_a_window`` is matched instead of its stream's log; None if it is there."""
        ways = self._entailing(self.only_window(graph), triple, graph).ways
        if not ways:
            return None
        selects = entailed_rows(triple, LogRows(), ways, (), ("time", "seen"))
        tables = tuple(pattern.table for pattern in ways)
        return EntailedRows(Compound("UNION ALL", tuple(selects)).written, tables)

    def _entailing(self, index: int, triple: TriplePattern, graph: ActiveGraph) -> _Entailing:
        """What there is of the schema that tells what of a window's content the pattern matches under the regime.

        The static part of its graph has a share in the schema; where it ranges over graphs, a window is one by itself.
        """
        regime = self.query.entailment
        if regime is Regime.NONE or is_lifted(triple):
            return _NOTHING_ENTAILED
        schema = self._static_pattern(triple, graph) if graph.column is None else None
        # Where it names graphs that are not there, nothing follows from these.
        by_itself = schema is None or schema.scope != "default"
        if schema is None:
            subject, predicate, object_ = map(constant_term, (triple.subject, triple.predicate, triple.object))
            schema = StaticPattern("schema", (), subject, predicate, object_, regime=regime)
        ways = [replace(schema, way=way) for way in WAYS]
        alone = self._use(replace(schema, scope="schema", graphs=())) if by_itself else None
        return _Entailing([pattern for pattern in ways if self._use(pattern) is not None], alone)

    def _static(self, triple: TriplePattern, graph: ActiveGraph) -> TableName | None:
        """The table of the store's triples in an active graph; None where there can be none."""
        pattern = self._static_pattern(triple, graph)
        return None if pattern is None else self._use(pattern)

    def _static_pattern(self, triple: TriplePattern, graph: ActiveGraph) -> StaticPattern | None:
        if graph.windows_only:
            return None
        if is_lifted(triple):
            return None  # lifted where the store has no match for the constant (``compiler.parameters``)
        subject, predicate, object_ = map(constant_term, (triple.subject, triple.predicate, triple.object))
        named, regime = self._named_graphs(), self.query.entailment
        if graph.column is not None:
            return StaticPattern("named", named, subject, predicate, object_, self._window_graphs, regime)
        if graph.iri is not None and graph.iri not in self._instead:
            # A dataset has one graph of a name, and the query says itself that it is the window's.
            if graph.iri in self._window_graphs or (named is not None and graph.iri not in named):
                return None
            return StaticPattern("merged", (graph.iri,), subject, predicate, object_, regime=regime)
        if named is None:
            return StaticPattern("default", (), subject, predicate, object_, regime=regime)
        if not self.query.from_graphs:
            return None
        return StaticPattern("merged", self.query.from_graphs, subject, predicate, object_, regime=regime)

    @property
    def _window_graphs(self) -> tuple[str, ...]:
        return tuple(sorted({window.name for window in self.query.windows if window.name is not None}))

    @property
    def _instead(self) -> frozenset[str]:
        """Names of windows that take the place of the default graph's, beside the store's default graph."""
        return frozenset(window.graph for window in self.query.windows if window.graph and window.instead)

    def _named_graphs(self) -> tuple[str, ...] | None:
        """FROM NAMED, or None for all of the store's: with no graph clause of either kind."""
        if self.query.from_graphs or self.query.from_named:
            return self.query.from_named
        return None

    def _use(self, pattern: StaticPattern) -> TableName | None:
        self.statics[pattern] = None
        return TableName(pattern.table) if self.present(pattern) else None


@dataclass(frozen=True)
class _Entailing:
    """The tables of the schema by which a pattern matches what follows: of what follows from triples, in the ways in
    which something does, and of what follows from the schema alone.
    """

    ways: Sequence[StaticPattern]
    alone: TableName | None

    @property
    def is_something(self) -> bool:
        return bool(self.ways) or self.alone is not None


_NOTHING_ENTAILED = _Entailing((), None)
_ANY_TRIPLE = TriplePattern(*map(Variable, "spo"))
_NOTHING = (
    (None, Column("instant")),
    *((name, null("VARCHAR")) for name in ("g", "s", "p", "o")),
    ("k", null("UTINYINT")),
    ("n", null("DOUBLE")),
)


def _repeated(triple: TriplePattern) -> tuple[str, ...]:
    return tuple(named(condition.written) for condition in repeated_conditions(triple, "x"))
