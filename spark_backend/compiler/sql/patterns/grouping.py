"""Group and its aggregates as relations (SPARQL 1.1 Query section 18.5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.expressions.aggregates import (
    Argument,
    CompiledAggregate,
    compile_aggregate,
    count_solutions,
)
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude, compute
from spark_backend.compiler.sql.patterns.joins import beside
from spark_backend.compiler.sql.patterns.modifiers import ranked
from spark_backend.compiler.sql.relation import MEMBER, RANK, Names, Relation, unbound_column
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, SortKey
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import Value, columns_of

_ANY = a.Variable("")
IN_SEQUENCE = ("GROUP_CONCAT", "SAMPLE")
"""What depends on the order in which a sub-select gives solutions."""


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
    if any(one.function in IN_SEQUENCE for one in pattern.aggregates):
        relation = ranked(relation, tuple(key for key in scope_keys if key != MEMBER), names)
    relation, operands = _arguments(pattern.aggregates, relation, names, prelude, certain)
    by = [*scope_keys, *(column for key in keys if key in relation.variables for column in names.columns(key))]
    rank = relation.columns.get(RANK)
    flags = _flags(pattern.aggregates, operands, [relation.columns[column] for column in by], rank, names)
    relation, operands = _computed_once(relation, operands, flags, names)
    known: dict[a.Aggregate, CompiledAggregate] = {}
    compiled = []
    for number, (aggregate, operand) in enumerate(zip(pattern.aggregates, operands, strict=True)):
        same = replace(aggregate, result=_ANY)  # what the passes make alike
        if same not in known:
            once = relation.columns[flags[number][0]] if number in flags else None
            known[same] = _compile(aggregate, operand, once, names.fresh("a"), relation, names)
        compiled.append(known[same])
    raw = {name: column for one in compiled for name, column in one.raw.items()}
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
        group=tuple(keys_bound.values()),
        closed=True,
        ranked=False,  # groups come in no order, whatever order their solutions had
        order=(),
    )
    read = sql.occurrences(results.values(), [Column(name) for name in raw])
    if pattern.keys is not None and all(read[Column(name)] == 1 for name in raw):
        columns = {name: sql.substituted(column, raw) for name, column in results.items()}
        found = replace(grouped, columns={**keys_bound, **unbound, **columns})
    else:
        grouped = replace(grouped, columns={**keys_bound, **raw}).within(names.fresh("q"))
        above = {column: grouped.columns[column] for column in by}
        found = replace(grouped, columns={**above, **unbound, **results})
        if pattern.keys is None:  # the implicit group is there even when there is nothing in it (18.2.4.1)
            on = [sql.equal(unit.columns[key], grouped.columns[key]) for key in scope_keys]
            table = beside(unit, "LEFT", grouped, on)
            found = replace(unit, columns={**unit.columns, **results}, tables=(table,), optional=True)
    counts = frozenset(one.result for one in pattern.aggregates if one.function == "COUNT")
    return replace(
        found,
        variables=(*keys, *(aggregate.result for aggregate in pattern.aggregates)),
        certain=counts | (frozenset(keys) & certain),
        parts=partial,
    )


def _results(
    pattern: a.Group, compiled: Sequence[CompiledAggregate], names: Names, partial: frozenset[a.Variable]
) -> dict[str, Expression]:
    """The columns of the aggregates' results, over the raw ones."""
    columns: dict[str, Expression] = {}
    for aggregate, one in zip(pattern.aggregates, compiled, strict=True):
        if aggregate.result in partial and one.sum_parts is not None:
            columns[names.column(aggregate.result)] = one.sum_parts
        else:
            parts = (one.term, sql.Cast(one.kind, "UTINYINT"), one.number)
            columns |= dict(zip(names.columns(aggregate.result), parts, strict=False))
    return columns


_Operand = tuple[Value, Expression]
"""An aggregate's argument, and the condition under which it is an error of the aggregate."""


