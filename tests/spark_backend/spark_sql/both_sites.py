"""One data directory, and the answers of a query over it from both sites of evaluation: DuckDB and Spark SQL."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.streams import StreamSettings, TimeKind
from spark_backend.answers.answer import Answer
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.appending.equal_messages import scope_name
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.spark_sql.evaluator import SparkSqlEvaluator
from spark_backend.statics.tables import StaticTables
from tests.spark_backend.compiler.one_shot import Content, Graphs, continuous, turtle
from tests.spark_backend.evaluation.evaluated_log import Element, request

INSTANTS = (8000, 9000, 10_000)
"""Windows of a second: some of the triples are in the first, all in the second, none in the third."""


class BothSites:
    """An evaluator of each site over logs below one root."""

    def __init__(self, root: Path, session: SparkSession, functions: PythonFunctions = NO_FUNCTIONS) -> None:
        self._functions = functions
        self._layout = Layout(root)
        self._layout.make()
        self._registry = Registry(self._layout.queries)
        self._duckdb, self.spark = (
            Evaluator(root, functions=functions.to_json()),
            SparkSqlEvaluator(session, root, functions=functions.to_json()),
        )
        self._fresh = itertools.count()
        self._content: Content | None = None
        self._logs: list[str] = []

    def answers(
        self, text: str, content: Content, instants: Sequence[int] = INSTANTS, rows: int = 0
    ) -> tuple[list[Answer], ...]:
        """What DuckDB answers, and what Spark SQL does when it is told that the windows have so many rows."""
        if content is not self._content:
            self._content, self._logs = content, [self._log(turtle(text)) for text in content.windows.values()]
        query = continuous(text, content)
        statics = StaticTables(self._layout.statics, Graphs(content.graphs))
        plan = compile_query(
            query, present=lambda pattern: statics.file(pattern) is not None, functions=self._functions
        )
        windows = tuple(replace(window, stream=log) for window, log in zip(query.windows, self._logs, strict=True))
        files = {pattern.table: file for pattern in plan.statics if (file := statics.file(pattern)) is not None}
        prepared = self._registry.write_prepared(f"q{next(self._fresh)}", PreparedQuery(plan, windows, files))
        duckdb = [answer for _, answer in self._duckdb.evaluate([("q", prepared, instants)])]
        return duckdb, self.spark.answers(prepared, instants, rows)

    def agree(self, text: str, content: Content, rows: int = 0) -> int:
        """Check that the sites give the same, solution by solution. How many there are."""
        duckdb, spark = self.answers(text, content, rows=rows)
        assert [answer.error for answer in duckdb] == [None] * len(INSTANTS), text
        for one, other in zip(duckdb, spark, strict=True):
            assert other.error is None, f"{text}\n{other.error}"
            assert other.instant == one.instant
            assert list(map(json.loads, other.solutions)) == list(map(json.loads, one.solutions)), text
            assert (other.solutions, other.triples) == (one.solutions, one.triples)
        return sum(len(answer.solutions) for answer in duckdb)

    def left_behind(self) -> list[str]:
        """Temporary views, and tables that are held in memory or on disk, by name."""
        context: Any = self.spark.session.sparkContext._jsc
        views = [table.name for table in self.spark.session.catalog.listTables() if table.isTemporary]
        return [*views, *(f"RDD {number}" for number in context.getPersistentRDDs())]

    def _log(self, triples: Sequence[tuple[str, str, str]]) -> str:
        name = f"s{next(self._fresh)}"
        settings = StreamSettings(f"http://ex/{name}", TimeKind.EVENT, allowed_lateness=10**6, retention=10**9)
        log = StreamLog.open(self._layout.streams / name, settings, lambda: 0)
        triples = [(_scoped(s), p, _scoped(o)) for s, p, o in triples]
        elements: list[Element] = [(INSTANTS[0] - 500, [*triples[::2], *triples[:1]]), (INSTANTS[1], [*triples])]
        log.append(request(elements))
        log.close()
        return name


def _scoped(term: str) -> str:
    """A blank node as the log names those of a message."""
    return f"{scope_name(hashlib.sha256(term.encode()).hexdigest()[:32], 0)}b0" if term.startswith("_:") else term
