"""A data directory with one stream's log that is one large window, and queries that are prepared over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.streams import StreamSettings, TimeKind
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.statement import statement
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from tests.benchmarks.windows.workload import QUESTIONS, TRIPLES_AN_OBSERVATION, WINDOW, Question, batches, columns

_INSTANT = 1_000_000_000


class WindowSite:
    """The log, an Evaluator over it, and the window's table as that makes it."""

    def __init__(self, root: Path, triples: int) -> None:
        self.triples = triples
        self._root = root
        layout = Layout(root)
        layout.make()
        settings = StreamSettings(
            "http://example.org/stream", TimeKind.EVENT, allowed_lateness=0, retention=2 * _INSTANT
        )
        self._log = StreamLog.open(layout.streams / "s", settings, lambda: 0)
        for place, batch in enumerate(batches(triples)):
            element = np.arange(len(batch), dtype=np.int32) // TRIPLES_AN_OBSERVATION
            times = np.full(len(batch), 1 + place, dtype=np.int64)
            rows: dict[str, Any] = {"element": pa.array(element), "time": pa.array(times), **columns(batch)}
            self._log.append(pa.RecordBatch.from_pydict({f.name: rows[f.name].cast(f.type) for f in REQUEST}, REQUEST))
        self._window = StreamWindow("s", TimeWindow(_INSTANT, _INSTANT, 0), WINDOW, True)
        registry = Registry(layout.queries)
        self._plans = {question.name: self._plan(question) for question in QUESTIONS}
        self._prepared = {
            name: registry.write_prepared(f"q{place}", PreparedQuery(plan, (self._window,), {}))
            for place, (name, plan) in enumerate(self._plans.items())
        }
        self._evaluator = Evaluator(root)
        self._table = ""

    def _plan(self, question: Question) -> Plan:
        text = question.over_window()
        query = ContinuousQuery(text, read_query(text), Form.SELECT, R2S.RSTREAM, (self._window,))
        return compile_query(query, present=lambda _: False)

    def solutions(self, question: Question) -> list[bytes]:
        """A whole evaluation, from the mapped log to the answer's solutions, in a process that has had others.

        The window's table is made anew.
        """
        self._evaluator._tables._windows.drop_where(lambda _: True)
        self._table = ""
        ((_, answer),) = self._evaluator.evaluate([("q", self._prepared[question.name], [_INSTANT])])
        if answer.error is not None:
            raise RuntimeError(f"{question.name}: {answer.error}")
        return answer.solutions

    def rows(self, question: Question) -> list[tuple[Any, ...]]:
        """The rows of the plan's statement over the window's table, which is made once."""
        plan = self._plans[question.name]
        tables = self._evaluator._tables
        sql = statement(
            plan,
            [plan.parameters],
            instants=tables.instants((_INSTANT,)),
            windows=[self._made()],
            members_table=tables.members,
            alone=True,
        )
        return self._evaluator._connection.execute(sql).fetchall()

    def rows_by_hand(self, question: Question) -> list[tuple[Any, ...]]:
        return self._evaluator._connection.execute(question.sql.format(table=self._made())).fetchall()

    def _made(self) -> str:
        if not self._table:
            for prepared in self._prepared.values():  # and what functions they call
                self._evaluator._queries.read(prepared)
            self._table = self._evaluator._tables.window("s", self._window.window, (_INSTANT,))
        return self._table

    @contextmanager
    def spark(self, master: str) -> Iterator[Callable[[Question], list[bytes]]]:
        """A session as the product starts one, and what evaluates a question in it."""
        from spark_backend.spark.launch.session import start_session, stop_session
        from spark_backend.spark_sql.evaluator import SparkSqlEvaluator

        session = start_session(master=master, directory=Layout(self._root).spark)
        try:
            evaluator = SparkSqlEvaluator(session, self._root)

            def solutions(question: Question) -> list[bytes]:
                (answer,) = evaluator.answers(self._prepared[question.name], [_INSTANT], rows=self.triples)
                if answer.error is not None:
                    raise RuntimeError(f"{question.name} in Spark SQL: {answer.error}")
                return answer.solutions

            yield solutions
        finally:
            stop_session(session)

    def close(self) -> None:
        self._log.close()
