"""Statements are written with what stands in them for tables, and tell what is in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_backend.compiler.sql.tree.expressions import STAR, Column, SortKey, Text, equal, number
from spark_backend.compiler.sql.tree.nodes import Node, named
from spark_backend.compiler.sql.tree.placeholders import (
    Alone,
    DerivedRows,
    Instants,
    Members,
    SourceList,
    SourceRows,
    WindowRows,
)
from spark_backend.compiler.sql.tree.statements import (
    CommonTable,
    Compound,
    Exists,
    FromItem,
    InlineRows,
    InStatement,
    Joined,
    Select,
    Subselect,
    Table,
    TableName,
    With,
    common,
    unnamed,
)

V = Column("v", "t")
R = Table(TableName("r"), "t")
ROWS = Select((("v", V),), (R,))
Q = Table(Subselect(ROWS), "q")
ALL = Select(unnamed(STAR), (Table(TableName("w")),))


def source(number: int) -> Table:
    return Table(SourceRows(number), f"t{number}")


def select(*tables: FromItem) -> Select:
    return Select((("v", V),), tables)


def test_a_select_has_its_parts_in_their_order() -> None:
    inline = InlineRows(((Text("a"), number(1)), (Text("b"), number(2))))
    written = Select(
        (("v", V), ("w", Column("w")), (None, number(1))),
        (
            Table(WindowRows(0), "t"),
            Table(inline, "i", ("w", "n")),
        ),
        (equal(V, Column("w", "i")), equal(Column("n", "i"), number(1))),
        distinct=True,
        group=(V, Column("w")),
        order=(SortKey(V, "NULLS FIRST"),),
    )
    assert named(written.written) == (
        "SELECT DISTINCT t.v AS v, w, 1 FROM window_0 t, (VALUES ('a', 1), ('b', 2)) i(w, n) "
        "WHERE t.v = i.w AND i.n = 1 GROUP BY t.v, w ORDER BY t.v NULLS FIRST"
    )


def test_placeholders_are_pieces_of_what_is_written() -> None:
    clause = Alone((" LIMIT 3",))
    written = replace(select(Table(Instants(), "i")), first=clause).written
    assert written == ("SELECT t.v AS v FROM ", Instants(), " i", clause)
    assert replace(ROWS, columns=()).written == (" FROM r t",)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (Compound("UNION ALL", (ROWS, ROWS)), "{0} UNION ALL {0}"),
        (
            common("w", ROWS, ALL),
            "WITH w AS MATERIALIZED ({0}) SELECT * FROM w",
        ),
        (
            With((CommonTable("r", ROWS, ("v",), materialised=False),), ROWS, recursive=True),
            "WITH RECURSIVE r(v) AS ({0}) {0}",
        ),
        (InStatement((V,), ROWS), "(t.v) IN ({0})"),
        (InStatement((V, V), ROWS), "(t.v, t.v) IN ({0})"),
        (Exists(ROWS), "EXISTS ({0})"),
        (
            Joined(R, "SEMI", Q, (equal(V, V),)),
            "r t SEMI JOIN ({0}) q ON t.v = t.v",
        ),
        (Joined(R, "CROSS", Table(TableName("s")), ()), "r t CROSS JOIN s"),
    ],
    ids=["union", "common", "recursive", "in", "together in", "exists", "join", "cross"],
)
def test_statements_are_written_in_each_other(statement: Node, text: str) -> None:
    assert named(statement.written) == text.format("SELECT t.v AS v FROM r t")


def test_columns_are_counted_through_all_that_is_read() -> None:
    inner = select(Table(Subselect(Compound("UNION", (ROWS, ROWS))), "t"))
    joined = Joined(R, "LEFT", Table(Subselect(inner), "q"), ())
    asked = Select((("f", InStatement((V,), ROWS)), (None, V)), (joined,))
    assert (ROWS.width, inner.width, asked.width) == (1, 3, 5)
    assert [one is ROWS for one in asked.all()].count(True) == 3


def test_sources_that_are_joined_with_small_tables_are_one_list() -> None:
    written = select(source(1), Table(Members(), "m"), source(0)).written
    assert written == (
        "SELECT t.v AS v FROM ",
        SourceList(((SourceRows(1), "t1"), (Members(), "m"), (SourceRows(0), "t0"))),
    )
    assert select(source(0), Table(WindowRows(0), "w"), source(1)).written[1] == SourceRows(0)


def test_what_is_derived_from_sources_is_listed_with_them() -> None:
    united = Compound("UNION ALL", (select(source(1), source(2)), select(source(3))))
    ((_, (source_rows, derived)),) = [
        (list_.links, list_.tables)
        for list_ in select(source(0), Table(Subselect(united), "q")).written
        if isinstance(list_, SourceList)
    ]
    assert source_rows == (SourceRows(0), "t0")
    assert derived == (DerivedRows(united.written, ((1, 2), (3,))), "q")


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ((source(0),), True),
        ((source(1), Table(Instants(), "i"), source(0)), True),
        ((Table(Instants(), "i"), Table(Members(), "m")), True),
        ((source(0), Table(WindowRows(0), "w")), False),
        ((R, source(0)), False),
        ((Q,), True),
        ((Q, Table(Members(), "m")), True),
        ((Q, Table(WindowRows(0), "w")), False),
        ((source(0), Table(Subselect(select(source(1))), "q")), True),
        ((source(0), Table(Subselect(common("w", ROWS, select(source(1)))), "q")), False),
        ((source(0), Q), False),
        ((R, Q), True),
        ((Joined(Q, "LEFT", R, ()), Table(Members(), "m")), True),
    ],
)
def test_what_is_told_in_which_order_to_join_is_known(tables: tuple[FromItem, ...], expected: bool) -> None:
    assert select(*tables).is_in_order == expected
