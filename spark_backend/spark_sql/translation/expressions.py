"""Expressions of DuckDB's SQL as expressions of Spark's that give the same to the last bit.

Spark runs in ANSI mode: what overflows or cannot be cast is an error, never another value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from protocol.errors import UnsupportedFeature
from spark_backend.spark_sql.translation.templates import spark

_TRIES: dict[type[exp.Expr], str] = {exp.Add: "try_add", exp.Sub: "try_subtract", exp.Mul: "try_multiply"}
_BYTES_FROM_THE_LAST = " || ".join(f"substring(md5(x), {place}, 2)" for place in range(31, 16, -2))


def translate_expressions(tree: exp.Expr) -> exp.Expr:
    """The tree with each expression in it translated, innermost first. What has no translation is refused."""
    for node in reversed(list(tree.walk(bfs=True))):
        translation = _TRANSLATIONS.get(type(node))
        if translation is None:
            continue
        other = translation(node)
        if node is tree:
            tree = other
        elif other is not node:
            node.replace(other)
    return tree


def no_translation(node: exp.Expr) -> UnsupportedFeature:
    """The error for what Spark SQL cannot say."""
    text = node.sql("duckdb")
    return UnsupportedFeature(f"this has no translation to Spark SQL: {text if len(text) < 200 else text[:200] + '…'}")


def _substring(node: exp.Expr) -> exp.Expr:
    """``x[2:-2]`` and ``x[1]``; characters are code points in both."""
    match node.expressions:
        case [exp.Slice() as cut] if cut.this.sql() == "2" and cut.expression.sql() == "-2":
            return spark("substring(x, 2, length(x) - 2)", x=node.this)
        case [exp.Literal() as place] if place.name == "0":  # sqlglot counts from 0
            return spark("substring(x, 1, 1)", x=node.this)
    raise no_translation(node)


def _division(node: exp.Expr) -> exp.Expr:
    """IEEE 754: by a zero, an infinity of the sign of both, or NaN. Spark has an error there."""
    divisor = node.expression
    if isinstance(divisor, exp.Literal) and not divisor.is_string and float(divisor.name):
        return node
    return spark(
        "(a / IF(b = 0, 1, b)) * IF(b = 0, IF(CAST(b AS STRING) LIKE '-%', CAST('-inf' AS DOUBLE), "
        "CAST('inf' AS DOUBLE)), CAST('1' AS DOUBLE))",
        a=_group(node.this),
        b=_group(divisor),
    )


def _group(node: exp.Expr) -> exp.Expr:
    return node if isinstance(node, exp.Paren | exp.Column | exp.Func) else exp.Paren(this=node.copy())


def _wide(node: exp.Expr) -> exp.Expr:
    """Arithmetic of HUGEINTs, where what does not fit in 38 digits is excluded by a condition beside it."""
    if not (_is_wide(node.this) and _is_wide(node.expression)):
        return node
    return exp.Anonymous(this=_TRIES[type(node)], expressions=[node.this.copy(), node.expression.copy()])


def _is_wide(node: exp.Expr) -> bool:
    match node:
        case exp.Cast():
            return bool(node.to.this == exp.DType.INT128)
        case exp.Paren() | exp.Neg():
            return _is_wide(node.this)
        case exp.Anonymous():
            return node.name in _TRIES.values()
    return False


def _replace(node: exp.Expr) -> exp.Expr:
    """``regexp_replace``, which replaces the first match: where that reaches to the end there is no other."""
    pattern, replacement = node.expression, node.args.get("replacement")
    if not (_constant(pattern) and _constant(replacement)) or not pattern.name.endswith("$"):
        raise no_translation(node)
    assert replacement is not None
    # The end, and not that before a last line break; Java writes groups $1.
    text = re.sub(r"\\(\d)|\$", lambda found: f"${found[1]}" if found[1] else r"\$", replacement.name)
    parts = [node.this.copy(), exp.Literal.string(pattern.name[:-1] + "\\z"), exp.Literal.string(text)]
    return exp.Anonymous(this="regexp_replace", expressions=parts)


def _extract(node: exp.Expr) -> exp.Expr:
    pattern, group = node.expression, node.args.get("group")
    if not _constant(pattern) or not pattern.name.endswith("$") or not isinstance(group, exp.Literal):
        raise no_translation(node)
    end = exp.Literal.string(pattern.name[:-1] + "\\z")
    return exp.Anonymous(this="regexp_extract", expressions=[node.this.copy(), end, group.copy()])


def _constant(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _shift(node: exp.Expr) -> exp.Expr:
    """Of the second half of a digest, an unsigned number in the order of DuckDB's bytes, the leading bits."""
    number = node.this
    if not (isinstance(number, exp.Anonymous) and number.name == "md5_number_lower"):
        raise no_translation(node)
    return spark(
        f"shiftrightunsigned(CAST(conv({_BYTES_FROM_THE_LAST}, 16, -10) AS BIGINT), bits)",
        x=number.expressions[0],
        bits=node.expression,
    )


