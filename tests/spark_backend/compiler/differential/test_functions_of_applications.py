"""Functions of an application: the same one-shot and over windows, whatever they are given and raise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import UnsupportedFeature
from protocol.functions.python_functions import OfValues, PythonFunctions
from spark_backend.compiler.plan import compile_query
from tests.application_functions import IRI, OF_TERMS, doubled
from tests.spark_backend.compiler.differential.test_functions_with_iris import TERMS
from tests.spark_backend.compiler.one_shot import INSTANT, Content, assert_same_solutions, continuous, evaluated

FUNCTIONS = PythonFunctions.of({**OF_TERMS, f"{IRI}doubled": OfValues(doubled)}, frozenset({"urn:rows", "urn:Rows"}))
F = f"PREFIX f: <{IRI}>"

# Oxigraph keeps numbers as values: of "01"^^xsd:integer STR() is another there.
literals = st.one_of(
    st.integers(-5, 5).map(str),
    st.decimals(-5, 5, places=2).map(lambda number: f"{number:f}"),
    st.sampled_from(['"x"', '"x"@en', '"x"^^xsd:integer', '"é\\n\\""', ":i", "true", '"2020-02-30"^^xsd:date']),
)
contents = st.lists(literals, min_size=1, max_size=8).map(lambda some: Content({None: f":a :p {', '.join(some)} ."}))
expressions = st.recursive(
    st.sampled_from(["?v", "?w", "?no", "1", '"x"']),
    lambda inner: st.one_of(
        st.builds("f:{}({})".format, st.sampled_from(["same", "described", "page_of", "nothing", "doubled"]), inner),
        st.builds("f:picky({}, {})".format, inner, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("STR({})".format, inner),
        st.builds("({} + {})".format, inner, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None)
@given(contents, expressions)
def test_any_expression_gives_the_same(content: Content, expression: str) -> None:
    assert_same_solutions(
        f"{F} SELECT ?v ?w ({expression} AS ?z) {{?s :p ?v . ?t :p ?w}}", content, functions=FUNCTIONS
    )


@settings(max_examples=20, deadline=None)
@given(contents, expressions)
def test_any_filter_keeps_the_same(content: Content, expression: str) -> None:
    assert_same_solutions(
        f"{F} SELECT * {{?s :p ?v . ?t :p ?w FILTER({expression} = ?v)}}", content, functions=FUNCTIONS
    )


@pytest.mark.parametrize("name", ["same", "described", "page_of", "no_term", "nothing", "doubled"])
def test_any_term(name: str) -> None:
    assert_same_solutions(
        f"{F} SELECT ?v (f:{name}(?v) AS ?z) {{?s :p ?v FILTER(!isBlank(?v))}}", TERMS, functions=FUNCTIONS
    )


def test_in_groups_and_orders() -> None:
    text = (
        f"{F} SELECT ?z (COUNT(*) AS ?n) (f:at_all() AS ?c) {{?s :p ?v BIND(f:page_of(?v) AS ?z)}} "
        "GROUP BY ?z HAVING(f:same(COUNT(*)) > 1) ORDER BY f:described(?z)"
    )
    assert_same_solutions(text, TERMS, ordered=True, functions=FUNCTIONS)


def test_what_raises_leaves_the_variable_unbound() -> None:
    _, answers = evaluated(
        f"{F} SELECT ?v (f:picky(?v, 1) AS ?z) {{?s :p ?v}} ORDER BY ?v",
        Content({None: ":a :p 1, 2, 3 ."}),
        functions=FUNCTIONS,
    )
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert [z for _, z in answers[INSTANT]] == [f'"2"{integer}', None, f'"4"{integer}']


def test_a_call_of_constants_is_not_made_where_the_query_is_registered() -> None:
    plan = compile_query(continuous(f"{F} SELECT (f:same(1) AS ?z) {{?s :p ?v}}", TERMS), functions=FUNCTIONS)
    assert len(plan.functions) == 1


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (
            "?s :p ?v BIND(<urn:rows>(?v) AS ?z)",
            "<urn:rows> gives rows, not a term, and works in one-shot queries only",
        ),
        ("?s <urn:rows> ?v", "<urn:rows> is a function of rows, and works in one-shot queries only"),
        ("?s a <urn:Rows> ; :p ?v", "<urn:Rows> is a function of rows"),
        ("?s :p ?v BIND(f:SAME(?v) AS ?z)", f"do you mean <{IRI}same>?"),
    ],
)
def test_what_only_rdflib_evaluates_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(UnsupportedFeature) as raised:
        compile_query(continuous(f"{F} SELECT * {{{pattern}}}", TERMS), functions=FUNCTIONS)
    assert why in raised.value.detail
