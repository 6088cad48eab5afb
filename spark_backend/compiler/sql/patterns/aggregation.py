"""C-SPARQL's AGGREGATE as a relation (C-SPARQL section 3.1): a binding more for each solution, and none less."""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.expressions.expressions import Prelude
from spark_backend.compiler.sql.patterns.grouping import group
from spark_backend.compiler.sql.relation import Names, Relation


def aggregate_groups(
    pattern: a.Aggregation, relation: Relation, unit: Relation, names: Names, prelude: Prelude
) -> Relation:
    """The solutions of a relation, each with the aggregate of its group. ``unit`` has one empty solution for each key.

    Solutions in which the same keys are unbound are a group, as in GROUP BY.
    """
    table, one, each = names.fresh("w"), names.fresh("q"), names.fresh("q")
    members = Relation(
        {name: f"{one}.{name}" for name in relation.columns}, (f"{table} {one}",), relation.variables, relation.certain
    )
    grouping = a.Group(pattern.pattern, pattern.keys, (pattern.aggregate,))
    groups = group(grouping, members, unit, names, prelude, frozenset()).within(names.fresh("q"))
    on = [f"{groups.columns[key]} = {each}.{key}" for key in unit.columns]
    for key in pattern.keys:
        if key in relation.variables:
            name = names.column(key)
            same = "=" if key in relation.certain else "IS NOT DISTINCT FROM"
            on.append(f"{groups.columns[name]} {same} {each}.{name}")
    result = pattern.aggregate.result
    columns = {name: f"{each}.{name}" for name in relation.columns}
    columns |= {name: groups.columns[name] for name in names.columns(result)}
    joined = Relation(columns, (f"{table} {each}", *groups.tables), conditions=tuple(on))
    alias = names.fresh("q")
    # Once, for the solutions and for their groups: what is materialised is not matched twice.
    sql = f"(WITH {table} AS MATERIALIZED ({replace(relation, order=()).sql}) {joined.sql}) {alias}"
    return Relation(
        {name: f"{alias}.{name}" for name in columns},
        (sql,),
        (*relation.variables, result),
        relation.certain | (groups.certain & {result}),
        ranked=relation.ranked,
    )
