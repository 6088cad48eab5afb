"""Aggregates with IRIs: what they give, whatever the order of the terms, and as Oxigraph calls them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.functions.aggregates import (
    AGGREGATES,
    AGGREGATES_NAMESPACE,
    CUSTOM_AGGREGATES,
    JENA,
    aggregate_term,
    pair,
)
from protocol.functions.table import CUSTOM_FUNCTIONS
from protocol.grammar.one_shot import as_standard
from protocol.terms import XSD, parse_term

PREFIXES = f"PREFIX agg: <{AGGREGATES_NAMESPACE}> PREFIX jena: <{JENA}> PREFIX xsd: <{XSD}> "


def typed(lexical: object, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


def aggregate(name: str, terms: Sequence[str]) -> str | None:
    return aggregate_term(AGGREGATES[f"{AGGREGATES_NAMESPACE}{name}"].called(False), terms, 0)


def of_pairs(name: str, pairs: Sequence[tuple[str, str]]) -> str | None:
    return aggregate(name, [str(pair(parse_term(one), parse_term(other))) for one, other in pairs])


def value(term: str | None) -> float:
    assert term is not None
    return float(term[1:].partition('"')[0].replace("INF", "inf"))


def one_shot(text: str) -> list[list[str | None]]:
    """The answer, asked as the endpoint asks."""

    def ask(query: str) -> list[list[str | None]]:
        found = ox.Store().query(
            query, custom_functions=CUSTOM_FUNCTIONS, custom_aggregate_functions=CUSTOM_AGGREGATES
        )  # fmt: skip
        assert isinstance(found, ox.QuerySolutions)
        return [[None if term is None else str(term) for term in row] for row in found]

    found = ask(as_standard(PREFIXES + text))
    if "jena:" in text and "DISTINCT" not in text:
        assert ask(PREFIXES + text) == found
    return found


doubles = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(doubles)
def test_the_spread_of_doubles_is_that_of_their_exact_values_rounded_once(numbers: list[float]) -> None:
    terms = [typed(repr(number), "double") for number in numbers]
    exact = [Fraction(number) for number in numbers]
    mean = sum(exact) / len(exact)
    squares = sum((number - mean) ** 2 for number in exact)
    assert value(aggregate("var_pop", terms)) == float(squares / len(exact))
    assert (
        value(aggregate("variance", terms)) == value(aggregate("var_samp", terms)) == float(squares / (len(exact) - 1))
    )
    assert value(aggregate("stdev", terms)) == pytest.approx(math.sqrt(squares / (len(exact) - 1)), rel=1e-15)
    assert aggregate("stdev", terms) == aggregate("stdev_samp", terms)
    assert value(aggregate("stdev_pop", terms)) == statistics.pstdev(exact)


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=20), st.integers(0, 100))
def test_a_percentile_of_decimals_is_exact_and_interpolated(numbers: list[Decimal], percent: int) -> None:
    terms = [typed(f"{number:f}", "decimal") for number in numbers]
    found = of_pairs("percentile", [(term, typed(percent, "integer")) for term in terms])
    assert found is not None
    assert found.endswith(f"^^<{XSD}decimal>")
    wanted = numpy.percentile([float(number) for number in numbers], percent, method="linear")
    assert value(found) == pytest.approx(float(wanted), abs=1e-9)
    assert aggregate("median", terms) == of_pairs("percentile", [(term, typed(50, "integer")) for term in terms])


@given(st.data(), st.sampled_from(["median", "mode", "stdev", "variance", "var_pop", "first", "last", "percentile"]))
def test_no_aggregate_depends_on_the_order_of_its_terms(data: st.DataObject, name: str) -> None:
    numbers = st.sampled_from(
        [
            typed(1, "integer"),
            typed("1.5", "decimal"),
            typed("1e300", "double"),
            typed("0.1", "float"),
            typed("INF", "double"),
        ]
    )
    terms = data.draw(st.lists(numbers, max_size=8))
    shuffled = data.draw(st.permutations(terms))
    if AGGREGATES[f"{AGGREGATES_NAMESPACE}{name}"].arguments == 1:
        assert aggregate(name, terms) == aggregate(name, shuffled)
    else:
        keys = {term: typed(10, "integer") if name == "percentile" else term for term in terms}
        assert of_pairs(name, [(term, keys[term]) for term in terms]) == of_pairs(
            name, [(term, keys[term]) for term in shuffled]
        )


@pytest.mark.parametrize(
    ("call", "values", "result"),
    [
        ("agg:median(?v)", "1 2 4", typed(2, "decimal")),
        ("agg:median(?v)", "1 2", typed("1.5", "decimal")),
        ("agg:median(?v)", "1 2.5e0", typed("1.75", "double")),
        ("agg:median(?v)", "1 'INF'^^xsd:double", typed("INF", "double")),
        ("agg:median(?v)", "'-INF'^^xsd:double 'INF'^^xsd:double", typed("NaN", "double")),
        ("agg:median(?v)", "1 'NaN'^^xsd:double", typed("NaN", "double")),
        ("agg:median(?v)", "1 'a'", None),
        ("agg:median(?v)", "1 UNDEF", None),
        ("agg:median(?v)", "", None),
        ("agg:median(DISTINCT ?v)", "1 1 1 5", typed(3, "decimal")),
        ("jena:median(?v)", "1 1 1 5", typed(1, "decimal")),
        ("jena:stdev(?v)", "-1 2 3 3", typed("1.8929694486000912", "double")),
        ("jena:stdev(DISTINCT ?v)", "-1 2 3 3", typed("2.0816659994661326", "double")),
        ("jena:var_pop(?v)", "-1 2 3 3", typed("2.6875", "double")),
        ("agg:stdev(?v)", "1", None),
        ("agg:stdev_pop(?v)", "1", typed(0, "double")),
        ("agg:variance(?v)", "1 'INF'^^xsd:double", typed("NaN", "double")),
        ("agg:mode(?v)", "1 2 2 'a'", typed(2, "integer")),
        ("agg:mode(?v)", "'b' 'a' <urn:x>", "<urn:x>"),
        ("agg:percentile(?v, 95)", "1 2 3 4 5", typed("4.8", "decimal")),
        ("agg:percentile(?v, 0)", "3 1 2", typed(1, "decimal")),
        ("agg:percentile(?v, 100)", "3 1 2", typed(3, "decimal")),
        ("agg:percentile(?v, 101)", "3 1 2", None),
        ("agg:percentile(?v, ?v)", "3 1 2", None),
        ("agg:first(?v, -?v)", "3 1 2", typed(3, "integer")),
        ("agg:last(?v, STR(?v))", "9 10 2", typed(9, "integer")),
        ("agg:first(?v, 1)", "'b' 'a'@en 'a'", '"a"'),
        ("agg:last(?v, 1)", "'b' 'a'@en 7", '"b"'),
        ("agg:first(?v, ?v)", "", None),
        ("agg:first(?v, ?v)", "1 UNDEF", None),
        ("agg:last(?v, ?v)", "<urn:x> 'two\\nlines \\\\ \"'", '"two\\nlines \\\\ \\""'),
        ("agg:median(?v) * 2", "1 2", typed(3, "decimal")),
    ],
)
def test_an_aggregate_of_a_group(call: str, values: str, result: str | None) -> None:
    assert one_shot(f"SELECT ({call} AS ?r) {{ VALUES ?v {{ {values} }} }}") == [[result]]
    rows = " ".join(f"({one} 1)" for one in values.split()) if "'two" not in values else ""
    if rows:
        grouped = one_shot(f"SELECT ?k ({call} AS ?r) {{ VALUES (?v ?k) {{ {rows} }} }} GROUP BY ?k")
        assert [row[1] for row in grouped] == [result]


def test_aggregates_go_in_having_and_order_by() -> None:
    found = one_shot(
        "SELECT ?k (agg:last(?v, ?v) AS ?l) (COUNT(*) AS ?n) { VALUES (?k ?v) { (1 1) (1 3) (2 9) (3 5) (3 7) } } "
        "GROUP BY ?k HAVING (agg:median(?v) < 9) ORDER BY DESC(agg:median(?v))"
    )
    assert [[value(term) for term in row] for row in found] == [[3, 7, 2], [1, 3, 2]]
