"""Casts and functions with IRIs: the same one-shot and over windows, whatever they are given."""

from __future__ import annotations

import pytest

from protocol.functions.table import FUNCTIONS, MATH
from tests.spark_backend.compiler import one_shot as oracle
from tests.spark_backend.compiler.one_shot import INSTANT, Content, assert_same_solutions, evaluated

TERMS = Content(
    {
        None: """
:a :p 1, 2.5, "0"^^xsd:double, -7, "s", "t"@en, :b, true, "12", "2020-02-29", "", "NaN"^^xsd:double ;
   :p "2020-02-29T23:59:59.5+01:00"^^xsd:dateTime, "2020-02-29"^^xsd:date, "23:00:00Z", "P1DT2H", "2020" ;
   :p "P1Y2M3D"^^xsd:duration, "P1Y2M"^^xsd:yearMonthDuration, "2020"^^xsd:gYear, "--02-29" ;
   :p "INF"^^xsd:float, "x"^^xsd:integer, "2020-13-01"^^xsd:date .
_:n :p _:n .
"""
    }
)
CASTS = (
    *("boolean", "integer", "decimal", "float", "double", "string", "dateTime", "date", "time", "duration"),
    *("dayTimeDuration", "yearMonthDuration", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay"),
)


@pytest.mark.parametrize("cast", CASTS)
def test_any_term_is_cast_as_one_shot(cast: str) -> None:
    assert_same_solutions(
        f"SELECT ?v (xsd:{cast}(?v) AS ?z) (xsd:{cast}(STR(?v)) AS ?y) (xsd:{cast}(?no) AS ?x) {{?s :p ?v}}", TERMS
    )


def test_what_was_cast_is_computed_with() -> None:
    content = Content({None: ":a :at '2021-02-27T12:00:00Z'^^xsd:dateTime ; :for 'PT36H' ."})
    text = (
        "SELECT (xsd:date(?t + xsd:dayTimeDuration(?d)) AS ?z) {?s :at ?t ; :for ?d "
        "FILTER(xsd:date(?t) < xsd:date('2021-02-28Z'))}"
    )
    assert_same_solutions(text, content)
    _, answers = evaluated(text, content)
    assert answers[INSTANT] == [('"2021-03-01Z"^^<http://www.w3.org/2001/XMLSchema#date>',)]


@pytest.mark.parametrize("day", range(10, 29))
def test_times_and_durations_are_added_whatever_their_names_and_order(day: int) -> None:
    """Oxigraph turns the operands of ``+`` round by a hash, and then knows no duration plus a dateTime."""
    content = Content({None: f":a :at '2021-02-{day}T12:00:00Z'^^xsd:dateTime ; :for 'PT24H'^^xsd:dayTimeDuration ."})
    text = (
        "SELECT (?t + ?d AS ?w) (?d + ?t AS ?x) (?u + ?c AS ?y) (?t + 'PT24H'^^xsd:dayTimeDuration AS ?z) "
        "{?s :at ?t ; :for ?d ; :at ?c ; :for ?u}"
    )
    _, answers = evaluated(text, content)
    later = f"2021-02-{day + 1}" if day < 28 else "2021-03-01"
    assert answers[INSTANT] == [(f'"{later}T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',) * 4]


@pytest.mark.parametrize("iri", FUNCTIONS)
def test_a_function_of_the_table_gives_the_same_in_both(iri: str) -> None:
    arguments = ", ".join(("?v", "?w")[: FUNCTIONS[iri].arguments])
    assert_same_solutions(f"SELECT ?v ?w (<{iri}>({arguments}) AS ?z) {{?s :p ?v . ?t :p ?w}}", TERMS)


def test_a_standard_deviation() -> None:
    content = Content({None: ":a :p 2, 4, 6 ; :q 9 . :b :p 1 ."})
    text = (
        f"PREFIX math: <{MATH}> SELECT ?s (math:sqrt(AVG(?v * ?v) - AVG(?v) * AVG(?v)) AS ?z) "
        "{?s :p ?v} GROUP BY ?s HAVING(math:pow(COUNT(*), 2) > 1) ORDER BY math:log(SUM(?v))"
    )
    assert_same_solutions(text, content, ordered=True)
    _, answers = evaluated(text, content)
    assert answers[INSTANT][0][1] == '"1.632993161855452"^^<http://www.w3.org/2001/XMLSchema#double>'


def test_the_oracle_knows_the_table() -> None:
    (solution,) = oracle.one_shot(f"SELECT (<{MATH}sqrt>(4) AS ?z) {{}}", TERMS)
    assert str(solution["z"]).startswith('"2"')
