"""What aggregates are of is computed once, however often they mention it."""

from __future__ import annotations

import pytest

from spark_backend.compiler.sql.tree.nodes import named
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, evaluated

READINGS = Content(
    {
        None: ":a :by :s ; :value 1 . :b :by :s ; :value 2.5 . :c :by :s ; :value 4e0 . :d :by :t ; :value 7, 1 . "
        ":e :by :u ; :value 'x' . :f :by :u ; :value 3 . :g :by :v ; :value -2, 2 ."
    }
)
ARGUMENTS = ["IF(?v > 2, 1, 0)", "?v * 2", "?v + 0.5", "?v / 2", "-?v", "STRLEN(STR(?o))", "COALESCE(?v * 2, 1)"]
FUNCTIONS = ["SUM", "AVG", "MIN", "MAX", "COUNT", "SAMPLE", "SUM(DISTINCT", "AVG(DISTINCT", "COUNT(DISTINCT"]


def query(*aggregates: str) -> str:
    selected = " ".join(f"({aggregate} AS ?a{place})" for place, aggregate in enumerate(aggregates))
    return f"SELECT ?s {selected} {{ ?o :by ?s ; :value ?v }} GROUP BY ?s"


@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX", "SUM(DISTINCT"])
def test_a_long_argument_is_written_once_for_its_term_kind_and_number(function: str) -> None:
    plan, _ = evaluated(query(f"{function}(IF(?v > 2, 1, 0))" + ")" * function.count("(")), READINGS)
    # And once more for DISTINCT.
    assert named(plan.sql).count("sparql_") == 3 + function.count("(")


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_several_aggregates_of_an_argument_are_those_of_one_shot_queries(argument: str) -> None:
    functions = [function for function in FUNCTIONS if function != "SAMPLE"]
    aggregates = [f"{function}({argument})" + ")" * function.count("(") for function in functions]
    assert_same_solutions(query(*aggregates, "COUNT(*)", "SUM(?v)"), READINGS)


def test_concatenations_are_of_computed_strings() -> None:
    distinct = "GROUP_CONCAT(DISTINCT IF(?v > 0, 'above', 'below'); separator=', ')"
    assert_same_solutions(query(distinct, "GROUP_CONCAT('x')", "COUNT(?v + 1)"), READINGS)
