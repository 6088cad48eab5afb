"""Common table expressions of a statement as tables of their own, in the order in which they read each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from spark_backend.spark_sql.translation.expressions import no_translation


@dataclass(frozen=True)
class LiftedTable:
    """A common table expression: its query, or, if it reads itself, what it begins with and how it goes on."""

    name: str
    query: exp.Query
    columns: tuple[str, ...] = ()
    longer: exp.Query | None = None


def lift_tables(tree: exp.Expr) -> list[LiftedTable]:
    """Take all WITH clauses out of the tree. Names are unique in a statement."""
    found = list(_lift(tree))
    if len({one.name for one in found}) < len(found):
        raise no_translation(tree)
    return found


def _lift(node: exp.Expr) -> Iterator[LiftedTable]:
    clause = node.args.get("with_")
    if clause is not None:
        node.set("with_", None)
        for table in clause.expressions:
            yield from _lift(table.this)
            yield _of(table)
    for child in list(node.iter_expressions()):
        yield from _lift(child)


def _of(table: exp.CTE) -> LiftedTable:
    name, query = table.alias, table.this
    readers = [read for read in query.find_all(exp.Table) if read.name == name]
    if not readers:
        return LiftedTable(name, query)
    if not (isinstance(query, exp.Union) and query.args.get("distinct") and len(readers) == 1):
        raise no_translation(query)
    first, longer = query.this, query.expression
    if first.find(exp.Table) is readers[0] or any(read.name == name for read in first.find_all(exp.Table)):
        raise no_translation(query)
    return LiftedTable(name, first.copy(), tuple(table.alias_column_names), longer.copy())


def readings(trees: list[exp.Expr]) -> Counter[str]:
    """How often each table is read."""
    return Counter(table.name for tree in trees for table in tree.find_all(exp.Table))


def rename_tables(tree: exp.Expr, names: dict[str, str]) -> None:
    """Give tables other names; where they had no alias, the old one is that."""
    for table in tree.find_all(exp.Table):
        other = names.get(table.name)
        if other is not None:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(other))


def numbers_rows(tree: exp.Expr) -> bool:
    """Whether rows are numbered in no order: another time they would have other numbers."""
    return any(
        isinstance(window.this, exp.RowNumber) and not window.args.get("partition_by") and not window.args.get("order")
        for window in tree.find_all(exp.Window)
    )