def _list(node: exp.Expr) -> exp.Expr:
    """``list`` of a FILTER; of nothing, NULL."""
    inner = node.this
    if isinstance(inner, exp.ArrayAgg):
        return spark("nullif(x, CAST(array() AS ARRAY<STRING>))", x=node)
    if isinstance(inner, exp.Sum) and isinstance(inner.this, exp.Order):
        return _ordered_sum(inner.this, node.expression)
    return node


def _sum(node: exp.Expr) -> exp.Expr:
    if isinstance(node.this, exp.Order):
        # With a FILTER, it is translated with that.
        return node if isinstance(node.parent, exp.Filter) else _ordered_sum(node.this, None)
    summed = node.this.copy()
    exact = False
    for cast in list(summed.find_all(exp.TryCast)):
        if cast.to.this == exp.DType.BIGINT:
            cast.replace(spark("TRY_CAST(x AS DECIMAL(38, 0))", x=cast))
        exact |= cast.to.this in (exp.DType.BIGINT, exp.DType.DECIMAL)
    if not exact:
        raise no_translation(node)
    return exp.Sum(this=summed)


def _ordered_sum(ordered: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """A sum of doubles, taken in ascending order, one after the other, from 0; of none, NULL."""
    (by,) = ordered.expressions
    if by.this != ordered.this or by.args.get("desc"):
        raise no_translation(ordered)
    collected: exp.Expr = exp.ArrayAgg(this=ordered.this.copy())
    if where is not None:
        collected = exp.Filter(this=collected, expression=where.copy())
    return spark(
        "aggregate(nullif(array_sort(x), CAST(array() AS ARRAY<DOUBLE>)), CAST('0' AS DOUBLE), (sum, y) -> sum + y)",
        x=collected,
    )


def _extreme(node: exp.Expr) -> exp.Expr:
    """min and max; of a struct, before each field whether it is NULL, which is greatest in DuckDB."""
    struct = node.this
    if not isinstance(struct, exp.Struct):
        return node
    fields = []
    for field in struct.expressions:
        absent = exp.Is(this=field.expression.copy(), expression=exp.Null())
        fields += [exp.PropertyEQ(this=exp.to_identifier(f"{field.name}_absent"), expression=absent), field.copy()]
    return type(node)(this=exp.Struct(expressions=fields))


def _window(node: exp.Expr) -> exp.Expr:
    """``row_number``; Spark wants an order. What is read of rows that only a partition tells apart is the same."""
    if not isinstance(node.this, exp.RowNumber):
        raise no_translation(node)
    partition = node.args.get("partition_by") or []
    if node.args.get("order") is None:
        if not partition:
            return exp.Anonymous(this=ROW_ID)
        node.set("order", exp.Order(expressions=[exp.Ordered(this=key.copy(), nulls_first=True) for key in partition]))
    return node


ROW_ID = "monotonically_increasing_id"
"""Numbers rows apart from each other, another time otherwise: for tables that are kept."""


def _anonymous(node: exp.Expr) -> exp.Expr:
    if node.name.lower() == "row":
        return exp.Anonymous(this="struct", expressions=[part.copy() for part in node.expressions])
    if node.name == "md5_number_lower" and not isinstance(node.parent, exp.BitwiseRightShift):
        raise no_translation(node)
    return node


def _table(node: exp.Expr) -> exp.Expr:
    """``range(n)`` as a table."""
    rows = node.this
    if isinstance(rows, exp.GenerateSeries):
        return exp.Table(
            this=exp.Anonymous(this="range", expressions=[rows.args["end"].copy()]), alias=node.args.get("alias")
        )
    return node


_TRANSLATIONS: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Bracket: _substring,
    exp.Div: _division,
    exp.Add: _wide,
    exp.Sub: _wide,
    exp.Mul: _wide,
    exp.RegexpReplace: _replace,
    exp.RegexpExtract: _extract,
    exp.BitwiseRightShift: _shift,
    exp.Filter: _list,
    exp.Sum: _sum,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.Window: _window,
    exp.Anonymous: _anonymous,
    exp.Table: _table,
}
