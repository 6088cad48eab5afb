from __future__ import annotations

import math

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.functions.table import CUSTOM_FUNCTIONS, FUNCTIONS, MATH

PREFIXES = f"PREFIX math: <{MATH}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DOUBLE = ox.NamedNode("http://www.w3.org/2001/XMLSchema#double")


def value(expression: str) -> str | None:
    """The lexical form of an expression's xsd:double, None for an error."""
    answer = ox.Store().query(
        f"{PREFIXES} SELECT ({expression} AS ?r) {{}}", custom_functions=CUSTOM_FUNCTIONS
    )  # fmt: skip
    assert isinstance(answer, ox.QuerySolutions)
    (solution,) = answer
    term = solution["r"]
    if term is None:
        return None
    assert isinstance(term, ox.Literal)
    assert term.datatype == DOUBLE
    return term.value


@pytest.mark.parametrize(
    ("call", "result"),
    [
        # The examples of XPath Functions and Operators 3.1, section 4.8.
        ("math:exp(0)", "1"),
        ("math:exp('-INF'^^xsd:double)", "0"),
        ("math:exp('INF'^^xsd:double)", "INF"),
        ("math:exp10(0.5)", "3.1622776601683795"),
        ("math:log(0)", "-INF"),
        ("math:log(-1)", "NaN"),
        ("math:log('NaN'^^xsd:double)", "NaN"),
        ("math:log10(1.0e-3)", "-3"),
        ("math:log10(-0e0)", "-INF"),
        ("math:pow(2, 3)", "8"),
        ("math:pow(-2, 3)", "-8"),
        ("math:pow(0, 0)", "1"),
        ("math:pow('INF'^^xsd:double, 0)", "1"),
        ("math:pow(-2, 0.5)", "NaN"),
        ("math:pow(0, -3)", "INF"),
        ("math:pow(-0e0, -3)", "-INF"),
        ("math:pow(0, '-INF'^^xsd:double)", "INF"),
        ("math:pow(-0e0, '-INF'^^xsd:double)", "INF"),
        ("math:pow(-0e0, -3.0e0 - 0.1)", "INF"),
        ("math:pow(-1, 'INF'^^xsd:double)", "1"),
        ("math:pow(1, 'NaN'^^xsd:double)", "1"),
        ("math:sqrt(1.0e6)", "1000"),
        ("math:sqrt(-2)", "NaN"),
        ("math:sin('INF'^^xsd:double)", "NaN"),
        ("math:asin(2)", "NaN"),
        ("math:acos(1)", "0"),
        ("math:atan2(-0e0, -1)", "-3.141592653589793"),
        ("math:pi()", "3.141592653589793"),
        # Too large for a double, odd exponents too.
        ("math:exp(1000)", "INF"),
        ("math:pow(-10, 401)", "-INF"),
        ("math:pow(-10, 400)", "INF"),
        # Every numeric type, beyond what a double tells apart.
        ("math:sqrt('4'^^xsd:unsignedByte)", "2"),
        ("math:sqrt('0.25'^^xsd:float)", "0.5"),
        ("math:sqrt(100000000000000000000)", "10000000000"),
    ],
)
def test_mathematics_gives_what_xpath_says(call: str, result: str) -> None:
    assert value(call) == result


@pytest.mark.parametrize("argument", ["'4'", "true", "<http://ex/>", "?unbound", "'x'^^xsd:integer", "NOW()", "1/0"])
def test_what_is_no_number_is_an_error(argument: str) -> None:
    assert value(f"math:sqrt({argument})") is None
    assert value(f"math:pow(2, {argument})") is None


@given(st.floats(), st.floats())
def test_no_numbers_are_an_error_or_end_a_query(one: float, other: float) -> None:
    for iri, function in FUNCTIONS.items():
        arguments = ", ".join(str(ox.Literal(number)) for number in (one, other)[: function.arguments])
        found = value(f"<{iri}>({arguments})")
        assert found is not None
        if math.isnan(one) and function.arguments == 1:
            assert found == "NaN"
