"""The order in which a statement joins what its sources are narrowed to."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pytest

from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.evaluation.statement import JoinOrder, United, statement
from tests.spark_backend.compiler.one_shot import Content, continuous

_CONTENT = Content({None: ""}, {None: "", "http://ex/g": ""})


def _plan(pattern: str) -> Plan:
    return compile_query(continuous(f"SELECT * {{{pattern}}}", _CONTENT))


def _written(plan: Plan, order: JoinOrder) -> str:
    """The statement, over tables ``left0``, ``left1``, … of its sources."""
    return statement(
        plan,
        [plan.parameters],
        instants="due",
        windows=["content"],
        members_table=lambda sql: f"({sql})",
        sources=[f"left{number}" for number in range(len(plan.sources))],
        order=order,
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("?s :p ?v . ?v :q ?w", True),
        ("?s :p ?v GRAPH :g {?v :q ?w} ?w :r ?x", True),
        ("?s :p ?v GRAPH :g {?v :q ?w . ?w :r ?x . ?y :r ?x} ?w :r ?z", True),
        ("?s :p ?v OPTIONAL {?v :q ?w}", True),
        ("?s :p ?v {?v :q ?w} UNION {?v :r ?w . ?w :t ?x}", True),
        ("?s :p ?v . ?v :t+ ?w", False),
    ],
)
def test_whether_a_statement_joins_nothing_but_sources_in_a_given_order(pattern: str, expected: bool) -> None:
    assert _plan(pattern).in_order is expected


def test_sources_are_joined_in_the_order_that_is_given_wherever_instants_are_among_them() -> None:
    plan = _plan("?s :p ?v GRAPH :g {?v :q ?w} ?w :r ?x")
    for order in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):

        def told(tables: Sequence[United], _: Collection[tuple[int, int]], order: list[int] = order) -> Sequence[int]:
            return sorted(range(len(tables)), key=lambda place: order.index(tables[place][0][0]))

        sql = _written(plan, told)
        assert [int(number) for number in re.findall(r"left(\d)", sql)] == order


def test_links_are_what_conditions_join_and_not_what_follows_from_several() -> None:
    plan = _plan("?a :p ?v . ?b :q ?v . ?c :r ?v . ?d :s ?w")
    asked = []

    def order(tables: Sequence[United], links: Collection[tuple[int, int]]) -> Sequence[int]:
        numbers = [number for ((number,),) in tables]
        asked.append((sorted(numbers), len(links), {numbers[place] for link in links for place in link}))
        return range(len(tables))

    _written(plan, order)
    alone = next(number for number, source in enumerate(plan.sources) if not source.narrowed_by)
    assert asked == [([0, 1, 2, 3], 2, {0, 1, 2, 3} - {alone})]


def test_what_is_derived_from_sources_is_joined_where_it_is_told() -> None:
    plan = _plan("?s :p ?v {?v :q ?w} UNION {?v :r ?w . ?w :t ?x}")
    asked = []

    def order(tables: Sequence[United], links: Collection[tuple[int, int]]) -> Sequence[int]:
        asked.append((tables, links))
        return sorted(range(len(tables)), key=lambda place: len(tables[place]), reverse=True)

    sql = _written(plan, order)
    ((tables, links),) = [(tables, links) for tables, links in asked if any(len(united) > 1 for united in tables)]
    assert sorted(map(len, tables)) == [1, 2]
    assert len(links) == 1
    assert re.search(r"UNION ALL .*\) q\d+, left0 t\d+", sql)
