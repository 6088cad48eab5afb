"""Evaluates prepared queries at instants: answer = evaluate(query, t, log, static graphs).

The pure function of the design, for many queries and instants at once, in one process: a DuckDB
connection over the logs' memory maps, kept alive between batches. It runs in Spark's Python workers and
nowhere else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from protocol.language.model import Form
from protocol.time import Instant
from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.answer import Answer
from spark_backend.evaluation.prelude import install, install_function
from spark_backend.evaluation.rows import finished
from spark_backend.evaluation.solutions import BindingWriter, descriptions, instantiate
from spark_backend.evaluation.statement import statement
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.layout import Layout
from spark_backend.registry import PreparedQuery, Registry

_ROWS_AT_ONCE = 400_000
"""Instants are evaluated together while their windows' contents have no more rows than this."""
_ROWS_OF_ALL_AT_ONCE = 16_000_000
"""The same rows, times the queries that are evaluated together."""
_KEPT_QUERIES = 2000

Due = tuple[str, str, Sequence[Instant]]
"""A query's due evaluations: its key, the file of its prepared form, ascending instants."""


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

    def evaluate(self, due: Iterable[Due]) -> Iterator[tuple[str, Answer]]:
        """The answers that are due, (key, answer), those of a query in order of their instants.

        Queries of the same shape over the same windows are evaluated together at the instants they share. What
        goes wrong in an evaluation is an Answer with an error, so that one query never takes down the others.
        """
        together: dict[tuple[object, ...], list[_Member]] = {}
        for key, prepared, instants in due:
            try:
                query = self._query(prepared)
            except Exception as error:
                for instant in instants:
                    yield key, Answer(instant, [], [], f"the query could not be prepared: {error}")
                continue
            alike = (query.plan.shape, query.read_windows, tuple(query.statics.items()))
            together.setdefault(alike, []).append(_Member(key, query, tuple(instants)))
        for members in together.values():
            for some, at in _at_the_same_instants(members):
                for group in self._groups(some, at):
                    yield from self._evaluated(some, group)

    def _evaluated(self, members: Sequence[_Member], instants: tuple[Instant, ...]) -> Iterator[tuple[str, Answer]]:
        try:
            answers = self._together(members, instants)
        except Exception as error:
            if len(members) > 1:  # one of them is at fault; the others have answers
                for member in members:
                    yield from self._evaluated([member], instants)
            elif len(instants) > 1:
                for instant in instants:
                    yield from self._evaluated(members, (instant,))
            else:
                yield members[0].key, Answer(instants[0], [], [], f"{type(error).__name__}: {error}")
        else:
            yield from answers

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
        return query

    def _forget(self) -> None:
        """Let go of all prepared queries and their functions; those that go on are read again."""
        self._prepared.clear()
        for function in self._functions:
            self._connection.remove_function(function)
        self._functions.clear()

    def _groups(self, members: Sequence[_Member], instants: tuple[Instant, ...]) -> Iterator[tuple[Instant, ...]]:
        if len(instants) > 1:
            rows = self._rows(members[0].query, instants)
            if rows > _ROWS_AT_ONCE or rows * len(members) > _ROWS_OF_ALL_AT_ONCE:
                middle = len(instants) // 2
                yield from self._groups(members, instants[:middle])
                yield from self._groups(members, instants[middle:])
                return
        yield instants

    def _rows(self, query: PreparedQuery, instants: tuple[Instant, ...]) -> int:
        return sum(self._tables.rows_between(w.stream, w.window, instants) for w in query.windows)

    def _together(self, members: Sequence[_Member], instants: tuple[Instant, ...]) -> list[tuple[str, Answer]]:
        query, tables = members[0].query, self._tables
        for table, file in query.statics.items():
            tables.static(table, file)
        sql = statement(
            query.plan,
            [member.query.plan.parameters for member in members],
            instants=tables.instants(instants),
            windows=[tables.window(window.stream, window.window, instants) for window in query.windows],
            members_table=tables.members,
        )
        return self._answers(members, instants, finished(query.plan, self._connection.execute(sql).fetchall()))

    def _answers(
        self, members: Sequence[_Member], instants: tuple[Instant, ...], rows: Sequence[tuple[Any, ...]]
    ) -> list[tuple[str, Answer]]:
        if members[0].query.plan.form is Form.DESCRIBE:
            return _described(members, instants, rows)
        # The rows of an answer are neighbours.
        sizes = Counter((row[0], row[1]) for row in rows)
        columns = list(zip(*rows, strict=True))[2:] if rows else []
        names = [json.dumps(variable, ensure_ascii=False) for variable in members[0].query.plan.variables]
        solutions = self._writer.bindings(names, columns, len(rows)) if rows else []
        answers, first = {}, 0
        for (instant, member), size in sizes.items():
            answers[instant, member] = Answer(
                instant,
                solutions[first : first + size],
                _triples(members[member].query.plan, instant, rows[first : first + size]),
            )
            first += size
        return [
            (member.key, answers.get((instant, place)) or Answer(instant, [], []))
            for place, member in enumerate(members)
            for instant in instants
        ]


def _described(
    members: Sequence[_Member], instants: tuple[Instant, ...], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[str, Answer]]:
    """Answers whose solutions are resources: several rows, a triple each, are one."""
    of: dict[tuple[Instant, int], list[tuple[Any, ...]]] = {}
    for instant, member, *triple in rows:
        of.setdefault((instant, member), []).append(tuple(triple))
    return [
        (member.key, Answer(instant, *descriptions(of.get((instant, place), []))))
        for place, member in enumerate(members)
        for instant in instants
    ]


def _triples(plan: Plan, instant: Instant, rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """What a CONSTRUCT's template makes of each solution."""
    if plan.form is not Form.CONSTRUCT or plan.template is None:
        return []
    return [
        instantiate(plan.template, plan.variables, row[2:], query=plan.identity, instant=instant, place=place)
        for place, row in enumerate(rows)
    ]


@dataclass(frozen=True)
class _Member:
    """A query that is due, of those of its shape."""

    key: str
    query: PreparedQuery
    instants: tuple[Instant, ...]


def _at_the_same_instants(members: Sequence[_Member]) -> list[tuple[list[_Member], tuple[Instant, ...]]]:
    """The members that are due at the same instants, and these, ascending."""
    due: dict[Instant, list[int]] = {}
    for place, member in enumerate(members):
        for instant in member.instants:
            due.setdefault(instant, []).append(place)
    shared: dict[tuple[int, ...], list[Instant]] = {}
    for instant in sorted(due):
        shared.setdefault(tuple(due[instant]), []).append(instant)
    return [([members[place] for place in places], tuple(at)) for places, at in shared.items()]
