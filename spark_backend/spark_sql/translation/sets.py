"""DISTINCT, UNION and GROUP BY in Spark SQL, which makes a zero positive wherever it groups by a double.

A term's number is decided by the term, so that nothing has to be grouped by it: it is carried along. And IN of a
subquery as a column is a join here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def with_sets(tree: exp.Expr) -> exp.Expr:
    """The tree with all sets in it written as groups, innermost first."""
    for node in reversed(list(tree.walk(bfs=True))):
        other = node
        if isinstance(node, exp.Union) and node.args.get("distinct"):
            other = as_set(exp.Union(this=node.this.copy(), expression=node.expression.copy(), distinct=False))
        elif isinstance(node, exp.Select):
            _group_without_numbers(node)
            _membership_as_join(node)
            if node.args.get("distinct") is not None:
                node.set("distinct", None)
                other = as_set(node.copy())
        if other is not node:
            if node is tree:
                tree = other
            else:
                node.replace(other)
    return tree


def as_set(query: exp.Query) -> exp.Select:
    """The rows of a query, each once."""
    names = query.named_selects
    kept = [exp.column(name) for name in names if not is_number_column(name, names)]
    columns = [
        carried(exp.column(name)).as_(name) if is_number_column(name, names) else exp.column(name) for name in names
    ]
    return exp.select(*columns).from_(query.subquery("d")).group_by(*kept)


def is_number_column(name: str, beside: Sequence[str]) -> bool:
    """Whether a column, by its name and those beside it, is a term's number: ``v1_n``, or ``n`` with a kind ``k``."""
    return name.endswith("_n") or (name == "n" and "k" in beside)


def is_facet(name: str) -> bool:
    """Whether a column of a closure is a facet of the term beside it."""
    return name.endswith(("_k", "_n"))


def carried(column: exp.Expr) -> exp.Expr:
    """The one value that the column has in all rows of a group."""
    return exp.Anonymous(this="any_value", expressions=[column])


def _group_without_numbers(select: exp.Select) -> None:
    grouped = select.args.get("group")
    if grouped is None:
        return
    numbers = [column for column in select.selects if column.alias.endswith("_n")]
    left_out = [column for column in numbers if column.unalias() in grouped.expressions]
    terms = [key for key in grouped.expressions if all(key != column.unalias() for column in left_out)]
    for column in left_out:
        column.set("this", carried(column.unalias().copy()))
    grouped.set("expressions", terms)


def _membership_as_join(select: exp.Select) -> None:
    """``(one, other) IN (SELECT …) AS flag``, where neither side is ever NULL."""
    for number, column in enumerate(select.selects):
        member = column.unalias()
        if not (isinstance(member, exp.In) and member.args.get("query") is not None):
            continue
        query = member.args["query"].unnest()
        alias = f"{column.alias}_in{number}"
        operands = member.this.expressions if isinstance(member.this, exp.Tuple) else [member.this]
        found = [exp.column(name, table=alias) for name in query.named_selects]
        same = [exp.EQ(this=one.copy(), expression=other.copy()) for one, other in zip(found, operands, strict=True)]
        columns = [exp.column(name) for name in query.named_selects]
        once = exp.select(*columns).from_(query.copy().subquery("d")).group_by(*(one.copy() for one in columns))
        select.join(once.subquery(alias), on=exp.and_(*same), join_type="left", copy=False)
        member.replace(exp.Paren(this=exp.Not(this=exp.Is(this=found[0].copy(), expression=exp.Null()))))
