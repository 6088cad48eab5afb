"""Evaluates prepared queries at instants: answer = evaluate(query, t, log, static graphs).

The pure function of the design, for many queries and instants at once, in one process: a DuckDB
connection over the logs' memory maps, kept alive between batches. It runs in processes of its own
(``process``), which belong to a pool beside Spark's Python workers (``pool``).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb

from protocol.time import Instant
from protocol.windows.instants import allowed_by_clock, deciding
from protocol.windows.spec import (
    DEFAULT_REPORT,
    FactsWindow,
    SessionWindow,
    Strategy,
    StreamWindow,
    WindowSpec,
    decided_by_content,
)
from spark_backend.answers.answer import Answer
from spark_backend.answers.answers_of_rows import answers_of_rows
from spark_backend.answers.sums import finish_sums
from spark_backend.budget import Budget, Lane
from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.contents.closures import ClosureTables
from spark_backend.evaluation.contents.service_solutions import ServiceTables
from spark_backend.evaluation.cost import Cost
from spark_backend.evaluation.database import connect, found_within, is_worn, operators_of, rows_of
from spark_backend.evaluation.narrowing import Narrowed, ReadTables, narrowed
from spark_backend.evaluation.planner import DueQuery, Planner
from spark_backend.evaluation.prepared_queries import PreparedQueries
from spark_backend.evaluation.previous_instants import PreviousInstants
from spark_backend.evaluation.statement import (
    ParameterTerms,
    members_select,
    reads_instants,
    shared_narrowing,
    statement,
)
from spark_backend.evaluation.step import (
    Due,
    EvaluationError,
    MeasuredStatement,
    OutOfMemory,
    Planned,
    Step,
    Stopped,
    evaluate,
)
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.layout import Layout
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.site import BY_SIZE, SiteChoice

_SECONDS, _ROWS_A_SECOND = 0.02, 100_000
"""Joining what is little takes a tenth of these seconds an instant, and joins ten times as many rows of windows."""
_UNBOUNDED = Budget(seconds=math.inf)
_Found = TypeVar("_Found")


class Evaluator:
    """Evaluates queries of one data directory. Not for use by several threads at once.

    ``sites`` and ``has_translation`` say what is for Spark SQL (``Planner``). Of the ``budget``, it keeps to the memory
    and the size of answers; the time is for whoever can end this process. ``spill`` is where DuckDB puts what does not
    fit into memory. ``functions`` are the application's own (``PythonFunctions.to_json``). ``clock`` says what was
    spent.
    """

    def __init__(
        self,
        root: Path,
        *,
        sites: SiteChoice = BY_SIZE,
        has_translation: Callable[[PreparedQuery], bool] = lambda _: False,
        budget: Budget = _UNBOUNDED,
        spill: Path | None = None,
        functions: str = "",
        clock: Callable[[], Cost] = Cost.now,
    ) -> None:
        layout = Layout(root)
        self._budget = budget
        self.at_once = math.inf
        self._spill = spill or layout.spill("here")
        self._connection = connect(budget.memory, self._spill)
        self._queries = PreparedQueries(Registry(layout.queries), functions, self._connection)
        self._tables = EvaluationTables(self._connection, layout.streams, layout.statics, budget.seconds)
        self._planner = Planner(self._tables, sites, has_translation)
        self._services = ServiceTables(self._connection, layout.services)
        self._closures = ClosureTables(self._connection)
        self._layout = layout
        self._previous = PreviousInstants(layout.streams)
        self._clock = clock
        self._prepared_for = Cost()
        """What the tables cost that were made for the step at hand; of those that others read too, its share."""
        self._of_others = Cost()
        self._reading: Counter[tuple[str, WindowSpec]] = Counter()
        """How many of the queries that are due read what is in a window of a log."""

    def refresh(self) -> None:
        """See what has been appended to the logs since."""
        self._tables.refresh()
        self._previous.refresh()
        if is_worn(self._connection, self._tables.lasting_rows):
            self._renew()

    def evaluate(self, due: Iterable[Due]) -> Iterator[tuple[str, Answer]]:
        """The answers that are due, (key, answer), those of a query in order of their instants.

        What goes wrong in an evaluation is an Answer with an error, so that one query never takes down the others.
        """
        return evaluate(self, due, Lane.OWN)

    def plan(self, due: Sequence[Due]) -> Planned:
        """Queries of the same shape over the same windows are one step at the instants they share."""
        members, answers = list[DueQuery](), list[tuple[str, Answer]]()
        for key, prepared, instants in due:
            try:
                query = self._queries.read(prepared)
            except Exception as error:
                said = f"the query could not be prepared: {error}"
                answers.extend((key, Answer(instant, error=said)) for instant in instants)
                continue
            members.append(DueQuery(key, prepared, query, tuple(instants)))
        self._reading = Counter(read for member in members for read in set(map(_content, member.query.windows)))
        planned = self._planner.plan(members)
        return Planned(planned.steps, answers + planned.answers)

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        """The answers of a step, by one statement. Raises EvaluationError."""
        self.prepare(step)
        return self.answers(step)

    def prepare(self, step: Step) -> None:
        """Make the tables that a step reads, which others may read as well. Raises EvaluationError."""
        began, self._of_others = self._clock(), Cost()
        with self._failures():
            self._tables.make_room()
            self._services.make_room()
            self._closures.make_room()
            self._shared_tables([self._queries.read(prepared) for _, prepared in step.members], step.instants)
        self._prepared_for = self._clock().less(began).less(self._of_others)

    def answers(self, step: Step) -> list[tuple[str, Answer]]:
        """The answers of a step that was prepared. Raises EvaluationError, Stopped where it is too much."""
        with self._failures():
            answers = self._together(
                [(key, self._queries.read(prepared)) for key, prepared in step.members], step.instants
            )
        size = sum(answer.size for _, answer in answers)
        if size > self._budget.answer:
            raise Stopped(f"the answer has {size} bytes, which is more than {self._budget.answer}")
        return answers

    def operators(self, due: Due) -> MeasuredStatement:
        """Make one evaluation to see how it is made. Raises EvaluationError, also where it is for Spark SQL."""
        planned = self.plan([due])
        for _, answer in planned.answers:
            raise EvaluationError(answer.error or "it is evaluated by Spark SQL")
        (step,) = planned.steps
        began = time.perf_counter()
        self.prepare(step)
        seconds = time.perf_counter() - began
        queries = [self._queries.read(prepared) for _, prepared in step.members]
        with self._failures():
            shared = self._shared_tables(queries, step.instants)
            found = self._statement(queries, shared, step.instants, partial(operators_of, self._connection))
        return MeasuredStatement(step.instants[0], seconds, found)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Whatever is raised becomes an EvaluationError."""
        try:
            yield
        except Exception as error:
            self._connection.abort()  # a result that was not read to its end is in nobody's way
            if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
                raise OutOfMemory(f"it needs more memory than its budget of {self._budget.memory} bytes") from error
            raise EvaluationError(f"{type(error).__name__}: {error}") from error

    def _renew(self) -> None:
        """Go on with a new database; what was read of the logs stays, and what functions know that were used lately."""
        self._connection.close()
        self._connection = connect(self._budget.memory, self._spill)
        self._queries.move_to(self._connection)
        self._tables.move_to(self._connection)
        self._services = ServiceTables(self._connection, self._layout.services)
        self._closures = ClosureTables(self._connection)

    def _shared_tables(self, queries: Sequence[PreparedQuery], instants: tuple[Instant, ...]) -> _SharedTables:
        """What queries of one shape read together."""
        tables, query = self._tables, queries[0]
        for table, file in query.statics.items():
            tables.static(table, file)
        static_joins = [tables.static_join(select, query.statics) for select in query.plan.static_joins]
        services = [
            self._services.table(query.records, number, service, instants)
            for number, service in enumerate(query.plan.services)
        ]
        intervals = self._intervals(queries, instants)
        if intervals is not None:
            return _SharedTables(static_joins, [], intervals, services)
        timed = query.plan.timed
        facts = dict(query.plan.facts)
        windows = []
        for member in query.windows:
            began = self._clock()
            windows.append(
                tables.facts(member.stream, member.window, facts[member.window.definition], instants)
                if isinstance(member.window, FactsWindow)
                else tables.occurrences(member.stream, member.window, instants, self._before(query, member, instants))
                if member.occurrences
                else tables.window(
                    member.stream, member.window, instants, timed=timed, condition=query.condition(member.window)
                )
            )
            reading = max(self._reading[_content(member)], len(queries))
            of_others = self._clock().less(began).share(1 - len(queries) / reading)
            self._of_others = self._of_others.and_also(of_others)
        closures = [
            self._closures.table(
                content.regime,
                [(table, query.statics[table]) for table in content.statics],
                [windows[number] for number in content.windows],
                instants,
            )
            for content in query.plan.closed
        ]
        return _SharedTables(static_joins, windows, None, services, closures)

    def _intervals(self, queries: Sequence[PreparedQuery], instants: tuple[Instant, ...]) -> list[str] | None:
        """What plans match once for all instants, at these; None where they are to read windows' contents."""
        query = queries[0]
        if query.plan.intervals is None:
            return None
        parameters = [member.plan.parameters for member in queries]
        found = []
        for part in query.plan.intervals.parts:
            member = query.windows[part.window]
            narrowing = shared_narrowing(part, parameters)
            select = self._tables.intervals(
                member.stream, member.window, part, narrowing, instants, query.plan.mark, query.statics
            )
            if select is None:
                return None
            found.append(select)
        return found

    def _before(
        self, query: PreparedQuery, member: StreamWindow, instants: Sequence[Instant]
    ) -> Sequence[Instant | None]:
        """The instants before these, where it is asked for what is new."""
        return self._previous.before(member, query.start, instants) if query.plan.new_matches else ()

    def _together(
        self, members: Sequence[tuple[str, PreparedQuery]], instants: tuple[Instant, ...]
    ) -> list[tuple[str, Answer]]:
        began = self._clock()
        query = members[0][1]
        queries = [member for _, member in members]
        shared = self._shared_tables(queries, instants)
        rows = finish_sums(query.plan, self._statement(queries, shared, instants, partial(rows_of, self._connection)))
        answers = answers_of_rows([member.plan for _, member in members], instants, rows)
        read_triples = {instant: self._read(query.windows, shared, instant) for instant in instants}
        spent, self._prepared_for = self._clock().less(began).and_also(self._prepared_for), Cost()
        share = spent.share(1 / (len(members) * len(instants)))
        return [
            (
                key,
                replace(
                    answer,
                    read=read_triples[answer.instant],
                    seconds=share.seconds,
                    processor=share.processor,
                    quiet=self._is_quiet(member, shared.windows, answer.instant),
                ),
            )
            for (key, member), given in zip(members, answers, strict=True)
            for answer in given
        ]

    def _statement(
        self,
        queries: Sequence[PreparedQuery],
        shared: _SharedTables,
        instants: tuple[Instant, ...],
        find: Callable[[str], _Found],
    ) -> _Found:
        """What is found by the statement of queries of one shape."""
        plan, parameters = queries[0].plan, [query.plan.parameters for query in queries]
        over = self._over_contents if shared.intervals is None else self._over_intervals
        return over(plan, parameters, shared, instants, find)

    def _over_contents(
        self,
        plan: Plan,
        parameters: Sequence[ParameterTerms],
        shared: _SharedTables,
        instants: tuple[Instant, ...],
        find: Callable[[str], _Found],
    ) -> _Found:
        """What is found by a plan's statement over windows' contents.

        Where nothing was narrowed because there is little, and joining it takes long for all that, it is stopped: then
        the little is many times itself somewhere in between, and what narrows it is looked for before it is joined, the
        next times at once. A Python function may take as long for another reason, and is not called twice.
        """
        tables = self._tables
        read = ReadTables(tables.instants(instants), shared.windows, shared.static_joins)
        if len(parameters) > 1:
            tables.members(members_select(parameters))  # which is kept: made before what is given up

        def found(left: Narrowed | None) -> _Found:
            sql = statement(
                plan,
                parameters,
                instants=read.instants,
                windows=shared.windows,
                new=[tables.new_occurrences(shared.windows[0])] if plan.new_matches else (),
                members_table=tables.members,
                static_joins=shared.static_joins,
                sources=None if left is None else left.tables,
                order=None if left is None else left.order,
                keyed=() if left is None else left.keyed,
                alone=len(parameters) == len(instants) == 1,
                services=shared.services,
                closures=shared.closures,
            )
            # Its columns, and no rows: nothing is read for that.
            return find(sql if left is None or not left.none else f"SELECT * FROM ({sql}) LIMIT 0")

        narrowing = partial(narrowed, self._connection, plan, parameters, read, tables.rows, len(instants))
        with narrowing(worth=0 if plan.mark in self._queries.stopped else None) as left:
            if left is not None or not any(source.is_narrowed for source in plan.sources):
                return found(left)
        rows = sum(map(tables.rows_of_window, shared.windows))
        seconds = len(parameters) * (_SECONDS * len(instants) + rows / _ROWS_A_SECOND)
        soon = found_within(self._connection, seconds, lambda: found(None))
        if soon is not None:
            return soon
        self._queries.stopped.add(plan.mark)
        with narrowing(worth=0) as left:
            return found(left)

    def _over_intervals(
        self,
        plan: Plan,
        parameters: Sequence[ParameterTerms],
        shared: _SharedTables,
        instants: tuple[Instant, ...],
        find: Callable[[str], _Found],
    ) -> _Found:
        """What is found by a plan's statement over what is matched once for all instants."""
        tables = self._tables
        sql = statement(
            plan,
            parameters,
            instants=tables.instants(instants) if reads_instants(plan) else "",
            windows=[],
            members_table=tables.members,
            static_joins=shared.static_joins,
            alone=len(parameters) == len(instants) == 1,
            intervals=shared.intervals,
            services=shared.services,
        )
        return find(sql)

    def _read(self, windows: Sequence[StreamWindow], shared: _SharedTables, instant: Instant) -> int:
        """How many triples the windows hold at an instant; about how many where there is no table of them."""
        return sum(
            self._tables.rows_between(member.stream, member.window, (instant,))
            if shared.intervals is not None or member.occurrences
            else self._tables.size(shared.windows[place], instant)
            for place, member in enumerate(windows)
        )

    def _is_quiet(self, query: PreparedQuery, tables: Sequence[str], instant: Instant) -> bool:
        """Whether nothing that is decided by content has the instant in ET; ``tables`` are those of the windows."""
        if not tables:
            return False
        reporting = deciding(query.windows)
        reports = [
            self._reports(query, member, table, instant)
            for member, table in zip(query.windows, tables, strict=True)
            if member in reporting and decided_by_content(member.window)
        ]
        return bool(reports) and not any(reports)

    def _reports(self, query: PreparedQuery, member: StreamWindow, table: str, instant: Instant) -> bool:
        """Whether a window that is decided by content reports at the instant; ``table`` has what it holds."""
        window = member.window
        if isinstance(window, FactsWindow) and window.period is not None:
            last = self._tables.last_change(member.stream, window, dict(query.plan.facts)[window.definition])
            return instant - window.period <= last and allowed_by_clock(window, instant)
        if isinstance(window, SessionWindow):
            return self._tables.size(table, instant) > 0 and allowed_by_clock(window, instant)
        strategies = (window.report or DEFAULT_REPORT).strategies
        if Strategy.ON_CONTENT_CHANGE in strategies and instant not in self._tables.changes(table):
            return False
        if Strategy.NON_EMPTY_CONTENT in strategies and not self._tables.size(table, instant):
            return False
        return allowed_by_clock(window, instant)


@dataclass(frozen=True)
class _SharedTables:
    """What a statement reads: tables of a query's static joins, of what services gave, and of its windows' contents or,
    in place of them, of what its plan matches once for all instants; and of what follows from windows' contents.
    """

    static_joins: list[str]
    windows: list[str]
    intervals: list[str] | None
    services: list[str]
    closures: Sequence[str] = ()


def _content(member: StreamWindow) -> tuple[str, WindowSpec]:
    """What a window reads: when it reports is no matter of its content."""
    return member.stream, replace(member.window, report=None)
