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
    quote,
    unbound_column,
)

X = Variable("x")
ROWS = Relation(
    {"instant": "t.i", "v0": "t.a"}, ("(VALUES (1, 'a'), (2, 'b'), (2, 'b')) t(i, a)",), (X,), frozenset({X})
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        yield made


def rows(connection: duckdb.DuckDBPyConnection, relation: Relation) -> list[tuple[object, ...]]:
    return sorted(connection.execute(relation.sql).fetchall())


def test_the_select_has_the_parts_of_the_relation(connection: duckdb.DuckDBPyConnection) -> None:
    assert rows(connection, ROWS) == [(1, "a"), (2, "b"), (2, "b")]
    assert rows(connection, ROWS.where("t.i > 1", "t.a <> 'c'")) == [(2, "b"), (2, "b")]
    assert rows(connection, replace(ROWS, distinct=True)) == [(1, "a"), (2, "b")]
    grouped = replace(ROWS, columns={"instant": "t.i", "n": "count(*)"}, tail=" GROUP BY t.i", closed=True)
    assert rows(connection, grouped) == [(1, 1), (2, 2)]


def test_a_column_that_is_named_as_it_is_has_no_alias() -> None:
    assert Relation({"v0": "v0", "v1": "q.v1"}, ("q",)).sql == "SELECT v0, q.v1 AS v1 FROM q"


@pytest.mark.parametrize("materialised", [False, True])
def test_a_relation_within_another_select_is_the_same(
    connection: duckdb.DuckDBPyConnection, materialised: bool
) -> None:
    inner = replace(ROWS.where("t.i > 1"), distinct=True, order=("t.i",))
    outer = inner.within("q7", materialised=materialised)
    assert rows(connection, outer) == rows(connection, inner) == [(2, "b")]
    assert outer.columns == {"instant": "q7.instant", "v0": "q7.v0"}
    assert (outer.variables, outer.certain, outer.order) == (inner.variables, inner.certain, ())


def test_conditions_make_a_multiset_of_a_sequence_and_are_not_for_what_is_closed() -> None:
    assert replace(ROWS, order=("t.i",)).where("TRUE").order == ()
    with pytest.raises(AssertionError):
        replace(ROWS, closed=True).where("TRUE")


def test_a_relation_that_differs_from_query_to_query_has_one_more_key() -> None:
    assert ROWS.keys(("instant", "g")) == ("instant", "g")
    members = replace(ROWS, columns={**ROWS.columns, MEMBER: "m.member"})
    assert members.keys(("instant", "g")) == ("instant", "g", MEMBER)


@pytest.mark.parametrize(
    "shut",
    [replace(ROWS, closed=True), replace(ROWS, columns={**ROWS.columns, "v0": f"t.a || {quote('b' * 100)}"})],
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
    assert all(len(sql) < 20 for sql in opened.columns.values())


def test_a_ranked_relation_keeps_its_ranks(connection: duckdb.DuckDBPyConnection) -> None:
    ranked = replace(ROWS, columns={**ROWS.columns, RANK: "row_number() OVER (ORDER BY t.i DESC)"}, ranked=True)
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
    assert connection.execute(f"SELECT c, typeof(c) FROM (SELECT {unbound_column(column)} AS c)").fetchall() == [
        (None, type)
    ]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_quoted_text_is_that_text(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    assert connection.execute(f"SELECT {quote(text)}").fetchone() == (text,)
