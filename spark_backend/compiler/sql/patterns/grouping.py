"""Group and its aggregates as relations (SPARQL 1.1 Query section 18.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.expressions.aggregates import (
    Argument,
    CompiledAggregate,
    compile_aggregate,
    count_solutions,
)
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude, compute, selects_a_term
from spark_backend.compiler.sql.relation import Names, Relation, unbound_column
from spark_backend.compiler.sql.values import Value

_ANY = a.Variable("")
_RAW = re.compile(r"\ba\d+_[a-z]\b")
"""A raw column's name (see ``CompiledAggregate``), by the prefix given to it here."""


def group(
    pattern: a.Group,
    relation: Relation,
    unit: Relation,
    names: Names,
    prelude: Prelude,
    partial: frozenset[a.Variable],
) -> Relation:
    """The groups of a relation. ``unit`` has one empty solution for each key; see ``CompiledAggregate.sum_parts``."""
    keys = tuple(dict.fromkeys(pattern.keys or ()))
    scope_keys = tuple(unit.columns)
    certain = relation.certain
    relation, operands = _arguments(pattern.aggregates, relation, names, prelude, certain)
    by = [*scope_keys, *(column for key in keys if key in relation.variables for column in names.columns(key))]
    relation, flags = _flag(pattern.aggregates, relation, operands, by, names)
    if flags:
        relation, operands = _arguments(pattern.aggregates, relation, names, prelude, certain)
    known: dict[a.Aggregate, CompiledAggregate] = {}
    compiled = []
    for number, (aggregate, operand) in enumerate(zip(pattern.aggregates, operands, strict=True)):
        same = replace(aggregate, result=_ANY)  # what the passes make alike
        if same not in known:
            once = relation.columns.get(flags.get(number, ""))
            known[same] = _compile(aggregate, operand, once, names.fresh("a"), relation, names)
        compiled.append(known[same])
    raw = {name: sql for one in compiled for name, sql in one.raw.items()}
    results = _results(pattern, compiled, names, partial)
    keys_bound = {column: relation.columns[column] for column in by}
    unbound = {
        column: unbound_column(column) for key in keys if key not in relation.variables for column in names.columns(key)
    }
    grouped = replace(
        relation,
        columns={},
        variables=(),
        certain=frozenset(),
        tail=f" GROUP BY {', '.join(keys_bound.values())}",
        closed=True,
    )
    if pattern.keys is not None and all(" ".join(results.values()).count(name) == 1 for name in raw):
        columns = {name: _RAW.sub(lambda match: raw[match[0]], sql) for name, sql in results.items()}
        found = replace(grouped, columns={**keys_bound, **unbound, **columns})
    else:
        grouped = replace(grouped, columns={**keys_bound, **raw}).within(names.fresh("q"))
        above = {column: grouped.columns[column] for column in by}
        found = replace(grouped, columns={**above, **unbound, **results})
        if pattern.keys is None:  # the implicit group is there even when there is nothing in it (18.2.4.1)
            on = " AND ".join(f"{unit.columns[key]} = {grouped.columns[key]}" for key in scope_keys)
            table = f"{unit.tables[0]} LEFT JOIN {grouped.tables[0]} ON {on}"
            found = replace(unit, columns={**unit.columns, **results}, tables=(table,), optional=True)
    counts = frozenset(one.result for one in pattern.aggregates if one.function == "COUNT" and one.argument is None)
    return replace(
        found,
        variables=(*keys, *(aggregate.result for aggregate in pattern.aggregates)),
        certain=counts | (frozenset(keys) & certain),
        parts=partial,
    )


def _results(
    pattern: a.Group, compiled: Sequence[CompiledAggregate], names: Names, partial: frozenset[a.Variable]
) -> dict[str, str]:
    """The columns of the aggregates' results, over the raw ones."""
    columns: dict[str, str] = {}
    for aggregate, one in zip(pattern.aggregates, compiled, strict=True):
        if aggregate.result in partial and one.sum_parts is not None:
            columns[names.column(aggregate.result)] = one.sum_parts
        else:
            parts = (one.term, f"{one.kind}::UTINYINT", one.number)
            columns |= dict(zip(names.columns(aggregate.result), parts, strict=False))
    return columns


_Operand = tuple[Value, str]
"""An aggregate's argument, and the condition under which it is an error of the aggregate."""


def _arguments(
    aggregates: Sequence[a.Aggregate],
    relation: Relation,
    names: Names,
    prelude: Prelude,
    certain: frozenset[a.Variable],
) -> tuple[Relation, list[_Operand | None]]:
    def texts(compiler: ExpressionCompiler) -> list[str]:
        found: list[str] = []
        for aggregate in aggregates:
            expression = aggregate.argument
            if expression is None:
                found += ["", "", "", ""]
                continue
            value = compiler.value(expression)
            never = isinstance(expression, a.Constant) or expression in certain
            left_out = aggregate.function == "COUNT" and selects_a_term(expression)
            failure = "FALSE" if never or left_out else f"{value.term} IS NULL"
            found += [value.term, value.kind, value.number, failure]
        return found

    relation, written = compute(relation, names, prelude, texts)
    operands: list[_Operand | None] = []
    for place, aggregate in enumerate(aggregates):
        term, kind, number, failure = written[4 * place : 4 * place + 4]
        operands.append(None if aggregate.argument is None else (Value(term, kind, number), failure))
    return relation, operands


def _flag(
    aggregates: Sequence[a.Aggregate],
    relation: Relation,
    operands: Sequence[_Operand | None],
    by: Sequence[str],
    names: Names,
) -> tuple[Relation, dict[int, str]]:
    """A column more for each DISTINCT aggregate that needs it: true for one of each set of equal arguments."""
    flags = {}
    columns = dict(relation.columns)
    partition = [relation.columns[column] for column in by]
    for number, (aggregate, operand) in enumerate(zip(aggregates, operands, strict=True)):
        if operand is not None and aggregate.distinct and aggregate.function in ("SUM", "AVG", "GROUP_CONCAT"):
            name = flags[number] = names.fresh("d")
            columns[name] = f"(row_number() OVER (PARTITION BY {', '.join([*partition, operand[0].term])}) = 1)"
    if not flags:
        return relation, {}
    flagged = Relation(
        columns, relation.tables, relation.variables, relation.certain, relation.conditions, closed=True
    ).within(names.fresh("q"))
    return flagged, flags


def _compile(
    aggregate: a.Aggregate, operand: _Operand | None, once: str | None, name: str, relation: Relation, names: Names
) -> CompiledAggregate:
    if operand is None:
        visible = [v for v in relation.variables if not v.name.startswith("_:")]
        solution = ", ".join(relation.columns[names.column(variable)] for variable in visible) or "TRUE"
        return count_solutions(name, f"row({solution})" if aggregate.distinct else None)
    return compile_aggregate(aggregate, Argument(*operand, once), name)
