"""A world's queries asked of an Evaluator, as a task does, and of Oxigraph over the same content."""

from __future__ import annotations

import gc
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer

import pyarrow as pa
import pyoxigraph as ox

from protocol.grammar.one_shot import exact_text
from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.sparql.corrections import corrected
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import facets
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.step import EvaluationError
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.graphs import Quad
from spark_backend.statics.tables import StaticTables
from tests.benchmarks.join_orders.worlds import STEP, WIDTH, Triple, World
from tests.spark_backend.static_graphs import QuadsInMemory

Solutions = Counter[str]
"""Bindings as JSON, with how many there are of each."""
_Quad = tuple[str | None, Triple]
MOST_SOLUTIONS = 5_000
"""A query with more of them tells how fast answers are written, and is not asked."""


class WorldSite:
    """The streams' logs in a data directory, the graphs in a store, and an Evaluator over both."""

    def __init__(self, root: Path, world: World) -> None:
        self._world = world
        layout = Layout(root)
        layout.make()
        self._logs = []
        self._windows = []
        for place, (graph, elements) in enumerate(world.streams):
            settings = StreamSettings(f"http://ex/s{place}", TimeKind.EVENT, allowed_lateness=0, retention=10**9)
            log = StreamLog.open(layout.streams / f"s{place}", settings, lambda: 0)
            rows = [
                (number, at, None, s, p, o, int(facets(o)[0]), facets(o)[1])
                for number, (at, (s, p, o)) in enumerate(elements)
            ]
            log.append(
                pa.RecordBatch.from_arrays(
                    [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), REQUEST, strict=True)],
                    schema=REQUEST,
                )
            )
            self._logs.append(log)
            self._windows.append(StreamWindow(f"s{place}", TimeWindow(WIDTH, STEP, 0), graph, graph is not None))
        self._static = {(graph, triple) for graph, triples in world.graphs.items() for triple in triples}
        self.store = ox.Store()
        for graph, triples in world.graphs.items():
            _load(self.store, graph, triples)
        self._statics = StaticTables(
            layout.statics, _StoreGraphs(self.store, [name for name in world.graphs if name is not None])
        )
        self._registry = Registry(layout.queries)
        self.evaluator = Evaluator(root)
        self._asked = 0

    def ours(self, text: str, instants: Sequence[int], limit: float) -> tuple[float, dict[int, Solutions] | None]:
        """The seconds of the evaluations at these instants together, and their solutions; None after the limit.

        Here and below they are the processor's: what else the machine does is not counted.
        """
        # In turn, so that what is made once for many evaluations is made before, as the store's indexes are.
        steps = self.evaluator.plan([("q", self._prepared(text), instants)]).steps
        for step in steps:
            self.evaluator.prepare(step)
        began, used = time.perf_counter(), time.process_time()
        try:
            with self._stopped_after(limit):
                answers = [answer for step in steps for _, answer in self.evaluator.run(step)]
        except EvaluationError as error:
            if time.perf_counter() - began < limit:
                raise RuntimeError(text) from error
            return limit, None
        seconds = time.process_time() - used
        return seconds, {
            answer.instant: Counter(json.dumps(json.loads(one), sort_keys=True) for one in answer.solutions)
            for answer in answers
        }

    def most_rows(self, text: str, instants: Sequence[int], limit: float) -> int:
        """How many rows an operator of them has at the most. Raises EvaluationError, also after the limit."""
        with self._stopped_after(limit):
            measured = self.evaluator.operators(("q", self._prepared(text), instants))
        waiting = [*json.loads(measured.operators)["operator"]]
        most = 0
        while waiting:
            operator = waiting.pop()
            most = max(most, operator["intermediate_rows"])
            waiting += operator.get("children", ())
        return most

    @contextmanager
    def _stopped_after(self, seconds: float) -> Iterator[None]:
        """Within it, an evaluation that takes longer raises EvaluationError."""
        timer = Timer(seconds, self.evaluator._connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _prepared(self, text: str) -> str:
        """The name of the query's file."""
        windows = tuple(self._windows)
        query = ContinuousQuery(text, read_query(text), Form.SELECT, R2S.RSTREAM, windows)
        plan = compile_query(query, present=lambda pattern: self._statics.file(pattern) is not None)
        files = {pattern.table: self._statics.file(pattern) for pattern in plan.statics}
        there = {table: file for table, file in files.items() if file is not None}
        self._asked += 1
        return self._registry.write_prepared(f"q{self._asked}", PreparedQuery(plan, windows, there))

    def oxigraph(self, text: str, instants: Sequence[int], limit: float) -> tuple[float, dict[int, Solutions]] | None:
        """The same by Oxigraph; None if there are too many solutions at an instant, or after the limit."""
        context = get_context("fork")  # its child has the store, and can be ended
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=self._ask_oxigraph, args=(text, instants, there))
        gc.disable()  # garbage of this process is collected here, where the threads of its databases are
        process.start()
        gc.enable()
        there.close()
        documents = {}
        spent = 0.0
        try:
            for instant in instants:
                if not here.poll(limit):
                    return None
                seconds, document = here.recv()
                if document is None:
                    return None
                spent += seconds
                documents[instant] = document
        except EOFError as error:
            raise RuntimeError(f"Oxigraph's process has ended: {text}") from error
        finally:
            process.kill()
            process.join()
        return spent, {
            instant: Counter(json.dumps(one, sort_keys=True) for one in json.loads(document)["results"]["bindings"])
            for instant, document in documents.items()
        }

    def _ask_oxigraph(self, text: str, instants: Sequence[int], answer: Connection) -> None:
        there: set[_Quad] = set()
        names = [name for name in (*self._world.graphs, *(graph for graph, _ in self._world.streams)) if name]
        for instant in instants:
            due = set(self._world.contents(instant)) - self._static
            for graph, (subject, predicate, object_) in there - due:
                triple = _term(subject), _term(predicate), _term(object_)
                self.store.remove(ox.Quad(*triple, _graph(graph)))  # type: ignore[arg-type]  # which part is what
            for name in {graph for graph, _ in due - there}:
                _load(self.store, name, [triple for graph, triple in due - there if graph == name])
            there = due
            exact = corrected(exact_text(text), lambda: names)  # as one-shot queries are asked
            for place, _ in enumerate(self.store.query(exact)):  # type: ignore[arg-type]  # of a SELECT
                if place == MOST_SOLUTIONS:
                    answer.send((0.0, None))
                    return
            began = time.process_time()
            found = self.store.query(exact)
            assert isinstance(found, ox.QuerySolutions)
            document = found.serialize(format=ox.QueryResultsFormat.JSON)
            answer.send((time.process_time() - began, document))

    def close(self) -> None:
        for log in self._logs:
            log.close()


