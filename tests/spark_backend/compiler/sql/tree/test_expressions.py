"""Expressions are written as DuckDB reads them, found in each other by what they are, and replaced."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Case, Cast, Column, Infix, Parentheses, SortKey, Text, call
from spark_backend.compiler.sql.tree.nodes import Expression, named
from spark_backend.compiler.sql.tree.placeholders import Parameter

ONE, TWO, THREE = map(sql.number, (1, 2, 3))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        yield made


def text(expression: Expression) -> str:
    return named(expression.written)


def value(connection: duckdb.DuckDBPyConnection, expression: Expression) -> object:
    found = connection.execute(f"SELECT {text(expression)}").fetchone()
    assert found is not None
    return found[0]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_text_is_that_text(connection: duckdb.DuckDBPyConnection, written: str) -> None:
    assert value(connection, Text(written)) == written


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (sql.every([]), True),
        (sql.every([sql.TRUE, sql.FALSE]), False),
        (sql.some([sql.FALSE, sql.equal(ONE, ONE)]), True),
        (sql.negated(sql.infix(ONE, "<", TWO)), False),
        (sql.IsNull(sql.null("VARCHAR")), True),
        (sql.IsBound(sql.null("VARCHAR")), False),
        (sql.Between(TWO, ONE, THREE), True),
        (sql.In(TWO, (ONE, THREE), negated=True), True),
        (sql.choice((sql.FALSE, ONE), (sql.TRUE, TWO)), 2),
        (sql.choice((ONE, Text("a")), otherwise=Text("b"), subject=THREE), "b"),
        (sql.TryCast(Text("x"), "BIGINT"), None),
        (Cast(Parentheses(Infix("+", (ONE, TWO))), "VARCHAR"), "3"),
        (sql.Inside(Text("<a>")), "a"),
        (sql.Character(Text("<a>"), 1), "<"),
        (sql.StructField(Parentheses(sql.Struct({"a": ONE, "b": TWO})), "b"), 2),
        (sql.extreme("greatest", [ONE]), 1),
        (sql.extreme("greatest", [ONE, sql.null("INTEGER"), THREE]), 3),
        (call("concat", Text("a"), Text("b")), "ab"),
    ],
    ids=lambda one: text(one) if isinstance(one, Expression) else str(one),
)
def test_expressions_mean_what_they_say(
    connection: duckdb.DuckDBPyConnection, expression: Expression, expected: object
) -> None:
    assert value(connection, expression) == expected


def test_an_aggregate_has_its_order_and_its_condition(connection: duckdb.DuckDBPyConnection) -> None:
    v = Column("v")
    joined = sql.Call("string_agg", (v, Text("")), order=(SortKey(v, "DESC"),), where=sql.infix(v, "<>", Text("b")))
    counted = sql.Call("count", (v,), distinct=True)
    place = sql.RowNumber((v,), (SortKey(v),))
    rows = "(VALUES ('a'), ('b'), ('c'), ('c')) t(v)"
    found = connection.execute(f"SELECT {text(joined)}, {text(counted)} FROM {rows}").fetchone()
    assert found == ("cca", 3)
    places = connection.execute(f"SELECT {text(place)} FROM {rows}").fetchall()
    assert sorted(places) == [(1,), (1,), (1,), (2,)]


def test_expressions_are_equal_that_are_written_alike() -> None:
    assert Column("v", "t") == Column("v", "t") != Column("v", "u")
    assert len({sql.equal(ONE, TWO), sql.infix(ONE, "=", TWO)}) == 1
    assert Parameter("m1", 2) == Parameter("m1", 2) != Parameter("m1", 2, numeric=True)
    assert Parameter("m1", 2) != Column("c2", "m1")


def test_occurrences_are_counted_where_parts_are_shared() -> None:
    asked = call("f", Column("v", "t"))
    expression: Expression = asked
    for _ in range(40):  # written 2 to the 40 times
        expression = Infix("+", (expression, expression))
    found = sql.occurrences([sql.equal(asked, call("g", asked)), Case(((asked, ONE),))], [asked, call("h", asked)])
    assert found == {asked: 3}
    assert sql.occurrences([Infix("+", (asked, asked)), asked], [Column("v", "t")]) == {Column("v", "t"): 3}


def test_columns_of_no_table_are_replaced() -> None:
    count, of_table = Column("a1_c"), Column("a1_c", "q")
    expression = sql.choice((sql.IsBound(count), sql.Struct({"n": count, "o": of_table})), otherwise=call("f", count))
    replaced = sql.substituted(expression, {"a1_c": call("count", sql.STAR)})
    assert text(replaced) == ("(CASE WHEN count(*) IS NOT NULL THEN {'n': count(*), 'o': q.a1_c} ELSE f(count(*)) END)")
    ordered = sql.Call("list", (count,), order=(SortKey(count),))
    assert text(sql.substituted(ordered, {"a1_c": ONE})) == "list(1 ORDER BY 1)"
