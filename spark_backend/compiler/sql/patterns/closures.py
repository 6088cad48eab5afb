"""Paths of any length in SQL (SPARQL 1.1 Query section 18.4: ZeroOrOnePath, ZeroOrMorePath, OneOrMorePath).

A recursive UNION: a set, that comes to an end on cycles too. It starts at the end that is given, or else everywhere,
and goes from node to node in one graph at one instant: the keys go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.relation import Names, Relation, columns_of_table, repeated
from spark_backend.compiler.sql.tree.expressions import STAR, Column, equal
from spark_backend.compiler.sql.tree.statements import (
    CommonTable,
    Compound,
    Select,
    Statement,
    Subselect,
    Table,
    TableName,
    With,
    unnamed,
)

BEGIN, END = "x", "n"
"""Columns of the nodes that a path begins and ends at; ``x_k``, ``x_n``, ``n_k``, ``n_n`` are their facets."""


def node_columns(node: str, variable: a.Variable, names: Names) -> tuple[str, ...]:
    """The columns of a node, with facets if those of a variable are read."""
    return (node, f"{node}_k", f"{node}_n") if variable in names.faceted else (node,)


@dataclass(frozen=True)
class Starts:
    """Nodes that paths begin at: a relation of keys and the columns END, and BEGIN where it is to be told of a path.

    ``everywhere``: they are all nodes that a step goes from, and more.
    """

    relation: Relation
    everywhere: bool = False


def paths_from(
    starts: Starts | None, pattern: a.Closure, step: Relation, keys: Sequence[str], names: Names, *, backwards: bool
) -> Relation:
    """The paths that begin at the node of each row of ``starts`` or, without, everywhere.

    ``keys`` are those of ``step``; the relation has all keys of ``starts``, and the columns END and, if ``starts``
    has it or there are none, BEGIN.
    """
    source, target = (pattern.target, pattern.source) if backwards else (pattern.source, pattern.target)
    begin, end = node_columns(BEGIN, source, names), node_columns(END, source, names)
    single, paths, alias = names.fresh("e"), names.fresh("r"), names.fresh("q")
    step = step.within(names.fresh("q"))
    columns = {key: step.columns[key] for key in keys}
    columns |= dict(zip(begin, (step.columns[name] for name in names.columns(source)), strict=True))
    columns |= dict(zip(end, (step.columns[name] for name in names.columns(target)), strict=True))
    # Where paths go on, they are a set whatever they are made of.
    edges = repeated(replace(step, columns=columns)) if pattern.many else replace(step, columns=columns, distinct=True)
    if starts is None:
        carried = [*keys, *begin]
    else:
        given = starts.relation.columns
        carried = [name for name in given if name not in (*begin, *end)]
        carried += [name for name in begin if name in given]

    def longer(of: str) -> Select:
        going = [*(Column(name, of) for name in carried), *(Column(name, single) for name in end)]
        on = [*(equal(Column(key, single), Column(key, of)) for key in keys)]
        on.append(equal(Column(BEGIN, single), Column(END, of)))
        return Select(unnamed(*going), (Table(TableName(of)), Table(TableName(single))), tuple(on))

    listed = (*carried, *end)

    def all_of(table: str) -> Select:
        return Select(unnamed(*map(Column, listed)), (Table(TableName(table)),))

    tables = [CommonTable(single, edges.select)]
    shortest: list[Statement]
    if starts is None:
        shortest = [all_of(single)]
    else:
        first = names.fresh("s")
        tables.append(CommonTable(first, replace(starts.relation, distinct=True).select))
        shortest = [all_of(first)] if pattern.zero else []
        if not pattern.zero or not pattern.many:
            shortest.append(all_of(single) if starts.everywhere else longer(first))
    if pattern.many:
        (begun,) = shortest
        closure = Compound("UNION", (begun, longer(paths)))
        tables.append(CommonTable(paths, closure, listed, materialised=False))
        body: Statement = Select(unnamed(STAR), (Table(TableName(paths)),))
    else:
        body = Compound("UNION", tuple(shortest))
    statement = With(tuple(tables), body, recursive=True)
    return Relation(columns_of_table(alias, listed), (Table(Subselect(statement), alias),))