class _StoreGraphs(QuadsInMemory):
    """A store, as StaticTables read it."""

    version = 1

    def __init__(self, store: ox.Store, names: Sequence[str]) -> None:
        self._store = store
        self._names = list(names)

    def named_graphs(self) -> list[str]:
        return self._names

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[Quad]:
        s, p, o = (None if term is None else _term(term) for term in (subject, predicate, object))
        for graph in [None] if graphs is None else graphs:
            for quad in self._store.quads_for_pattern(s, p, o, _graph(graph)):  # type: ignore[arg-type]
                yield "" if graph is None else f"<{graph}>", str(quad.subject), str(quad.predicate), str(quad.object)


def _term(text: str) -> ox.NamedNode | ox.Literal:
    if text[0] == "<":
        return ox.NamedNode(text[1:-1])
    value, _, datatype = text[1:].rpartition('"')
    return ox.Literal(value, datatype=ox.NamedNode(datatype[3:-1])) if datatype else ox.Literal(value)


def _load(store: ox.Store, graph: str | None, triples: Sequence[tuple[str, str, str]]) -> None:
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode()
    store.load(lines, format=ox.RdfFormat.N_TRIPLES, to_graph=_graph(graph))


def _graph(name: str | None) -> ox.DefaultGraph | ox.NamedNode:
    return ox.DefaultGraph() if name is None else ox.NamedNode(name)
