"""No expression fails when it is evaluated, whatever it is given: an error of SPARQL's is unbound, nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.functions.table import MATH
from spark_backend.compiler.plan import compile_query
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, continuous, evaluated

CONTENT = Content({None: ":a :p 1, 2.5, 'x', 'y'@en, :b, true . :b :p 'P1D'^^xsd:duration . _:n :p 'NaN'^^xsd:float ."})

FUNCTIONS = {
    0: ("NOW", "RAND", "UUID", "STRUUID", "BNODE", "CONCAT", "COALESCE", f"<{MATH}pi>"),
    1: (
        *("STR", "LANG", "DATATYPE", "IRI", "URI", "BNODE", "ABS", "CEIL", "FLOOR", "ROUND", "CONCAT", "STRLEN"),
        *("UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"),
        *("MD5", "SHA1", "SHA256", "SHA384", "SHA512", "COALESCE", "isIRI", "isURI", "isBLANK", "isLITERAL"),
        *("isNUMERIC", "!", "-", "+", f"<{MATH}sqrt>", f"<{MATH}log>"),
        *("xsd:boolean", "xsd:integer", "xsd:decimal", "xsd:float", "xsd:double", "xsd:string", "xsd:dateTime"),
        *("xsd:date", "xsd:time", "xsd:duration", "xsd:dayTimeDuration", "xsd:yearMonthDuration", "xsd:gYear"),
        *("xsd:gYearMonth", "xsd:gMonth", "xsd:gMonthDay", "xsd:gDay"),
    ),
    2: (
        *("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER", "STRLANG", "STRDT", "sameTerm"),
        *("REGEX", "SUBSTR", "CONCAT", "COALESCE", f"<{MATH}pow>"),
    ),
    3: ("IF", "REGEX", "SUBSTR", "REPLACE", "CONCAT", "COALESCE"),
    4: ("REPLACE", "COALESCE"),
}
INFIX = ("=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/")

atoms = st.sampled_from(
    (
        *("?v", "?s", "?nope", ":b", "1", "-0", "0", "2.50", "1e0", "''", "'x'", "'y'@en", "'['", "'\\\\'", "'i'"),
        *("true", "false", "'NaN'^^xsd:double", "'INF'^^xsd:float", "'x'^^xsd:integer", "'z'^^:dt", "-1", "9999999999"),
        *("'2020-01-01T00:00:00Z'^^xsd:dateTime", "'P1D'^^xsd:dayTimeDuration", "99999999999999999999", "'1'"),
        *("'2020-01-01'^^xsd:date", "1e308", "0.00000000000000000001", "'é😀\\n'", "'(?<x>'", "'$1'", "NOW()"),
    )
)


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    calls = [
        st.tuples(st.sampled_from(names), st.lists(inner, min_size=count, max_size=count)).map(
            lambda made: f"{made[0]}({', '.join(made[1])})"
        )
        for count, names in FUNCTIONS.items()
    ]
    return st.one_of(
        *calls,
        st.tuples(inner, st.sampled_from(INFIX), inner).map(lambda made: f"({' '.join(made)})"),
        st.tuples(inner, st.sampled_from(("IN", "NOT IN")), st.lists(inner, max_size=3)).map(
            lambda made: f"({made[0]} {made[1]} ({', '.join(made[2])}))"
        ),
        st.sampled_from(("BOUND(?v)", "BOUND(?nope)")),
    )


expressions = st.recursive(atoms, _calls, max_leaves=5)
# Where what is asked of an expression differs: its term, its facets, its truth.
places = st.sampled_from(
    (
        "SELECT ({0} AS ?r) {{?s :p ?v}}",
        "SELECT * {{?s :p ?v FILTER({0})}}",
        "SELECT * {{?s :p ?v FILTER(!({0}))}}",
        "SELECT * {{?s :p ?v BIND({0} AS ?x) FILTER(?x > 1 || ?x = ?v)}}",
        "SELECT * {{?s :p ?v BIND({0} AS ?x) BIND(?x + 1 AS ?y)}}",
        "SELECT * {{?s :p ?v}} ORDER BY DESC({0})",
        "SELECT ({0} AS ?k) (COUNT(*) AS ?n) {{?s :p ?v}} GROUP BY ({0})",
        "SELECT (SUM({0}) AS ?r) (MIN({0}) AS ?z) (COUNT(DISTINCT {0}) AS ?n) {{?s :p ?v}}",
        "SELECT ?s {{?s :p ?v}} GROUP BY ?s HAVING(COUNT({0}) > 0)",
        "SELECT * {{?s :p ?v OPTIONAL {{?z :p ?w FILTER({0})}}}}",
        "SELECT * {{?s :p ?v FILTER EXISTS {{?s :p ?w FILTER({0})}}}}",
        "SELECT ({0} AS ?r) {{}}",
    )
)


def assert_evaluates(text: str) -> None:
    """Refused when it is registered, or evaluated without an error."""
    refused = None
    try:
        compile_query(continuous(text, CONTENT))
    except ProtocolError as error:
        refused = error
    if refused is None:
        evaluated(text, CONTENT)
    else:
        assert refused.line is not None, f"{text}: {refused.detail}"


@pytest.mark.parametrize(
    "condition",
    [
        # What DuckDB 2.0 failed to plan: asking of a choice among constants which kind of term it gives.
        "COALESCE(?nope, IF(-0, :x, ?nope))",
        "COALESCE(IF(?v = 1, :x, ?nope), COALESCE(?nope, 'x'))",
        "IF(-0, :x, COALESCE(?nope, 1))",
        "COALESCE(?nope, ?nope)",
    ],
)
def test_the_truth_of_a_choice_is_that_of_what_is_chosen(condition: str) -> None:
    for text in (f"SELECT * {{?s :p ?v FILTER({condition})}}", f"SELECT * {{?s :p ?v FILTER(!({condition}))}}"):
        assert_same_solutions(text, CONTENT)


@given(places, expressions)
@settings(max_examples=40, deadline=None)
def test_any_expression_is_evaluated_or_refused_with_its_place(place: str, expression: str) -> None:
    assert_evaluates(place.format(expression))


@pytest.mark.long
@given(places, expressions)
@settings(max_examples=4000, deadline=None)
def test_many_expressions_are_evaluated_or_refused_with_their_place(place: str, expression: str) -> None:
    assert_evaluates(place.format(expression))
