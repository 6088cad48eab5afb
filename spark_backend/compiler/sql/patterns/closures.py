"""Paths of any length in SQL (SPARQL 1.1 Query section 18.4: ZeroOrOnePath, ZeroOrMorePath, OneOrMorePath).

A recursive UNION: a set, that comes to an end on cycles too. It starts at the end that is given, or else everywhere,
and goes from node to node in one graph at one instant: the keys go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.relation import Names, Relation

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
    edges = replace(step, columns=columns, distinct=True)
    if starts is None:
        carried = [*keys, *begin]
    else:
        given = starts.relation.columns
        carried = [name for name in given if name not in (*begin, *end)]
        carried += [name for name in begin if name in given]

    def longer(of: str) -> str:
        going = [*(f"{of}.{name}" for name in carried), *(f"{single}.{name}" for name in end)]
        on = [*(f"{single}.{key} = {of}.{key}" for key in keys), f"{single}.{BEGIN} = {of}.{END}"]
        return f"SELECT {', '.join(going)} FROM {of}, {single} WHERE {' AND '.join(on)}"

    listed = [*carried, *end]
    common = [f"{single} AS MATERIALIZED ({edges.sql})"]
    one_step = f"SELECT {', '.join(listed)} FROM {single}"
    if starts is None:
        shortest = [one_step]
    else:
        first = names.fresh("s")
        common.append(f"{first} AS MATERIALIZED ({replace(starts.relation, distinct=True).sql})")
        shortest = [f"SELECT {', '.join(listed)} FROM {first}"] if pattern.zero else []
        if not pattern.zero or not pattern.many:
            shortest.append(one_step if starts.everywhere else longer(first))
    if pattern.many:
        assert len(shortest) == 1
        common.append(f"{paths}({', '.join(listed)}) AS ({shortest[0]} UNION {longer(paths)})")
        body = f"SELECT * FROM {paths}"
    else:
        body = " UNION ".join(shortest)
    table = f"(WITH RECURSIVE {', '.join(common)} {body}) {alias}"
    return Relation({name: f"{alias}.{name}" for name in listed}, (table,))
