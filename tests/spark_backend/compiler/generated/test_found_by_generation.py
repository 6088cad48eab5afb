"""Disagreements that generated queries have found, each by its smallest query (test_generated_queries.py)."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions

CONTENT = Content({None: ":x :p 1, 2.5, 's' . :y :p :x .", "http://ex/w1": ":x :p :y ."}, {None: ""})

FOUND = {
    "a sum that is finished outside of SQL, named as what a sub-select reads by value": "SELECT (SUM(?a) AS ?n) "
    "{ { SELECT (STRLEN(GROUP_CONCAT(STR(?b))) AS ?m) { ?b :p ?a } } ?x :p ?a } HAVING(COUNT(*) > 1)",
    "a concatenation of a constant": "SELECT (GROUP_CONCAT('s') AS ?n) { ?a :p ?b }",
    "a concatenation of a distinct constant": "SELECT (GROUP_CONCAT(DISTINCT 's') AS ?n) { ?a :p ?b }",
    "a concatenation of what is no string": "SELECT (GROUP_CONCAT(:x) AS ?n) { ?a :p ?b }",
    "a concatenation of a constant in disguise": "SELECT (GROUP_CONCAT(COALESCE(?nope, 's')) AS ?n) { ?a :p ?b }",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND.keys())
def test_what_was_found_is_answered_as_one_shot(text: str) -> None:
    assert_same_solutions(text, CONTENT)