def _arguments(
    aggregates: Sequence[a.Aggregate],
    relation: Relation,
    names: Names,
    prelude: Prelude,
    certain: frozenset[a.Variable],
) -> tuple[Relation, list[_Operand | None]]:
    def parts(compiler: ExpressionCompiler) -> list[Expression]:
        found: list[Expression] = []
        for aggregate in aggregates:
            expression = _argument(aggregate)
            if expression is None:
                found += [sql.NULL] * 4
                continue
            value = compiler.value(expression)
            never = aggregate.function == "COUNT" or isinstance(expression, a.Constant) or expression in certain
            failure = sql.FALSE if never else sql.IsNull(value.term)
            found += [value.term, value.kind, value.number, failure]
        return found

    relation, written = compute(relation, names, prelude, parts)
    operands: list[_Operand | None] = []
    for place, aggregate in enumerate(aggregates):
        term, kind, number, failure = written[4 * place : 4 * place + 4]
        operands.append(None if aggregate.argument is None else (Value(term, kind, number), failure))
    return relation, operands


def _argument(aggregate: a.Aggregate) -> a.Expression | None:
    """What is aggregated: of GROUP_CONCAT strings (18.5.1.7), which DISTINCT tells apart by their languages, too."""
    expression = aggregate.argument
    if expression is None or aggregate.function != "GROUP_CONCAT":
        return expression
    text = a.Call("STR", (expression,))
    if not aggregate.distinct:
        return text
    language = a.Call("!=", (a.Call("LANG", (expression,)), a.Constant('""')))
    return a.Call("IF", (a.Call("&&", (a.Call("ISLITERAL", (expression,)), language)), expression, text))


def _flags(
    aggregates: Sequence[a.Aggregate],
    operands: Sequence[_Operand | None],
    by: Sequence[Expression],
    rank: Expression | None,
    names: Names,
) -> dict[int, tuple[str, Expression]]:
    """For each DISTINCT aggregate that needs it a column: true for one of each set of equal arguments, the first."""
    flags: dict[int, tuple[str, Expression]] = {}
    for number, (aggregate, operand) in enumerate(zip(aggregates, operands, strict=True)):
        if operand is not None and aggregate.distinct and aggregate.function in ("SUM", "AVG", "GROUP_CONCAT"):
            place = sql.RowNumber((*by, operand[0].term), () if rank is None else (SortKey(rank),))
            flags[number] = names.fresh("d"), sql.Parentheses(sql.equal(place, sql.number(1)))
    return flags


def _computed_once(
    relation: Relation, operands: Sequence[_Operand | None], flags: Mapping[int, tuple[str, Expression]], names: Names
) -> tuple[Relation, list[_Operand | None]]:
    """The flags, and long arguments, as columns of a SELECT: an aggregate mentions its argument often."""
    told = {column: name for name, column in relation.columns.items()}
    parts = dict.fromkeys(part for value, _ in filter(None, operands) for part in columns_of(value))
    computed = {
        part: names.fresh("x") for part in parts if part not in told and not isinstance(part, sql.Constant | sql.Text)
    }
    told |= computed
    columns = {**relation.columns, **{name: part for part, name in computed.items()}, **dict(flags.values())}
    relation = names.open(replace(relation, columns=columns, closed=bool(flags)))

    def now(part: Expression) -> Expression:
        return relation.columns[told[part]] if part in told else part

    found: list[_Operand | None] = []
    for operand in operands:
        if operand is None:
            found.append(None)
            continue
        value, failure = operand
        term, kind, number = map(now, columns_of(value))
        found.append((Value(term, kind, number), failure if failure == sql.FALSE else sql.IsNull(term)))
    return relation, found


def _compile(
    aggregate: a.Aggregate,
    operand: _Operand | None,
    once: Expression | None,
    name: str,
    relation: Relation,
    names: Names,
) -> CompiledAggregate:
    if operand is None:
        visible = [v for v in relation.variables if not v.name.startswith("_:")]
        solution = [relation.columns[names.column(variable)] for variable in visible] or [sql.TRUE]
        return count_solutions(name, sql.call("row", *solution) if aggregate.distinct else None)
    return compile_aggregate(aggregate, Argument(*operand, once, relation.columns.get(RANK)), name)
