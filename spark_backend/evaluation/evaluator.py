"""Evaluates prepared queries at instants: answer = evaluate(query, t, log, static graphs).

The pure function of the design, in one process: a DuckDB connection over the logs' memory maps, kept
alive between batches. It runs in Spark's Python workers and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from protocol.language.model import Form
from protocol.time import Instant
from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.answer import Answer
from spark_backend.evaluation.prelude import install, install_function
from spark_backend.evaluation.rows import finished
from spark_backend.evaluation.solutions import BindingWriter, instantiate
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.layout import Layout
from spark_backend.registry import PreparedQuery, Registry

_ROWS_AT_ONCE = 400_000
"""Instants are evaluated together while their windows' contents have no more rows than this."""
_KEPT_QUERIES = 2000


class Evaluator:
    """Evaluates queries of one data directory. Not for use by several threads at once."""

    def __init__(self, root: Path, *, memory_limit: str = "2GB") -> None:
        layout = Layout(root)
        self._registry = Registry(layout.queries)
        self._connection = duckdb.connect(
            config={
                "threads": 1,
                "memory_limit": memory_limit,
                "temp_directory": str(layout.spark / "duckdb"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        self._connection.execute("SET ieee_floating_point_ops = true")
        install(self._connection)
        self._functions: set[str] = set()
        self._tables = EvaluationTables(self._connection, layout.streams, layout.statics)
        self._prepared: dict[str, PreparedQuery] = {}
        self._writer = BindingWriter()

    def refresh(self) -> None:
        """See what has been appended to the logs since."""
        self._tables.refresh()

    def evaluate(self, prepared: str, instants: Sequence[Instant]) -> Iterator[Answer]:
        """The answers of a prepared query (by its file's name) at ascending instants.

        What goes wrong in the evaluation is an Answer with an error, so that one query never takes down
        the batch of others.
        """
        try:
            query = self._query(prepared)
        except Exception as error:
            for instant in instants:
                yield Answer(instant, [], [], f"the query could not be prepared: {error}")
            return
        for group in self._groups(query, tuple(instants)):
            try:
                yield from self._together(query, group)
            except Exception as error:
                if len(group) == 1:
                    yield Answer(group[0], [], [], f"{type(error).__name__}: {error}")
                    continue
                for instant in group:  # one of them is at fault; the others have answers
                    try:
                        yield from self._together(query, (instant,))
                    except Exception as single:
                        yield Answer(instant, [], [], f"{type(single).__name__}: {single}")

    def _query(self, name: str) -> PreparedQuery:
        query = self._prepared.get(name)
        if query is None:
            if len(self._prepared) >= _KEPT_QUERIES:
                self._forget()
            query = self._registry.read_prepared(name)
            for function in query.plan.functions:
                if function.name not in self._functions:
                    install_function(self._connection, function, query.plan.base)
                    self._functions.add(function.name)
            self._prepared[name] = query
        for table, file in query.statics.items():
            self._tables.static(table, file)
        return query

    def _forget(self) -> None:
        """Let go of all prepared queries and their functions; those that go on are read again."""
        self._prepared.clear()
        for function in self._functions:
            self._connection.remove_function(function)
        self._functions.clear()

    def _groups(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> Iterator[tuple[Instant, ...]]:
        if len(instants) > 1 and self._rows(query, instants) > _ROWS_AT_ONCE:
            middle = len(instants) // 2
            yield from self._groups(query, instants[:middle])
            yield from self._groups(query, instants[middle:])
        else:
            yield instants

    def _rows(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> int:
        return sum(self._tables.rows_between(w.stream, w.window, instants) for w in query.windows)

    def _together(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> Iterator[Answer]:
        plan = query.plan
        sql = plan.sql.replace(plan.instants, self._tables.instants(instants))
        for placeholder, member in zip(plan.windows, query.windows, strict=True):
            sql = sql.replace(placeholder, self._tables.window(member.stream, member.window, instants))
        yield from self._answers(plan, instants, finished(plan, self._connection.execute(sql).fetchall()))

    def _answers(self, plan: Plan, instants: tuple[Instant, ...], rows: Sequence[tuple[Any, ...]]) -> Iterator[Answer]:
        names = [json.dumps(variable, ensure_ascii=False) for variable in plan.variables]
        answers = {instant: Answer(instant, [], []) for instant in instants}
        for row in rows:
            answer = answers[row[0]]
            if plan.form is Form.CONSTRUCT and plan.template is not None:
                # plan.instants is named after the query's text: the blank nodes' names follow from that.
                place = len(answer.solutions)
                answer.triples.append(
                    instantiate(
                        plan.template, plan.variables, row[1:], query=plan.instants, instant=answer.instant, place=place
                    )
                )
            answer.solutions.append(self._writer.binding(names, row[1:]))
        yield from answers.values()
