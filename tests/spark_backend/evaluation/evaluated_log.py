"""A data directory with one stream's log and prepared queries over it, and what an evaluation must find there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox

from protocol.entailment.regimes import Regime
from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import facets
from protocol.windows.instances import content_bounds
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.answers.answer import Answer
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.tables import StaticTables
from tests.spark_backend.compiler.one_shot import Graphs

Element = tuple[int, list[tuple[str, str, str]]]
"""A time and triples."""
WINDOW_GRAPH = "http://ex/w"


def request(elements: Sequence[Element]) -> pa.RecordBatch:
    rows: list[tuple[object, ...]] = []
    for ordinal, (time, triples) in enumerate(elements):
        for s, p, o in triples:
            kind, number = facets(o)
            rows.append((ordinal, time, None, s, p, o, int(kind), number))
        if not triples:
            rows.append((ordinal, time, None, None, None, None, None, None))
    columns = list(zip(*rows, strict=True)) or [()] * len(REQUEST)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, REQUEST, strict=True)], schema=REQUEST
    )


class Site:
    """An event stream named ``s`` below a root; elements may come in any order within its lateness.

    Queries are asked under RDFS where there is a ``schema``, in Turtle.
    """

    def __init__(self, root: Path, *, lateness: int = 10**6, schema: str = "") -> None:
        self.layout = Layout(root)
        self.layout.make()
        settings = StreamSettings("http://ex/s", TimeKind.EVENT, allowed_lateness=lateness, retention=10**9)
        self.log = StreamLog.open(self.layout.streams / "s", settings, lambda: 0)
        self.registry = Registry(self.layout.queries)
        self.evaluator = Evaluator(root)
        self.regime = Regime.RDFS if schema else Regime.NONE
        self.graphs = Graphs({None: schema})
        self.statics = StaticTables(self.layout.statics, self.graphs)

    def append(self, elements: Sequence[Element]) -> None:
        self.log.append(request(elements))
        self.evaluator.refresh()

    def prepare(self, key: str, text: str, window: TimeWindow, form: Form = Form.SELECT) -> str:
        """The name of a query over a window that is the named graph WINDOW_GRAPH."""
        member = StreamWindow("s", window, WINDOW_GRAPH, True)
        query = ContinuousQuery(text, read_query(text), form, R2S.RSTREAM, (member,), entailment=self.regime)
        plan = compile_query(query, present=lambda pattern: self.statics.file(pattern) is not None)
        files = {pattern.table: self.statics.file(pattern) for pattern in plan.statics}
        there = {table: file for table, file in files.items() if file is not None}
        return self.registry.write_prepared(key, PreparedQuery(plan, (member,), there))

    def answers(self, prepared: str, instants: Sequence[int]) -> list[Answer]:
        return [answer for _, answer in self.evaluator.evaluate([("q", prepared, instants)])]

    def close(self) -> None:
        self.log.close()


def one_shot(text: str, elements: Sequence[Element], window: TimeWindow, instant: int) -> list[dict[str, object]]:
    """SPARQL JSON bindings of the query over the window's content at an instant, sorted."""
    after, upto = content_bounds(window, instant)
    store = ox.Store()
    lines = {" ".join(triple) + " ." for time, triples in elements if after < time <= upto for triple in triples}
    store.load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(WINDOW_GRAPH))
    answer = store.query(text)
    assert isinstance(answer, ox.QuerySolutions)
    document = json.loads(answer.serialize(format=ox.QueryResultsFormat.JSON) or b"")
    return in_order(document["results"]["bindings"])


def in_order(bindings: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(bindings, key=lambda binding: json.dumps(binding, sort_keys=True))


def bindings(answer: Answer) -> list[dict[str, object]]:
    return in_order([json.loads(solution) for solution in answer.solutions])
