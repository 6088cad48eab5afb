"""Aggregates with IRIs over a window give what they give one-shot."""

from __future__ import annotations

import pytest

from protocol.functions.aggregates import AGGREGATES_NAMESPACE, JENA
from protocol.grammar.one_shot import as_standard
from tests.spark_backend.compiler.differential.test_aggregates import GROUPS
from tests.spark_backend.compiler.one_shot import INSTANT, PREFIXES, Content, assert_same_solutions, evaluated

AGG = f"PREFIX agg: <{AGGREGATES_NAMESPACE}> PREFIX jena: <{JENA}> "
CALLS = (
    *(f"agg:{name}(?v)" for name in ("median", "mode", "stdev", "stdev_pop", "variance", "var_pop")),
    *("agg:median(DISTINCT ?v)", "agg:mode(DISTINCT ?v)", "agg:var_pop(DISTINCT ?v)", "jena:stdev_samp(DISTINCT ?v)"),
    *("agg:percentile(?v, 90)", "agg:percentile(DISTINCT ?v, 12.5)", "agg:percentile(?v, 200)"),
    *("agg:first(?v, ?v)", "agg:last(?v, STR(?v))", "agg:first(?s, ?v)", "agg:last(?s, DATATYPE(?v))"),
)


def assert_same(text: str, content: Content = GROUPS, *, ordered: bool = False) -> None:
    assert_same_solutions(AGG + text, content, ordered=ordered, oracle=as_standard(PREFIXES + AGG + text))


@pytest.mark.parametrize("call", CALLS)
def test_an_aggregate_of_any_group_is_that_of_the_one_shot_query(call: str) -> None:
    assert_same(f"SELECT ?s ({call} AS ?z) {{?s :p ?v}} GROUP BY ?s")
    assert_same(f"SELECT ({call} AS ?z) (COUNT(?v) AS ?n) {{?s :p ?v FILTER(ISNUMERIC(?v))}}")
    assert_same(f"SELECT ?q ({call} AS ?z) {{?s :q ?q OPTIONAL {{?s :p ?v}}}} GROUP BY ?q")


@pytest.mark.parametrize("call", CALLS)
def test_an_aggregate_of_nothing_is_that_of_the_one_shot_query(call: str) -> None:
    assert_same(f"SELECT ({call} AS ?z) {{?s :never ?v}}")
    assert_same(f"SELECT ({call} AS ?z) {{?s :never ?v}}", Content({None: ""}))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s (agg:median(?v) * 2 AS ?z) {?s :p ?v} GROUP BY ?s HAVING (agg:median(?v) > 1)",
        "SELECT ?s (agg:stdev(?v) AS ?z) (AVG(?v) AS ?y) (agg:stdev(?v) AS ?x) {?s :p ?v} GROUP BY ?s",
        "SELECT (agg:median(?n) AS ?z) {SELECT ?s (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s}",
        "SELECT (agg:median(?v + 1) AS ?z) (agg:mode(DATATYPE(?v)) AS ?y) {?s :p ?v FILTER(ISNUMERIC(?v))}",
        "SELECT ?s (COALESCE(agg:median(?v), 'none') AS ?z) {?s :p ?v} GROUP BY ?s",
        "SELECT ?s (agg:percentile(?v, ?q) AS ?z) {?s :p ?v ; :q ?q} GROUP BY ?s",
    ],
)
def test_a_grouped_query_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same(text)


def test_groups_come_in_the_order_of_an_aggregate() -> None:
    text = "SELECT ?s {?s :p ?v FILTER(ISNUMERIC(?v))} GROUP BY ?s ORDER BY DESC(agg:percentile(?v, 10)) ?s"
    assert_same(text, ordered=True)


@pytest.mark.parametrize("reverse", [False, True])
def test_of_equal_keys_the_term_decides_whatever_came_first(reverse: bool) -> None:
    content = Content({None: ":a :p 1 ; :at 5 . :b :p 2 ; :at 5 . :c :p 3 ; :at 7 . :d :p 4 ; :at 7 ."})
    text = AGG + "SELECT (agg:first(?v, ?t) AS ?f) (agg:last(?v, ?t) AS ?l) {?s :p ?v ; :at ?t}"
    _, answers = evaluated(text, content, reverse=reverse)
    integers = [f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in (1, 4)]
    assert answers[INSTANT] == [tuple(integers)]


WRITTEN = (
    '"007"^^xsd:integer', '"7"^^xsd:int', '"1.00"^^xsd:decimal', '"1"^^xsd:boolean',
    '"2020-01-01T00:00:00.000Z"^^xsd:dateTime',
    r'"a \"quoted\" \\\\ \\n\n\t"@en--ltr', '"\\u0007"', "_:node", "<<( :s :p '\"' )>>",
)  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_the_first_is_the_term_as_it_was_sent(written: str) -> None:
    """A store may write it otherwise; so does MODE, which is the term as well."""
    text = AGG + "SELECT (agg:first(?v, ?v) AS ?f) (agg:last(?v, 1) AS ?l) (agg:mode(?v) AS ?m) {?s :p ?v}"
    _, answers = evaluated(text, Content({None: f":a :p {written} ."}))
    ((first, last, mode),) = answers[INSTANT]
    assert first == last == mode
    assert mode is not None


def test_a_key_that_is_an_error_makes_the_first_one() -> None:
    assert_same("SELECT (agg:first(?v, 1/0) AS ?f) (agg:last(?w, ?v) AS ?l) {?s :p ?v OPTIONAL {?s :q ?w}}")
