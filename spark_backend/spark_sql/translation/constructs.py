"""What a plan's statement may be made of, as far as its translation to Spark SQL has been thought through."""

from __future__ import annotations

from sqlglot import exp

from spark_backend.evaluation.prelude.functions import FIXED

_OF_DUCKDB = frozenset({"md5_number_lower", "row"})
_JOINS = frozenset({"", "CROSS", "SEMI", "ANTI"})

_KNOWN = frozenset(
    {
        exp.Abs,
        exp.Add,
        exp.Alias,
        exp.And,
        exp.Anonymous,
        exp.ArrayAgg,
        exp.Between,
        exp.BitwiseRightShift,
        exp.Boolean,
        exp.Bracket,
        exp.CTE,
        exp.Case,
        exp.Cast,
        exp.Coalesce,
        exp.Column,
        exp.Contains,
        exp.Count,
        exp.DPipe,
        exp.DataType,
        exp.DataTypeParam,
        exp.Distinct,
        exp.Div,
        exp.Dot,
        exp.EQ,
        exp.EndsWith,
        exp.Exists,
        exp.Filter,
        exp.From,
        exp.GT,
        exp.GTE,
        exp.GenerateSeries,
        exp.Greatest,
        exp.Group,
        exp.GroupConcat,
        exp.Identifier,
        exp.If,
        exp.In,
        exp.Is,
        exp.Join,
        exp.LT,
        exp.LTE,
        exp.Literal,
        exp.MD5,
        exp.Max,
        exp.Min,
        exp.Mod,
        exp.Mul,
        exp.NEQ,
        exp.Neg,
        exp.Not,
        exp.Null,
        exp.NullSafeEQ,
        exp.Nullif,
        exp.Or,
        exp.Order,
        exp.Ordered,
        exp.Paren,
        exp.PropertyEQ,
        exp.RegexpExtract,
        exp.RegexpReplace,
        exp.Replace,
        exp.RowNumber,
        exp.Select,
        exp.Slice,
        exp.SplitPart,
        exp.Star,
        exp.StartsWith,
        exp.Struct,
        exp.Sub,
        exp.Subquery,
        exp.Sum,
        exp.Table,
        exp.TableAlias,
        exp.TryCast,
        exp.Tuple,
        exp.Union,
        exp.Values,
        exp.Where,
        exp.Window,
        exp.With,
    }
)


def is_call(node: exp.Expr) -> bool:
    """Whether it calls a function of the prelude, fixed or a query's own."""
    return isinstance(node, exp.Anonymous) and (node.name in FIXED or node.name.startswith("sparql_"))


def is_known(node: exp.Expr) -> bool:
    """Whether it is one of the kinds of nodes, functions and joins that are translated."""
    if isinstance(node, exp.Join):
        return node.kind in _JOINS and node.side in ("", "LEFT")
    if isinstance(node, exp.Anonymous):
        return is_call(node) or node.name in _OF_DUCKDB
    return type(node) in _KNOWN
