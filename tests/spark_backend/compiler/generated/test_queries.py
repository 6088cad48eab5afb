"""Generated queries over generated windows and graphs: DuckDB and Oxigraph agree."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from protocol.errors import QuerySyntaxError
from tests.spark_backend.compiler.generated.queries import asks, constructs, contents, ordered_queries, queries
from tests.spark_backend.compiler.one_shot import (
    Content,
    asked,
    assert_same_solutions,
    by_value,
    constructed,
    evaluated,
    graph_by_graph,
    one_shot,
    turtle,
)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
MOST_CHARACTERS = 8000
"""Of a query with each GRAPH ?g written out."""


def for_the_oracle(text: str, content: Content) -> str:
    oracle = graph_by_graph(text, content)
    assume(len(oracle) < MOST_CHARACTERS)
    return oracle


def agree(text: str, content: Content, *, ordered: bool = False) -> None:
    """The same solutions. What Oxigraph says is no query (BIND of a variable already in scope) is none."""
    oracle = for_the_oracle(text, content)
    try:
        assert_same_solutions(text, content, ordered=ordered, oracle=oracle)
    except SyntaxError:
        assume(False)
    except QuerySyntaxError:
        with pytest.raises(SyntaxError):  # it is none to either
            one_shot(oracle, content)
        assume(False)


def agree_in_order(text: str, content: Content) -> None:
    agree(text, content, ordered=True)


def agree_on_truth(text: str, content: Content) -> None:
    try:
        wanted = bool(one_shot(for_the_oracle(text, content), content))
    except SyntaxError:
        assume(False)
    assert asked(text, content) == wanted, text


def agree_on_graph(text: str, content: Content) -> None:
    try:
        answer = one_shot(for_the_oracle(text, content), content)
        wanted = {tuple(map(by_value, map(str, triple))) for triple in answer}
    except SyntaxError:
        assume(False)
    lines = "\n".join(constructed(text, content))
    assert {tuple(map(by_value, triple)) for triple in turtle(lines)} == wanted, text


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_a_generated_query_gives_what_it_gives_one_shot(text: str, content: Content) -> None:
    agree(text, content)


@pytest.mark.long
@settings(max_examples=5000, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_many_generated_queries_give_what_they_give_one_shot(text: str, content: Content) -> None:
    agree(text, content)


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(ordered_queries, contents)
def test_a_generated_query_gives_its_solutions_in_order(text: str, content: Content) -> None:
    agree_in_order(text, content)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=SLOW)
@given(ordered_queries, contents)
def test_many_generated_queries_give_their_solutions_in_order(text: str, content: Content) -> None:
    agree_in_order(text, content)


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(asks, contents)
def test_a_generated_ask_says_what_it_says_one_shot(text: str, content: Content) -> None:
    agree_on_truth(text, content)


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(constructs, contents)
def test_a_generated_construct_makes_the_graph_it_makes_one_shot(text: str, content: Content) -> None:
    agree_on_graph(text, content)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(queries, contents)
def test_neither_arrival_nor_company_changes_an_answer(text: str, content: Content) -> None:
    """The rows of an instant, in their order, are the same in any order of arrival and among any other instants."""
    try:
        _, alone = evaluated(text, content, (5000,))
    except QuerySyntaxError:
        assume(False)
    _, together = evaluated(text, content, (1000, 5000, 9000), reverse=True)
    assert together[5000] == alone[5000]
    assert together[1000] == together[9000] == alone[5000]
