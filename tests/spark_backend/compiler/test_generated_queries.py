"""Generated queries over generated windows and graphs: DuckDB and Oxigraph agree."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.spark_backend.compiler.generated_queries import contents, queries
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, evaluated, graph_by_graph

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def agree(text: str, content: Content) -> None:
    try:
        oracle = graph_by_graph(text, content)
        assume(len(oracle) < 8000)
        assert_same_solutions(text, content, oracle=oracle)
    except SyntaxError:  # BIND of a variable already in scope, and the like: Oxigraph says what is no query
        assume(False)


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_a_generated_query_gives_what_it_gives_one_shot(text: str, content: Content) -> None:
    agree(text, content)


@pytest.mark.long
@settings(max_examples=3000, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_many_generated_queries_give_what_they_give_one_shot(text: str, content: Content) -> None:
    agree(text, content)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_neither_arrival_nor_company_changes_an_answer(text: str, content: Content) -> None:
    """The rows of an instant, in their order, are the same in any order of arrival and among any other instants."""
    from protocol.errors import QuerySyntaxError

    try:
        _, alone = evaluated(text, content, (5000,))
    except QuerySyntaxError:
        assume(False)
    _, together = evaluated(text, content, (1000, 5000, 9000), reverse=True)
    assert together[5000] == alone[5000]
    assert together[1000] == together[9000] == alone[5000]
