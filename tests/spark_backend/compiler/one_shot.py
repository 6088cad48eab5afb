"""The compiler's oracle: a query over windows in DuckDB, and one-shot in Oxigraph over the same content."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import pyarrow as pa
import pyoxigraph as ox

from protocol.entailment.closure import closure
from protocol.entailment.regimes import Regime
from protocol.entailment.schema import is_schema
from protocol.functions.aggregates import CUSTOM_AGGREGATES
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions, callables
from protocol.grammar.cursor import Cursor
from protocol.grammar.one_shot import exact_text
from protocol.grammar.parser import QueryReader
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.sparql.corrections import simple_group_concat
from protocol.sparql.source import Source
from protocol.terms import TermKind, facets, is_triple, term_text, triple_parts, triple_text
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.answers.solutions import instantiate
from spark_backend.answers.sums import finish_sums
from spark_backend.compiler.passes import PASSES, Pass
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.evaluation.contents.closures import ClosureTables
from spark_backend.evaluation.database import connect, rows_of
from spark_backend.evaluation.narrowing import LITTLE, ReadTables, narrowed
from spark_backend.evaluation.prelude.functions import SparqlFunction
from spark_backend.evaluation.prelude.in_duckdb import install_function
from spark_backend.evaluation.statement import statement
from spark_backend.evaluation.tables import WINDOW_COLUMNS
from spark_backend.statics.tables import SCHEMA, StaticTables
from tests.spark_backend.static_graphs import QuadsInMemory

PREFIXES = (
    "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
INSTANT = 8000
Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Content:
    """A dataset in Turtle: ``windows`` and ``graphs`` (the store's) by graph IRI, None for the default graph.

    Asked under a regime of entailment; ``infer`` is what the oracle infers with.
    """

    windows: Mapping[str | None, str]
    graphs: Mapping[str | None, str] = field(default_factory=dict)
    undeclared: frozenset[str] = frozenset()
    entailment: Regime = Regime.NONE
    infer: Callable[[Regime, list[ox.Triple]], Iterable[ox.Triple]] = closure


def turtle(text: str) -> list[tuple[str, str, str]]:
    """The triples of a Turtle text (with PREFIXES), as canonical terms."""
    return [
        (str(triple.subject), str(triple.predicate), term_text(triple.object))
        for triple in ox.parse((PREFIXES + text).encode(), format=ox.RdfFormat.TURTLE)
    ]


class Graphs(QuadsInMemory):
    """The store of a Content, as StaticTables read it."""

    version = 1

    def __init__(self, graphs: Mapping[str | None, str]) -> None:
        self._graphs = {name: turtle(text) for name, text in graphs.items()}

    def named_graphs(self) -> list[str]:
        return [name for name in self._graphs if name is not None]

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[tuple[str, str, str, str]]:
        for graph in [None] if graphs is None else graphs:
            for s, p, o in self._graphs.get(graph, []):
                if subject in (None, s) and predicate in (None, p) and object in (None, o):
                    yield f"<{graph}>" if graph else "", s, p, o


_installed: set[str] = set()


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """A connection as the evaluator makes it."""
    return connect(1 << 30, Path(mkdtemp()))


def continuous(text: str, content: Content, operator: R2S = R2S.RSTREAM) -> ContinuousQuery:
    """The query over one window for each of the content's."""
    without = re.sub(r"<[^>]*>|\"[^\"]*\"|'[^']*'|\(", " ", text)
    found = re.search(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", without, re.IGNORECASE)
    assert found is not None
    windows = tuple(
        StreamWindow(
            f"http://stream/{place}", TimeWindow(1000, 1000, 0), graph, graph not in (None, *content.undeclared)
        )
        for place, graph in enumerate(content.windows)
    )
    full = PREFIXES + text
    return ContinuousQuery(
        full,
        QueryReader(Cursor(Source(full), liberal=True), None).query(),
        Form(found[1].upper()),
        operator,
        windows,
        tuple(re.findall(r"FROM\s+<([^>]*)>", full)),
        tuple(re.findall(r"FROM\s+NAMED\s+<([^>]*)>", full)),
        entailment=content.entailment,
    )


def evaluated(
    text: str,
    content: Content,
    instants: Sequence[int] = (INSTANT,),
    *,
    reverse: bool = False,
    passes: Sequence[Pass] = PASSES,
    functions: PythonFunctions = NO_FUNCTIONS,
) -> tuple[Plan, dict[int, list[Row]]]:
    """The plan, and the rows of each instant, in order. Every instant finds the same content."""
    query = continuous(text, content)
    made = connection()
    files: dict[str, str] = {}
    with TemporaryDirectory() as directory:
        statics = StaticTables(Path(directory), Graphs(content.graphs))
        plan = compile_query(
            query,
            present=lambda pattern: statics.file(pattern) is not None,
            passes=passes,
            functions=functions,
        )
        plan = Plan.from_json(plan.to_json())
        created = []
        for pattern in plan.statics:
            file = statics.file(pattern)
            if file is not None:
                with pa.memory_map(str(Path(directory) / file)) as source:
                    rows = pa.ipc.open_file(source).read_all()
                    assert rows.schema == SCHEMA
                    made.register("static_rows", rows)
                    made.execute(f"CREATE OR REPLACE TEMP TABLE {pattern.table} AS SELECT * FROM static_rows")
                    made.unregister("static_rows")
                files[pattern.table] = file
                created.append(pattern.table)
    for function in plan.functions:
        if function.name not in _installed:
            install_function(made, function, SparqlFunction(function, plan.base, functions.to_json()))
            _installed.add(function.name)
    due = _instants_table(tuple(instants))
    windows = _window_tables(content.windows.values(), reverse, due)
    # Evaluated alone, and beside a query of the same shape: then its constants are columns. Alone, what narrows what is
    # looked at first, as if all of it were large but what windows hold; beside another, all of it is joined, or that
    # other one has its part, and windows are large, too.
    inferring = ClosureTables(made)
    closures = [
        inferring.table(
            one.regime,
            [(table, files[table]) for table in one.statics],
            [windows[n] for n in one.windows],
            tuple(instants),
        )
        for one in plan.closed
    ]
    alone = _rows(plan, [plan.parameters], due, windows, closures, alone=len(instants) == 1)
    answers = {instant: alone.get((instant, 0), []) for instant in instants}
    if plan.parameters:
        other = tuple(_another(term) for term in plan.parameters)
        for worth in (math.inf, 0) if any(one.conditions or one.barred_by for one in plan.sources) else (math.inf,):
            together = _rows(plan, [other, plan.parameters], due, windows, closures, worth=worth)
            assert answers == {instant: together.get((instant, 1), []) for instant in instants}, (
                f"{text}\n{named(plan.sql)}"
            )
    for table in dict.fromkeys((*created, *closures)):
        made.execute(f"DROP TABLE {table}")
    return plan, answers


def _rows(
    plan: Plan,
    members: Sequence[tuple[str, ...]],
    instants: str,
    windows: Sequence[str],
    closures: Sequence[str],
    *,
    alone: bool = False,
    worth: float = 0,
) -> dict[tuple[int, int], list[Row]]:
    joins = [f"({select})" for select in plan.static_joins]
    tables = ReadTables(instants, windows, joins)
    rows = LITTLE // 2 if len(members) == 1 else LITTLE
    with narrowed(connection(), plan, members, tables, lambda _: rows, worth=worth) as left:
        sql = statement(
            plan,
            members,
            instants=instants,
            windows=windows,
            members_table=lambda sql: f"({sql})",
            static_joins=joins,
            sources=None if left is None else left.tables,
            order=None if left is None else left.order,
            alone=alone,
            closures=closures,
        )
        solutions = rows_of(connection(), sql)
        assert left is None or not (left.none and solutions.num_rows)
    found: dict[tuple[int, int], list[Row]] = {}
    columns = (column.to_pylist() for column in finish_sums(plan, solutions).columns)
    for instant, member, *row in zip(*columns, strict=True):
        found.setdefault((instant, member), []).append(tuple(row))
    return found


@cache
def _instants_table(instants: tuple[int, ...]) -> str:
    """The table of the instants, which is kept: most queries are asked at one and the same."""
    table = f"instants_{_instants_table.cache_info().misses}"
    connection().execute(f"CREATE TEMP TABLE {table} AS SELECT unnest({list(instants)})::BIGINT AS instant")
    return table


_made: dict[tuple[str, bool, str], str] = {}


def _window_tables(contents: Iterable[str], reverse: bool, instants: str) -> list[str]:
    """The tables of windows' contents at each of the instants: they are kept for a while, as contents come again."""
    connected = connection()
    if len(_made) > 100:
        for table in _made.values():
            connected.execute(f"DROP TABLE {table}")
        _made.clear()
    keys = [(text, reverse, instants) for text in contents]
    for key in keys:
        if key not in _made:
            table = f"window_{len(_made)}_now"
            connected.register("rows", _window(turtle(key[0])[:: -1 if reverse else 1]))
            connected.execute(
                f"CREATE TEMP TABLE {table} AS SELECT DISTINCT i.instant, {WINDOW_COLUMNS} FROM rows, {instants} i"
            )
            connected.unregister("rows")
            _made[key] = table
    return [_made[key] for key in keys]


def _another(term: str) -> str:
    """A term of the same kind."""
    if is_triple(term):
        subject, predicate, _ = triple_parts(term)
        return triple_text(subject, predicate, "<http://ex/another>")
    if term.startswith("<"):
        return "<http://ex/another>"
    end = term.rindex('"')
    kind, _ = facets(term)
    return f'"{"12" if kind <= TermKind.DOUBLE else term[1:end] + "x"}{term[end:]}' if end else term


def _window(triples: Iterable[tuple[str, str, str]]) -> pa.Table:
    rows = [(s, p, o, *facets(o)) for s, p, o in triples]
    return pa.table(
        {
            "s": pa.array([row[0] for row in rows], pa.string()),
            "p": pa.array([row[1] for row in rows], pa.string()),
            "o": pa.array([row[2] for row in rows], pa.string()),
            "k": pa.array([int(row[3]) for row in rows], pa.uint8()),
            "n": pa.array([row[4] for row in rows], pa.float64()),
        }
    )


def one_shot(text: str, content: Content, functions: PythonFunctions = NO_FUNCTIONS) -> Any:
    """Oxigraph's answer over the dataset of windows and graphs (docs/model.md, "The dataset")."""
    plain = PREFIXES + re.sub(r"FROM\s+(NAMED\s+)?<[^>]*>", "", text)
    return store_of(text, content).query(
        simple_group_concat(exact_text(plain)),
        custom_functions=callables(functions.to_json()),
        custom_aggregate_functions=CUSTOM_AGGREGATES,
    )


def store_of(text: str, content: Content) -> ox.Store:
    """The dataset of a query, for reading: many ask the same."""
    default_graphs = tuple(re.findall(r"FROM\s+<([^>]*)>", text))
    named_graphs = tuple(re.findall(r"FROM\s+NAMED\s+<([^>]*)>", text))
    windows, graphs = tuple(content.windows.items()), tuple(content.graphs.items())
    return _store(default_graphs, named_graphs, windows, graphs, content.entailment, content.infer)


@lru_cache(maxsize=50)
def _store(
    default_graphs: tuple[str, ...],
    named_graphs: tuple[str, ...],
    windows: tuple[tuple[str | None, str], ...],
    graphs: tuple[tuple[str | None, str], ...],
    entailment: Regime,
    infer: Callable[[Regime, list[ox.Triple]], Iterable[ox.Triple]],
) -> ox.Store:
    store = ox.Store()

    def add(name: str | None, triples: str) -> None:
        graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
        for triple in ox.parse((PREFIXES + triples).encode(), format=ox.RdfFormat.TURTLE):
            store.add(ox.Quad(triple.subject, triple.predicate, triple.object, graph))
        if name is not None:
            store.add_graph(ox.NamedNode(name))

    of_windows, of_graphs = dict(windows), dict(graphs)
    for name, triples in windows:
        add(name, triples)
    clauses = bool(default_graphs or named_graphs)
    for name, triples in graphs:
        if name is not None and name in of_windows:
            pass  # the name is the window's: a dataset has one graph of a name
        elif not clauses or (name is not None and name in named_graphs):
            add(name, triples)
        if clauses and name is not None and name in default_graphs:
            add(None, triples)
    for name in named_graphs:
        store.add_graph(ox.NamedNode(name))
    if entailment.infers:
        schema = [one for one in _parsed(of_graphs.get(None, "")) if is_schema(one.predicate, one.object)]
        there: list[ox.NamedNode | ox.DefaultGraph] = [
            ox.NamedNode(name)
            for name in (*of_windows, *of_graphs)
            if name and store.contains_named_graph(ox.NamedNode(name))
        ]
        if not clauses or None in of_windows or {*default_graphs} & {*of_graphs}:
            there.append(ox.DefaultGraph())
        for graph in there:
            asserted = [quad.triple for quad in store.quads_for_pattern(None, None, None, graph)]
            store.extend(
                ox.Quad(one.subject, one.predicate, one.object, graph)
                for one in infer(entailment, [*schema, *asserted])
            )
    return store


def _parsed(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse((PREFIXES + text).encode(), format=ox.RdfFormat.TURTLE)]


def graph_by_graph(text: str, content: Content) -> str:
    """The query with each ``GRAPH ?g {P}`` written out as the standard defines it (18.6), innermost last.

    Join(P in the graph, {?g -> graph}), united over the named graphs. Oxigraph evaluates GRAPH ?g by
    adding the graph to every triple pattern instead: it does not bind ?g where P has no triple pattern
    or is a sub-select, and groups and cuts over all graphs together.
    """
    found = re.search(r"GRAPH (\?\w+) \{", text)
    if found is None:
        return text
    depth, end = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    inner = text[found.end() : end - 1]
    alternatives = [
        f"{{ GRAPH {name} {{ {inner} }} VALUES {found[1]} {{ {name} }} }}"
        for name in map(str, store_of(text, content).named_graphs())
    ]
    united = " UNION ".join(alternatives) or f"{{ VALUES {found[1]} {{}} }}"
    return graph_by_graph(f"{text[: found.start()]}{{ {united} }}{text[end:]}", content)


def by_value(term: str | None) -> str | None:
    """The term as Oxigraph's store writes it, doubles to 12 digits, blank nodes that nobody named all alike."""
    if term is None:
        return None
    if term.startswith("_:"):
        return term if len(term) < 10 else "_:"
    if is_triple(term):
        subject, predicate, object_ = triple_parts(term)
        return triple_text(subject, predicate, str(by_value(object_)))
    return _canonical(term)


@cache
def _canonical(term: str) -> str:
    store = ox.Store()
    store.update(f"INSERT DATA {{ <http://s> <http://p> {term} }}")
    (quad,) = store
    written = term_text(quad.object)
    found = re.fullmatch(r'"([^"]*)"\^\^<http://www.w3.org/2001/XMLSchema#(double|float)>', written)
    if found is not None:
        written = f'"{float(found[1]):.{12 if found[2] == "double" else 6}g}"^^{found[2]}'
    return written


def expected(
    text: str, content: Content, variables: Sequence[str], functions: PythonFunctions = NO_FUNCTIONS
) -> list[Row]:
    answer = one_shot(text, content, functions)
    assert {variable.value for variable in answer.variables} == set(variables)
    return [
        tuple(None if solution[name] is None else term_text(solution[name]) for name in variables)
        for solution in answer
    ]


def assert_same_solutions(
    text: str,
    content: Content,
    *,
    ordered: bool = False,
    oracle: str | None = None,
    functions: PythonFunctions = NO_FUNCTIONS,
) -> None:
    """DuckDB's solutions are Oxigraph's: as a multiset, or as a sequence where ``ordered``."""
    plan, answers = evaluated(text, content, functions=functions)
    wanted = [tuple(map(by_value, row)) for row in expected(oracle or text, content, plan.variables, functions)]
    got = [tuple(map(by_value, row)) for row in answers[INSTANT]]
    if ordered:
        assert got == wanted, f"{text}\n{named(plan.sql)}"
    missing, surplus = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    difference = (dict(missing), dict(surplus))
    assert difference == ({}, {}), f"{text}\n  missing {difference[0]}\n  surplus {difference[1]}\n{named(plan.sql)}"


def asked(text: str, content: Content) -> bool:
    """What an ASK answers."""
    _, answers = evaluated(text, content)
    return bool(answers[INSTANT])


def constructed(text: str, content: Content) -> set[str]:
    """The graph of a CONSTRUCT, as N-Triples lines."""
    plan, answers = evaluated(text, content)
    assert plan.template is not None
    return {
        line
        for place, row in enumerate(answers[INSTANT])
        for line in instantiate(
            plan.template, plan.variables, row, query=plan.identity, instant=INSTANT, place=place
        ).splitlines()
    }
