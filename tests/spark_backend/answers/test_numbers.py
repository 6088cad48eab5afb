"""Numbers beyond SQL's: how they are written and summed."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.terms import TermKind
from spark_backend.answers.numbers import number_term, sum_term

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


@pytest.mark.parametrize(
    ("kind", "number", "written"),
    [
        (TermKind.INTEGER, -0.0, typed("0", "integer")),
        (TermKind.DECIMAL, 2.0, typed("2", "decimal")),
        (TermKind.DOUBLE, 1e300, typed("1" + "0" * 300, "double")),
        (TermKind.DOUBLE, 0.1, typed("0.1", "double")),
        (TermKind.DOUBLE, -0.0, typed("-0", "double")),
        (TermKind.DOUBLE, math.inf, typed("INF", "double")),
        (TermKind.DOUBLE, -math.inf, typed("-INF", "double")),
        (TermKind.DOUBLE, math.nan, typed("NaN", "double")),
        (TermKind.FLOAT, 0.1, typed("0.1", "float")),
        (TermKind.FLOAT, 1e300, typed("INF", "float")),
    ],
)
def test_a_number_is_written_as_the_one_shot_engine_writes_it(kind: TermKind, number: float, written: str) -> None:
    assert number_term(kind, number) == written


def test_no_number_has_no_term() -> None:
    assert number_term(TermKind.DOUBLE, None) is None


@pytest.mark.parametrize(
    ("parts", "total", "average"),
    [
        ((0, None, None, None, None), typed("0", "integer"), typed("0", "integer")),
        ((None, None, None, None, None), typed("0", "integer"), typed("0", "integer")),
        ((2, None, 3, None, None), typed("3", "integer"), typed("1.5", "decimal")),
        ((3, None, 2, None, None), typed("2", "integer"), typed("0.666666666666666666", "decimal")),
        ((3, None, -2, None, None), typed("-2", "integer"), typed("-0.666666666666666666", "decimal")),
        ((2, None, None, Decimal("0.30"), None), typed("0.3", "decimal"), typed("0.15", "decimal")),
        ((3, 1.5, 1, Decimal("0.5"), None), typed("3", "double"), typed("1", "double")),
        ((2, None, 1, None, [typed("0.5", "float")]), typed("1.5", "float"), typed("0.75", "float")),
        (
            (2, None, None, None, [typed("9007199254740993", "integer")] * 2),
            typed("18014398509481986", "integer"),
            typed("9007199254740993", "decimal"),
        ),
        (
            (2, None, None, None, [typed("NaN", "double"), typed("NaN", "double")]),
            typed("NaN", "double"),
            typed("NaN", "double"),
        ),
        ((2, None, 2**63 - 1, None, [typed("9223372036854775807", "integer")]), None, None),
        ((1, None, None, None, [typed("99999999999999999999", "integer")]), None, None),
        ((1, None, None, None, ["<http://ex/a>"]), None, None),
        ((1, None, None, None, ["_:b"]), None, None),
        ((1, None, None, None, ['"a"']), None, None),
    ],
)
def test_a_sum_and_an_average_of_parts(
    parts: tuple[int | None, float | None, int | None, Decimal | None, list[str] | None],
    total: str | None,
    average: str | None,
) -> None:
    assert sum_term(False, *parts) == total
    assert sum_term(True, *parts) == average


def test_an_error_in_any_argument_is_an_error_of_the_sum() -> None:
    assert sum_term(False, 2, None, 3, None, None, errors=1) is None


def test_parts_may_come_as_text() -> None:
    assert sum_term(False, 2, None, "3", "0.5", None, 0) == typed("3.5", "decimal")


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(1, 10**6))
def test_decimals_are_summed_exactly_and_averages_cut(units: int, count: int) -> None:
    """``units``: a sum, in units of 10 to the power of -18."""
    exact = Decimal((units < 0, tuple(map(int, str(abs(units)))), -18))
    for average, term in ((False, exact), (True, Fraction(units, count * 10**18))):
        told = sum_term(average, count, None, None, exact, None)
        assert told is not None
        written = told[1:].partition('"')[0]
        assert Fraction(written) == Fraction(math.trunc(Fraction(term) * 10**18), 10**18)
        assert written == format(Decimal(written), "f"), "without an exponent"
        assert "." not in written or not written.endswith("0")
