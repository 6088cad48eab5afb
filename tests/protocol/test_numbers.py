"""The order of exact values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from protocol.numbers import order_number, order_rest, quotient_term

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2))
def test_integers_are_ordered_exactly(pair: list[int]) -> None:
    keys = [(order_number(term), order_rest(term)) for term in (typed(str(number), "integer") for number in pair)]
    assert (keys[0] < keys[1]) == (pair[0] < pair[1])
    assert (keys[0] == keys[1]) == (pair[0] == pair[1])


@given(
    st.lists(
        st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-10, max_value=10),
        min_size=2,
        max_size=2,
    )
)
def test_decimals_are_ordered_exactly(pair: list[Decimal]) -> None:
    keys = [(order_number(term), order_rest(term)) for term in (typed(f"{number:f}", "decimal") for number in pair)]
    assert (keys[0] < keys[1]) == (Fraction(pair[0]) < Fraction(pair[1]))


def test_date_times_are_ordered_to_the_nanosecond_and_across_zones() -> None:
    ascending = [
        "2020-01-01T00:00:00.123456788+00:00",
        "2020-01-01T00:00:00.123456789Z",
        "2020-01-01T01:00:00.123456790+01:00",
        "2020-01-01T00:00:01Z",
    ]
    keys = [(order_number(term), order_rest(term)) for term in (typed(text, "dateTime") for text in ascending)]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_a_nan_comes_after_all_numbers() -> None:
    nan, infinity = typed("NaN", "double"), typed("INF", "double")
    assert (order_number(nan), order_rest(nan)) > (order_number(infinity), order_rest(infinity) - 1)
    assert order_number(nan) == math.inf


def test_a_quotient_has_as_many_digits_as_it_takes() -> None:
    assert quotient_term(10**5000 + 1, 2) == typed("5" + "0" * 4999 + ".5", "decimal")
    assert quotient_term(-(10**5000), 1) == typed("-1" + "0" * 5000, "decimal")
