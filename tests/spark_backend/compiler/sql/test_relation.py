"""A relation is a SELECT that can be gone on with: what it is wrapped in, or opened for, has the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.language.algebra import Variable
from spark_backend.compiler.sql.relation import (
    MEMBER,
    RANK,
    Names,
    Relation,
    facet_type,
    unbound_column,
)
from spark_backend.compiler.sql.tree.expressions import (
    Column,
    Constant,
    Infix,
    RowNumber,
    SortKey,
    Text,
    call,
    infix,
    number,
)
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.compiler.sql.tree.statements import InlineRows, Table, TableName

X = Variable("x")
INSTANT, TERM = Column("i", "t"), Column("a", "t")
VALUES = InlineRows(tuple((number(instant), Text(term)) for instant, term in ((1, "a"), (2, "b"), (2, "b"))))
ROWS = Relation({"instant": INSTANT, "v0": TERM}, (Table(VALUES, "t", ("i", "a")),), (X,), frozenset({X}))
LATER = infix(INSTANT, ">", number(1))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        yield made


def rows(connection: duckdb.DuckDBPyConnection, relation: Relation) -> list[tuple[object, ...]]:
    return sorted(connection.execute(named(relation.select.written)).fetchall())


def test_the_select_has_the_parts_of_the_relation(connection: duckdb.DuckDBPyConnection) -> None:
    assert rows(connection, ROWS) == [(1, "a"), (2, "b"), (2, "b")]
    assert rows(connection, ROWS.where(LATER, infix(TERM, "<>", Text("c")))) == [(2, "b"), (2, "b")]
    assert rows(connection, replace(ROWS, distinct=True)) == [(1, "a"), (2, "b")]
    columns = {"instant": INSTANT, "n": call("count", Constant("*"))}
    grouped = replace(ROWS, columns=columns, group=(INSTANT,), closed=True)
    assert rows(connection, grouped) == [(1, 1), (2, 2)]


def test_a_column_that_is_named_as_it_is_has_no_alias() -> None:
    relation = Relation({"v0": Column("v0"), "v1": Column("v1", "q")}, (Table(TableName("q")),))
    assert named(relation.select.written) == "SELECT v0, q.v1 AS v1 FROM q"


@pytest.mark.parametrize("materialised", [False, True])
def test_a_relation_within_another_select_is_the_same(
    connection: duckdb.DuckDBPyConnection, materialised: bool
) -> None:
    inner = replace(ROWS.where(LATER), distinct=True, order=(SortKey(INSTANT),))
    outer = inner.within("q7", materialised=materialised)
    assert rows(connection, outer) == rows(connection, inner) == [(2, "b")]
    assert outer.columns == {"instant": Column("instant", "q7"), "v0": Column("v0", "q7")}
    assert (outer.variables, outer.certain, outer.order) == (inner.variables, inner.certain, ())


def test_conditions_make_a_multiset_of_a_sequence_and_are_not_for_what_is_closed() -> None:
    assert replace(ROWS, order=(SortKey(INSTANT),)).where(LATER).order == ()
    with pytest.raises(AssertionError):
        replace(ROWS, closed=True).where(LATER)


def test_a_relation_that_differs_from_query_to_query_has_one_more_key() -> None:
    assert ROWS.keys(("instant", "g")) == ("instant", "g")
    members = replace(ROWS, columns={**ROWS.columns, MEMBER: Column(MEMBER, "m")})
    assert members.keys(("instant", "g")) == ("instant", "g", MEMBER)


@pytest.mark.parametrize(
    "shut",
    [replace(ROWS, closed=True), replace(ROWS, columns={**ROWS.columns, "v0": Infix("||", (TERM, Text("b" * 100)))})],
    ids=["closed", "a long column"],
)
def test_what_cannot_be_gone_on_with_is_opened_and_what_can_is_left_alone(
    connection: duckdb.DuckDBPyConnection, shut: Relation
) -> None:
    names = Names(frozenset())
    assert names.open(ROWS) is ROWS
    opened = names.open(shut)
    assert rows(connection, opened) == rows(connection, shut)
    assert not opened.closed
    assert all(column.length < 20 for column in opened.columns.values())


def test_a_ranked_relation_keeps_its_ranks(connection: duckdb.DuckDBPyConnection) -> None:
    ranked = replace(ROWS, columns={**ROWS.columns, RANK: RowNumber(order=(SortKey(INSTANT, "DESC"),))}, ranked=True)
    outer = ranked.within("q")
    assert outer.ranked
    assert {row[2] for row in rows(connection, outer)} == {1, 2, 3}


@given(st.lists(st.text(max_size=3), unique=True))
def test_every_variable_has_columns_of_its_own_whatever_case_its_name_is_in(written: list[str]) -> None:
    variables = [Variable(name) for name in [*written, "x", "X"]]
    names = Names(frozenset(variables[::2]))
    columns = names.all_columns(dict.fromkeys(variables))
    assert len({column.lower() for column in columns}) == len(columns)
    for variable in variables:
        assert names.columns(variable)[0] == names.column(variable)
        assert len(names.columns(variable)) == (3 if variable in names.faceted else 1)


def test_a_fresh_name_is_no_other() -> None:
    names = Names(frozenset())
    assert len({names.fresh(prefix) for prefix in "qqtt"}) == 4


@pytest.mark.parametrize(("column", "type"), [("v1", "VARCHAR"), ("v1_k", "UTINYINT"), ("v1_n", "DOUBLE")])
def test_a_column_s_type_is_in_its_name(connection: duckdb.DuckDBPyConnection, column: str, type: str) -> None:
    assert facet_type(column) == type
    assert connection.execute(
        f"SELECT c, typeof(c) FROM (SELECT {named(unbound_column(column).written)} AS c)"
    ).fetchall() == [(None, type)]
