"""BINDs and marks of EXISTS are columns of as few SELECTs as may be: planning each costs more than a small window."""

from __future__ import annotations

import re

from spark_backend.compiler.sql.tree.nodes import named
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, evaluated

CONTENT = Content({None: ":a :p 1, 2.5, 4e0, 'x' ; :q 3 ; :r :b . :b :p 7 ; :q 1 ."})


def statement(text: str) -> str:
    plan, _ = evaluated(text, CONTENT)
    return named(plan.sql)


def test_binds_that_do_not_read_each_other_are_columns_of_one_select() -> None:
    few, many = (" ".join(f"BIND(?v + {place} AS ?v{place})" for place in range(count)) for count in (2, 20))
    assert statement(f"SELECT * {{ ?s :p ?v {few} }}").count("SELECT") == (
        statement(f"SELECT * {{ ?s :p ?v {many} }}").count("SELECT")
    )


def test_binds_are_of_the_solutions_they_stand_behind() -> None:
    for group in (
        "?s :p ?v BIND(?v + 1 AS ?w) BIND(?w + 1 AS ?x) BIND(?v * 2 AS ?y) FILTER(?y > ?x)",
        "?s :p ?v BIND(?v + 1 AS ?w) OPTIONAL { ?s :q ?w } BIND(?v - 1 AS ?x) ?s :q ?q",
        "?s :p ?v BIND(UCASE(STR(?s)) AS ?w) BIND(?v + 1 AS ?x) MINUS { ?s :q ?x }",
        "{ SELECT DISTINCT ?s (?v + 1 AS ?w) { ?s :p ?v } } BIND(STR(?s) AS ?x) BIND(?w * 2 AS ?y)",
    ):
        assert_same_solutions(f"SELECT * {{ {group} }}", CONTENT)


def test_a_number_of_the_query_is_not_asked_what_it_is() -> None:
    sql = statement("SELECT (?v + 1 AS ?w) { ?s :p ?v }")
    assert re.search(r"\b1 (<=|=) \d|'1.0'::DOUBLE IS NOT NULL", sql) is None
    assert "TRY_CAST" not in statement("SELECT (?v + 1e0 AS ?w) { ?s :p ?v }")


def test_numbers_of_all_kinds_are_computed_with() -> None:
    for number in ("1", "2.5", "1e0", "'2'^^xsd:float", "9007199254740993", "-3"):
        for sign in "+-*/":
            assert_same_solutions(f"SELECT * {{ ?s :p ?v BIND(?v {sign} {number} AS ?w) }}", CONTENT)
            assert_same_solutions(f"SELECT * {{ ?s :p ?v BIND(({number} {sign} ?v) * ?v AS ?w) }}", CONTENT)


def test_what_tells_of_exists_has_one_column() -> None:
    sql = statement("SELECT * { ?s :p ?v FILTER(EXISTS { ?s :q 3 } || EXISTS { ?s :q 1 }) }")
    marks = re.findall(r"WHEN FALSE THEN \S+ END\)\)::VARCHAR AS (v\d+)", sql)
    assert len(marks) == 2
    assert not any(f"{mark}_k" in sql for mark in marks)
