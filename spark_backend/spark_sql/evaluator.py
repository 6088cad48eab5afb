"""Evaluates a prepared query at instants as a Spark SQL job: the same answers as the tasks give in DuckDB."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.answers.answers_of_rows import answers_of_rows
from spark_backend.answers.sums import finish_sums
from spark_backend.evaluation.contents.service_solutions import service_rows
from spark_backend.layout import Layout
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.spark_sql.deferred import error_text
from spark_backend.spark_sql.functions import install, install_function
from spark_backend.spark_sql.run import ProgramRun
from spark_backend.spark_sql.translation.plans import plan_statement
from spark_backend.spark_sql.translation.program import Program, with_prefix
from spark_backend.spark_sql.translation.translation import translate_statement
from spark_backend.spark_sql.windows.frames import window_frame

_KEPT_PROGRAMS = 500
_FEW_ROWS = 100_000
"""Windows of so many triples are made once and kept, and what reads them is interpreted: to compile takes longer."""
_ROWS_OF_PARTITION = 500_000
"""A shuffle has a partition for so many triples: what one task sorts or groups stays in memory."""
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}

SETTINGS = {
    # What overflows or cannot be cast is an error, never another value.
    "spark.sql.ansi.enabled": "true",
    # Terms in the text are terms, whatever is in them; a number to sort or group by is that number.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    # A table that was kept brings along constraints on columns it no longer has, and a union of it cannot be planned.
    "spark.sql.constraintPropagation.enabled": "false",
    # It breaks the plan of rows that are numbered in a union of what is matched in unions.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
}


class SparkSqlEvaluator:
    """Evaluates queries of one data directory (``root``). Not for use by several threads at once.

    ``tasks``: it runs so many at once at the most, where others need the rest of the machine. ``functions`` are the
    application's own (``PythonFunctions.to_json``).
    """

    def __init__(self, session: SparkSession, root: Path, *, tasks: int | None = None, functions: str = "") -> None:
        self._tasks = tasks
        self._own_functions = functions
        self._root, self._layout = root, Layout(root)
        self._registry = Registry(self._layout.queries)
        # A session of its own: its settings, functions and views are no matter of the other jobs'.
        self.session = session.newSession()
        for name, value in SETTINGS.items():
            self.session.conf.set(name, value)
        install(self.session)
        self._functions: set[str] = set()
        self._programs: dict[str, Program] = {}
        self._runs = itertools.count()

    def answers(self, prepared: str, instants: Sequence[Instant], rows: int = 0) -> list[Answer]:
        """The answers of the query in this file at ascending instants; what goes wrong in one is its error.

        ``rows``: how many triples the windows hold there, about; it decides how, and never what.
        """
        few = rows <= _FEW_ROWS
        # The cores of a cluster come and go.
        partitions = self._tasks or max(self.session.sparkContext.defaultParallelism, rows // _ROWS_OF_PARTITION)
        settings = {**(_INTERPRETED if few else _COMPILED), "spark.sql.shuffle.partitions": str(partitions)}
        for name, value in settings.items():
            self.session.conf.set(name, value)
        try:
            query = self._registry.read_prepared(prepared)
        except Exception as error:
            return [Answer(instant, error=f"the query could not be prepared: {error}") for instant in instants]
        return self._evaluate(query, tuple(instants), few)

    def _evaluate(self, query: PreparedQuery, instants: tuple[Instant, ...], few: bool) -> list[Answer]:
        try:
            return self._together(query, instants, few)
        except Exception as error:
            if len(instants) == 1:
                return [Answer(instants[0], error=error_text(error))]
            return [answer for instant in instants for answer in self._evaluate(query, (instant,), few)]

    def _together(self, query: PreparedQuery, instants: tuple[Instant, ...], few: bool) -> list[Answer]:
        plan = query.plan
        for function in plan.functions:
            if function.name not in self._functions:
                install_function(self.session, function, plan.base, self._own_functions)
                self._functions.add(function.name)
        prefix = f"run{next(self._runs)}_"
        program, tables = self._program(query, prefix)
        services = [f"{prefix}service_{number}" for number in range(len(plan.services))]
        run = ProgramRun(self.session)
        try:
            run.view(tables[0], self.session.createDataFrame(pa.table({"instant": pa.array(instants, pa.int64())})))
            for name, window in zip(tables[1:], query.windows, strict=True):
                make = partial(
                    window_frame, self.session, self._root, window.stream, window.window, instants, tasks=self._tasks
                )
                whole = run.compute(make()) if few else make()
                run.view(name, whole)
                for part in program.slices:
                    if part.window == name:
                        terms = {column: [term] for column, term in part.terms}
                        run.view(part.name, whole if few else make(terms))
            for number, (name, service) in enumerate(zip(services, plan.services, strict=True)):
                gave = service_rows(self._layout.services, query.records, number, service, instants)
                run.view(name, self.session.createDataFrame(_with_signed_kinds(gave)))
            for name, file in query.statics.items():
                run.view(name, self._static(file))
            rows = run.rows(program)
        finally:
            run.close()
        (answers,) = answers_of_rows([plan], instants, finish_sums(plan, rows))
        return answers

    def _program(self, query: PreparedQuery, prefix: str) -> tuple[Program, list[str]]:
        """The query's program and the names of the tables of instants and windows, all beginning with a prefix."""
        plan = query.plan
        own = f"run_{plan.mark}_"
        tables = ["instants", *(f"window_{place}" for place in range(len(query.windows)))]
        sql = plan_statement(plan, len(query.windows), own)
        if sql not in self._programs:
            if len(self._programs) >= _KEPT_PROGRAMS:
                self._programs.clear()
            self._programs[sql] = translate_statement(sql, own)
        return with_prefix(self._programs[sql], prefix), [prefix + table for table in tables]

    def _static(self, file: str) -> DataFrame:
        with pa.memory_map(str(self._layout.statics / file)) as source:
            rows = pa.ipc.open_file(source).read_all()
            number = pc.if_else(pc.is_nan(rows["n"]), None, rows["n"])
            rows = rows.set_column(rows.schema.get_field_index("n"), "n", number)
            return self.session.createDataFrame(_with_signed_kinds(rows))


def _with_signed_kinds(rows: pa.Table) -> pa.Table:
    """The table with a type that Spark has in the columns of kinds."""
    types = [pa.int16() if one.type == pa.uint8() else one.type for one in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.column_names, types, strict=True))))
