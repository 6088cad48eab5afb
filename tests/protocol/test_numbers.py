"""The order of exact values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
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


@pytest.mark.parametrize(
    ("datatype", "ascending"),
    [
        ("dayTimeDuration", ["-P1D", "-PT1S", "PT0S", "PT9.5S", "PT59.94S", "PT1M", "PT59M61S", "PT2H", "P1D"]),
        ("yearMonthDuration", ["-P1M", "P2M", "P11M", "P1Y", "P13M"]),
        ("duration", ["PT1M", "P27D", "P1M", "P32D", "P364D", "P1Y", "P367D"]),
        (
            "dateTime",
            ["-66000000-01-01T00:00:00Z", "-7000000-01-01T00:00:00Z", "2026-01-01T00:00:00", "300000-05-05T05:05:05Z"],
        ),
        (
            "date",
            [
                "-66000000-01-01",
                "-0044-03-15",
                "0999-01-01",
                "2026-01-02Z",
                "2026-01-02-05:00",
                "2026-01-10",
                "300000-05-05",
            ],
        ),
        ("time", ["10:30:00+02:00", "09:00:00Z", "09:00:00.5Z", "10:00:00"]),
        ("gYear", ["0999", "2026", "12026"]),
        ("gYearMonth", ["2026-02", "2026-11", "12026-01"]),
        ("gMonthDay", ["--02-29", "--03-01", "--11-30"]),
        ("gMonth", ["--02", "--11"]),
        ("gDay", ["---02+01:00", "---02Z", "---11"]),
    ],
)
def test_durations_and_dates_are_ordered_by_their_values(datatype: str, ascending: list[str]) -> None:
    keys = [(order_number(term), order_rest(term)) for term in (typed(lexical, datatype) for lexical in ascending)]
    assert sorted(set(keys), key=lambda key: (key[0] or 0, key[1])) == keys


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [("P1Y", "dayTimeDuration"), ("P1D", "yearMonthDuration"), ("P", "duration"), ("PT", "duration"), ("x", "date"),
     ("05", "gMonth"), ("2026-02-30", "date"), ("--05", "gDay"), ("x", "base64Binary")],
)  # fmt: skip
def test_what_is_no_duration_or_date_has_no_such_order(lexical: str, datatype: str) -> None:
    assert order_number(typed(lexical, datatype)) is None
