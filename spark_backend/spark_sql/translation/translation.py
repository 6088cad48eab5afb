"""A plan's statement, written for DuckDB, as a program of Spark SQL (``program``).

One tree, two dialects: the statement is read by sqlglot, and what the two engines mean differently is rewritten in it.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from protocol.errors import UnsupportedFeature
from spark_backend.compiler.deep_stack import with_deep_stack
from spark_backend.spark_sql.translation.constructs import is_call, is_known
from spark_backend.spark_sql.translation.dialect import SparkSite
from spark_backend.spark_sql.translation.expressions import no_translation, translate_expressions
from spark_backend.spark_sql.translation.outer_joins import without_calls_in_on
from spark_backend.spark_sql.translation.program import Fixpoint, Program, ProgramStep, Table
from spark_backend.spark_sql.translation.sets import as_set, is_facet, with_sets
from spark_backend.spark_sql.translation.slices import take_slices
from spark_backend.spark_sql.translation.steps import LiftedTable, lift_tables, numbers_rows, readings, rename_tables


def translate_statement(statement: str, prefix: str) -> Program:
    """The program of a filled-in statement (``evaluation.statement``); its tables' names begin with ``prefix``.

    Raises UnsupportedFeature, naming it, for what has no translation.
    """
    return with_deep_stack(lambda: _translation(statement, prefix))


def _translation(statement: str, prefix: str) -> Program:
    try:
        tree: exp.Expr = sqlglot.parse_one(statement, read="duckdb")
    except SqlglotError as error:
        raise UnsupportedFeature(
            f"sqlglot, which translates to Spark SQL, does not read the statement: {error}"
        ) from error
    for node in tree.walk():
        if not is_known(node):
            raise no_translation(node)
    without_calls_in_on(tree, is_call)
    tables = lift_tables(tree)
    select = _with_order_outside(tree)
    names = {table.name: f"{prefix}{table.name}" for table in tables}
    followed = [table.longer for table in tables if table.longer is not None]
    slices = take_slices([select, *(table.query for table in tables), *followed], f"{prefix}window_")
    read = readings([select, *(table.query for table in tables), *followed])
    looping = readings(list(followed))
    steps: list[ProgramStep] = []
    for table in tables:
        kept = numbers_rows(table.query) or read[table.name] > 1 or looping[table.name] > 0
        steps.append(_table(table, names, kept) if table.longer is None else _fixpoint(table, table.longer, names))
    return Program(tuple(steps), _write(select, names), prefix, slices)


def _table(table: LiftedTable, names: dict[str, str], kept: bool) -> Table:
    return Table(names[table.name], _write(table.query, names), kept)


def _fixpoint(table: LiftedTable, longer: exp.Query, names: dict[str, str]) -> Fixpoint:
    name, latest = names[table.name], f"{names[table.name]}_latest"
    identity = [column for column in table.columns if not is_facet(column)]
    same = " AND ".join(f"d.{column} <=> known.{column}" for column in identity)
    found = _write(as_set(_with_names(longer, table.columns)), {**names, table.name: latest})
    return Fixpoint(
        name,
        latest,
        _write(as_set(_with_names(table.query, table.columns)), names),
        f"SELECT d.* FROM ({found}) AS d LEFT ANTI JOIN {name} AS known ON {same}",
    )


def _with_names(query: exp.Query, columns: tuple[str, ...]) -> exp.Query:
    """A SELECT whose columns have these names."""
    if not isinstance(query, exp.Select) or len(query.selects) != len(columns):
        raise no_translation(query)
    listed = [column.unalias().as_(name) for column, name in zip(query.selects, columns, strict=True)]
    return query.select(*listed, append=False)


def _with_order_outside(tree: exp.Expr) -> exp.Query:
    """The SELECT with its ORDER BY over columns of it: each has a name of its own, and so has each sort key."""
    if not isinstance(tree, exp.Select):
        raise no_translation(tree)
    order = tree.args.get("order")
    columns = [column.unalias() for column in tree.selects]
    listed = [exp.column(name) for name in tree.named_selects]
    names = [f"c{place}" for place in range(len(columns))]
    tree.set("order", None)
    if order is None:
        return tree.select(*(column.as_(name) for column, name in zip(columns, names, strict=True)), append=False)
    sorting = []
    for key in order.expressions:
        if key.this in listed:
            place = listed.index(key.this)
        elif key.this in columns:
            place = columns.index(key.this)
        elif tree.args.get("distinct") is not None:
            raise no_translation(key)
        else:
            place = len(columns)
            columns.append(key.this)
        named = exp.column(f"c{place}")
        sorting.append(exp.Ordered(this=named, desc=key.args.get("desc"), nulls_first=key.args.get("nulls_first")))
    inner = tree.select(*(column.as_(f"c{place}") for place, column in enumerate(columns)), append=False)
    return exp.select(*names).from_(inner.subquery("z")).order_by(*sorting)


def _write(query: exp.Expr, names: dict[str, str]) -> str:
    query = query.copy()
    rename_tables(query, names)
    return translate_expressions(with_sets(query)).sql(dialect=SparkSite)
