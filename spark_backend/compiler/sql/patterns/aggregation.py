"""C-SPARQL's AGGREGATE as a relation (C-SPARQL section 3.1): a binding more for each solution, and none less."""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.expressions.expressions import Prelude
from spark_backend.compiler.sql.patterns.grouping import group
from spark_backend.compiler.sql.relation import Names, Relation, columns_of_table
from spark_backend.compiler.sql.tree.expressions import Column, infix
from spark_backend.compiler.sql.tree.statements import Subselect, Table, TableName, common


def aggregate_groups(
    pattern: a.Aggregation, relation: Relation, unit: Relation, names: Names, prelude: Prelude
) -> Relation:
    """The solutions of a relation, each with the aggregate of its group. ``unit`` has one empty solution for each key.

    Solutions in which the same keys are unbound are a group, as in GROUP BY.
    """
    table, one, each = names.fresh("w"), names.fresh("q"), names.fresh("q")
    of_one = columns_of_table(one, relation.columns)
    members = Relation(of_one, (Table(TableName(table), one),), relation.variables, relation.certain)
    grouping = a.Group(pattern.pattern, pattern.keys, (pattern.aggregate,))
    groups = group(grouping, members, unit, names, prelude, frozenset()).within(names.fresh("q"))
    on = [infix(groups.columns[key], "=", Column(key, each)) for key in unit.columns]
    for key in pattern.keys:
        if key in relation.variables:
            name = names.column(key)
            same = "=" if key in relation.certain else "IS NOT DISTINCT FROM"
            on.append(infix(groups.columns[name], same, Column(name, each)))
    result = pattern.aggregate.result
    columns = columns_of_table(each, relation.columns)
    columns |= {name: groups.columns[name] for name in names.columns(result)}
    joined = Relation(columns, (Table(TableName(table), each), *groups.tables), conditions=tuple(on))
    alias = names.fresh("q")
    # Once, for the solutions and for their groups: what is materialised is not matched twice.
    statement = common(table, replace(relation, order=()).select, joined.select)
    return Relation(
        columns_of_table(alias, columns),
        (Table(Subselect(statement), alias),),
        (*relation.variables, result),
        relation.certain | (groups.certain & {result}),
        ranked=relation.ranked,
    )
