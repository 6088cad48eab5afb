"""LEFT JOIN on a condition that calls a function of the prelude: Spark SQL evaluates none in the ON of an outer join.

The rows on the left are numbered; the pairs that pass are filtered from an inner join, and joined by that number.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from spark_backend.spark_sql.translation.expressions import no_translation


def without_calls_in_on(tree: exp.Expr, is_call: Callable[[exp.Expr], bool]) -> None:
    """Rewrite the joins of a tree so that no ON of theirs has such a call."""
    for select in list(tree.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        for place, join in enumerate(joins):
            condition = join.args.get("on")
            if condition is None or not any(map(is_call, condition.walk())):
                continue
            before = joins[place - 1] if place else select.args["from_"]
            if join.side != "LEFT" or (place and before.args.get("on") is not None):
                raise no_translation(join)
            _rewrite(select, before, join)


def _rewrite(select: exp.Select, before: exp.Expr, join: exp.Join) -> None:
    left, right, condition = before.this, join.this, join.args["on"]
    name, table, row = left.alias_or_name, f"{left.alias_or_name}_numbered", f"{left.alias_or_name}_row"
    number = exp.Window(this=exp.RowNumber(), over="OVER").as_(row)
    numbered = exp.select(exp.Star(), number).from_(left.copy())
    pairs = (
        exp.select(exp.column(row, table=name), exp.Column(this=exp.Star(), table=exp.to_identifier(right.alias)))
        .from_(exp.alias_(exp.to_table(table), name, table=True))
        .join(right.copy(), join_type="cross")
        .where(condition.copy())
    )
    select.with_(table, as_=numbered, copy=False)
    before.set("this", exp.alias_(exp.to_table(table), name, table=True))
    join.set("this", pairs.subquery(right.alias))
    join.set("on", exp.EQ(this=exp.column(row, table=right.alias), expression=exp.column(row, table=name)))
