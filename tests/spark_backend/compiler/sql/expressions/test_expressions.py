"""What a condition is in SQL: tables are joined on the terms of what is equal to no other term."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from protocol.terms import XSD
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude
from spark_backend.compiler.sql.tree.expressions import Column, Infix, Parentheses
from spark_backend.compiler.sql.values import Value
from tests.spark_backend.compiler.one_shot import PREFIXES


def value(name: str) -> Value:
    return Value(Column(name, "t"), Column(f"{name}_k", "t"), Column(f"{name}_n", "t"))


@pytest.mark.parametrize(
    ("condition", "by_term"),
    [
        ("STR(?a) = ?b", True),
        ("?b = CONCAT(?a, 'x')", True),
        ("DATATYPE(?a) = DATATYPE(?b)", True),
        ("?a = :b", True),
        ("?a = 's'@en", True),
        ("?a = ?b", False),
        ("?a = 1", False),
        ("?a = YEAR(?b)", False),
        ("STR(?a) != ?b", False),
        ("!(STR(?a) = ?b)", False),
    ],
)
def test_tables_are_joined_on_terms_that_equal_no_other(condition: str, by_term: bool) -> None:
    pattern = read_query(f"{PREFIXES} SELECT * {{?a :p ?b FILTER({condition})}}").pattern
    (filtered,) = (node for node in a.nodes(pattern) if isinstance(node, a.Filter))
    compiler = ExpressionCompiler(
        {a.Variable(name): value(name) for name in "ab"}, Prelude(None), Column("instant", "t")
    )
    match compiler.holds(filtered.condition):
        case Parentheses(Infix("=", _)):
            assert by_term
        case _:
            assert not by_term


def test_a_number_more_in_a_list_is_a_number_more_in_sql() -> None:
    def length(count: int) -> int:
        numbers = tuple(a.Constant(f'"{place}"^^<{XSD}integer>') for place in range(100, 100 + count))
        compiler = ExpressionCompiler({a.Variable("a"): value("a")}, Prelude(None), Column("instant", "t"))
        return compiler.truth(a.Call("IN", (a.Variable("a"), *numbers))).length

    assert length(60) - length(50) == 10 * len(", '100.0'::DOUBLE")
