"""Many rows of VALUES are a table that is kept, and mean what few do."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, evaluated, graph_by_graph

TRIPLES = ":s1 :p 1, 2.5 ; :q :s2 . :s2 :p 7, 'x', true ; :q :s120 . :s120 :p 2e0, 120 ; :q :s1 . :t :p 1 ; :q :t ."
CONTENT = Content(
    {"http://ex/w": TRIPLES, None: TRIPLES}, {None: ":s120 :r 5 . :t :r :s1 .", "http://ex/g": ":s2 :r 7, 120 ."}
)
MANY = range(150)
SUBJECTS = f"VALUES ?s {{ {' '.join(f':s{number}' for number in MANY)} }}"
NUMBERS = f"VALUES ?v {{ {' '.join(f'{number} {number}.5 {number}e0' for number in MANY)} 'x' true UNDEF }}"
PAIRS = f"VALUES (?s ?k) {{ {' '.join(f'(:s{number} {number}) (UNDEF {number % 7})' for number in MANY)} }}"


@pytest.mark.parametrize("rows", [SUBJECTS, NUMBERS, PAIRS])
@pytest.mark.parametrize(
    "group",
    [
        "ROWS ?s :p ?v",
        "?s :p ?v ROWS",
        "?s :p ?v ; :r ?w ROWS",
        "?s :r ?w ROWS",
        "?s :p ?v OPTIONAL { ROWS ?s :q ?x }",
        "?s :p ?v OPTIONAL { ?s :q ?x ROWS FILTER(?v > 1) }",
        "?s :p ?v MINUS { ROWS }",
        "?s :p ?v FILTER EXISTS { ROWS ?s :q ?x }",
        "?s :p ?v FILTER NOT EXISTS { ROWS }",
        "?s :p ?v { ?s :q ?x } UNION { ROWS }",
        "GRAPH <http://ex/w> { ?s :p ?v ROWS }",
        "GRAPH ?g { ?s :q ?x ROWS }",
        "?s :p ?v { SELECT DISTINCT ?s { ROWS } ORDER BY ?s LIMIT 130 }",
        "ROWS ROWS ?s :p ?v",
    ],
)
def test_many_rows_are_joined_as_one_shot_queries_join_them(group: str, rows: str) -> None:
    text = f"SELECT * {{ {group.replace('ROWS', rows)} }}"
    assert_same_solutions(text, CONTENT, oracle=graph_by_graph(text, CONTENT))


def test_they_are_compared_by_their_values() -> None:
    assert_same_solutions(f"SELECT * {{ ?s :p ?w {NUMBERS} FILTER(?v = ?w) }}", CONTENT)


def test_many_rows_are_no_part_of_the_statement() -> None:
    plan, _ = evaluated(f"SELECT * {{ ?s :p ?v {SUBJECTS} }}", CONTENT)
    assert [select.count(":s") or select.count("/s1>") for select in plan.static_joins] == [1]
    assert "/s1>" not in "".join(map(str, plan.sql))
