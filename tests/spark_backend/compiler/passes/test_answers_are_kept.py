"""No pass changes an answer: with all of them, without any, and without each one in turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from protocol.errors import QuerySyntaxError
from protocol.language import algebra as a
from spark_backend.compiler.algebra.traversal import bottom_up
from spark_backend.compiler.passes import PASSES, Pass
from tests.spark_backend.compiler.differential.test_patterns import MIXED, PATTERNS
from tests.spark_backend.compiler.generated.queries import asked_paths, contents, queries
from tests.spark_backend.compiler.generated.test_queries import SLOW
from tests.spark_backend.compiler.one_shot import INSTANT, Content, evaluated
from tests.spark_backend.compiler.passes.corpus import CORPUS
from tests.spark_backend.compiler.passes.variants import assert_passes_keep
from tests.spark_backend.compiler.sql.patterns.test_exists import GROUPS


def _of_the_corpus(every: int) -> pytest.MarkDecorator:
    """One in so many of its queries."""
    some = CORPUS[::every]
    return pytest.mark.parametrize(("text", "content"), some, ids=[text for text, _ in some])


@_of_the_corpus(2)
def test_the_passes_change_no_answer(text: str, content: Content) -> None:
    assert_passes_keep(text, content, each=False)


@pytest.mark.slow
@_of_the_corpus(1)
def test_the_passes_change_no_answer_where_one_is_left_out(text: str, content: Content) -> None:
    assert_passes_keep(text, content)


# Blank nodes that are named are the same at every parse.
_NAMED = Content({None: MIXED.replace("[ :m 4 ]", "_:y . _:y :m 4")})


@pytest.mark.long
@pytest.mark.parametrize("text", [*PATTERNS.values(), *(f"SELECT * {{{group}}}" for group in GROUPS.values())])
def test_the_passes_change_no_answer_of_other_tests(text: str) -> None:
    assert_passes_keep(text, _NAMED)


def _kept(text: str, content: Content) -> None:
    try:
        assert_passes_keep(text, content)
    except QuerySyntaxError:
        assume(False)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(st.one_of(queries, asked_paths), contents)
def test_the_passes_change_no_answer_of_a_generated_query(text: str, content: Content) -> None:
    _kept(text, content)


@pytest.mark.long
@settings(max_examples=2000, deadline=None, suppress_health_check=SLOW)
@given(st.one_of(queries, asked_paths), contents)
def test_the_passes_change_no_answer_of_many_generated_queries(text: str, content: Content) -> None:
    _kept(text, content)


def _into_the_right_of_optional(query: a.Query, _: object) -> a.Query:
    def pushed(pattern: a.Pattern, _: bool) -> a.Pattern:
        match pattern:
            case a.Filter(a.LeftJoin(left, right, asked), condition):
                return a.LeftJoin(left, a.Filter(right, condition), asked)
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, pushed))


def _into_the_right_of_minus(query: a.Query, _: object) -> a.Query:
    def pushed(pattern: a.Pattern, _: bool) -> a.Pattern:
        match pattern:
            case a.Filter(a.Minus(left, right), condition):
                return a.Minus(left, a.Filter(right, condition))
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, pushed))


def _below_a_limit(query: a.Query, _: object) -> a.Query:
    def pushed(pattern: a.Pattern, _: bool) -> a.Pattern:
        match pattern:
            case a.Filter(a.Slice(inner, offset, limit), condition):
                return a.Slice(a.Filter(inner, condition), offset, limit)
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, pushed))


def _errors_are_true(query: a.Query, _: object) -> a.Query:
    def folded(pattern: a.Pattern, _: bool) -> a.Pattern:
        failing = a.Call("/", (a.Constant(_INTEGER.format(1)), a.Constant(_INTEGER.format(0))))
        match pattern:
            case a.Filter(inner, condition) if failing in a.nodes(condition):
                return inner
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, folded))


_INTEGER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (_into_the_right_of_optional, "OPTIONAL"),
        (_into_the_right_of_minus, "MINUS"),
        (_below_a_limit, "LIMIT"),
        (_errors_are_true, "1/0"),
    ],
)
def test_a_wrong_pass_would_be_noticed(wrong: Pass, word: str) -> None:
    """Some query of the corpus, of those with this word, tells it from doing nothing."""

    def differs(text: str, content: Content) -> bool:
        _, right = evaluated(text, content, passes=())
        _, changed = evaluated(text, content, passes=(wrong,))
        return right[INSTANT] != changed[INSTANT]

    assert any(differs(text, content) for text, content in CORPUS if "FILTER" in text and word in text)


def test_each_pass_has_a_file_of_its_name() -> None:
    for one in PASSES:
        assert one.__module__ == f"spark_backend.compiler.passes.{one.__name__}"
