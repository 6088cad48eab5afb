"""Facts in SQL: from when until when each holds, of a table of occurrences (docs/model.md, "Facts").

The table ``occurrences`` has the columns ``s, p, o, k, n, time``: what is known at one instant. A solution of SINCE
ends at the least time after its own (``occurs``) at which TILL occurs compatibly; those that end at the same time are
one period, which began with the first of them. A fact holds while one of its solutions does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from protocol.language import algebra as a
from protocol.language.model import ContinuousQuery, FactDefinition
from protocol.windows.timeline import END
from spark_backend.compiler.algebra.facets import faceted_variables
from spark_backend.compiler.algebra.timestamps import is_time, with_all_times
from spark_backend.compiler.sql.dataset import ActiveGraph, QueryDataset, TripleSource
from spark_backend.compiler.sql.expressions.expressions import Prelude, PreludeFunction
from spark_backend.compiler.sql.patterns.patterns import compile_at_all_instants
from spark_backend.compiler.sql.relation import Names, Relation
from spark_backend.compiler.sql.tree.expressions import Column, quote
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.compiler.sql.tree.statements import Table, TableName
from spark_backend.compiler.sql.triple_columns import constant_conditions

OCCURRENCES = "occurrences"


@dataclass(frozen=True)
class FactsStatement:
    """A SELECT of ``s, p, o, begins, ends`` over OCCURRENCES: each period [begins, ends) of each fact.

    ``ends`` is END where it holds still. ``definition`` is the key of the definition.
    """

    definition: str
    sql: str
    functions: tuple[PreludeFunction, ...]


def compile_facts(definition: FactDefinition, query: ContinuousQuery) -> FactsStatement:
    """The statement of a definition, for a query that reads its facts."""
    prelude = Prelude(definition.base)
    times: list[a.Variable] = []
    since, till = (with_all_times(pattern, times) for pattern in (definition.since, definition.till))
    names = Names(faceted_variables(a.Query(a.Join(since, till), ())))
    dataset = _Occurrences(query, lambda _: False)
    begun, ended = (compile_at_all_instants(pattern, dataset, names, prelude) for pattern in (since, till))
    bound = _named(begun)
    shared = [variable for variable in bound if variable in ended.variables]
    certain = begun.certain & ended.certain
    columns = [names.column(variable) for variable in bound]
    keys = [(names.column(variable), variable in certain) for variable in shared]
    listed = "".join(f"{column}, " for column in columns)
    sql = (
        f"WITH begun AS ({_occurring(begun, columns, names)}), "
        f"ended AS ({_occurring(ended, [column for column, _ in keys], names)}), "
        f"reached AS ({_reached(columns, keys)}), "
        f"periods AS (SELECT {listed}min(occurs) AS begins, ends FROM reached GROUP BY {listed}ends), "
        f"facts AS ({' UNION ALL '.join(_instantiated(definition.template, names)) or _NONE}) "
    )
    # One triple that has all variables is of one solution, whose periods are apart.
    told_apart = len(definition.template) == 1 and set(bound) <= set(definition.template[0])
    sql += "SELECT s, p, o, begins, ends FROM facts" if told_apart else _RUNS
    return FactsStatement(definition.key, sql, tuple(prelude.functions.values()))


_NONE = "SELECT '' AS s, '' AS p, '' AS o, 0 AS begins, 0 AS ends WHERE FALSE"

# One fact may be of several solutions: it began with the first of those that hold without a gap. One that begins when
# the others end begins it anew, as a solution that TILL ends does which SINCE gives at the same time.
_BEFORE = "(PARTITION BY s, p, o ORDER BY begins, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
_SO_FAR = "(PARTITION BY s, p, o ORDER BY begins, ends ROWS UNBOUNDED PRECEDING)"
_RUNS = (
    f", firsts AS (SELECT *, CASE WHEN begins < max(ends) OVER {_BEFORE} THEN 0 ELSE 1 END AS first FROM facts), "
    f"runs AS (SELECT *, sum(first) OVER {_SO_FAR} AS run FROM firsts) "
    "SELECT s, p, o, min(begins) AS begins, max(ends) AS ends FROM runs GROUP BY s, p, o, run"
)


class _Occurrences(QueryDataset):
    """Where SINCE and TILL are matched."""

    def source(self, triple: a.TriplePattern, graph: ActiveGraph, alias: str) -> TripleSource:
        occurrences = Table(TableName(OCCURRENCES), alias)
        return TripleSource(occurrences, constant_conditions(triple, alias), {}, Column("time", alias))


def _named(relation: Relation) -> list[a.Variable]:
    """The variables of its solutions: blank nodes are none."""
    return [variable for variable in relation.variables if not variable.name.startswith("_:")]


def _occurring(relation: Relation, columns: Sequence[str], names: Names) -> str:
    """Solutions and when they occur, ``occurs``: at the last of what they are made of, in milliseconds."""
    times = [f"{names.columns(variable)[2]}::BIGINT" for variable in relation.variables if is_time(variable)]
    at = times[0] if len(times) == 1 else f"greatest({', '.join(times)})"
    return (
        f"SELECT {''.join(f'{column}, ' for column in columns)}{at} AS occurs FROM ({named(relation.select.written)}) q"
    )


def _reached(columns: Sequence[str], keys: Sequence[tuple[str, bool]]) -> str:
    """Each time at which SINCE occurs with when TILL occurs after it. ``keys``: shared columns, and if surely bound."""
    told = "".join(f"b.{column}, " for column in columns)
    if all(certain for _, certain in keys):
        same = "".join(f"b.{column} = e.{column} AND " for column, _ in keys)
        joined = f"begun b ASOF LEFT JOIN ended e ON {same}b.occurs < e.occurs"
        return f"SELECT {told}b.occurs, coalesce(e.occurs, {END}) AS ends FROM {joined}"
    compatible = " AND ".join(f"coalesce(b.{column} = e.{column}, TRUE)" for column, _ in keys)
    return (
        f"SELECT {told}b.occurs, coalesce(min(e.occurs), {END}) AS ends FROM begun b LEFT JOIN ended e "
        f"ON b.occurs < e.occurs AND {compatible} GROUP BY {told}b.occurs"
    )


def _instantiated(
    template: Sequence[tuple[a.Variable | a.Constant, a.Variable | a.Constant, a.Variable | a.Constant]], names: Names
) -> Iterator[str]:
    """For each triple of the template a SELECT of the triples that it becomes."""
    for triple in template:
        s, p, o = (quote(part.text) if isinstance(part, a.Constant) else names.column(part) for part in triple)
        conditions = (f"{s}[1] IN ('<', '_')", f"{s}[2] <> '<'", f"{p}[1] = '<'", f"{p}[2] <> '<'", f"{o} IS NOT NULL")
        yield f"SELECT {s} AS s, {p} AS p, {o} AS o, begins, ends FROM periods WHERE {' AND '.join(conditions)}"
