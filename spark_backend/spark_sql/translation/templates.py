"""Pieces of Spark SQL with places to fill in, as trees."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp


def spark(template: str, **parts: exp.Expr) -> exp.Expr:
    """The expression of a template of Spark SQL, each column ``name`` in it replaced by the part of that name."""

    def filled(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in parts:
            return parts[node.name].copy()
        return node

    return _parse(template).transform(filled)


@cache
def _parse(template: str) -> exp.Expr:
    parsed: exp.Expr = sqlglot.parse_one(template, read="spark")
    return parsed
