"""The columns of facets agree with the scalar definition, term by term."""

from __future__ import annotations

import math

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.terms import INTEGER_DATATYPES, XSD, facets
from spark_backend.ingest.terms.facets import facet_columns, vectorised_facets

NAMES = sorted({*INTEGER_DATATYPES, *(XSD + name for name in ("decimal", "float", "double", "boolean"))})
TIMES = [XSD + "dateTime", XSD + "dateTimeStamp"]

numerals = st.one_of(
    st.integers().map(str),
    st.integers(-(2**54), 2**54).map(str),
    st.floats().map(repr),
    st.floats(width=32).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(
        ["INF", "-INF", "+INF", "NaN", "true", "false", "0", "1", "-0", "-0.0", "abc", "", " 5", "5\n", "٣", '"']
    ),
)
times = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds") + "Z"),
    st.from_regex(
        r"(0000|0001|1[5-9][0-9]{2}|20[0-9]{2}|2[12][0-9]{2}|9999|12345|-0044)-(0[0-9]|1[0-3])-([0-2][0-9]|3[01])"
        r"T([01][0-9]|2[0-5]):[0-6][0-9]:[0-6][0-9](\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-5]):[0-6][0-9])?",
        fullmatch=True,
    ),
    st.sampled_from(["2014-01-01T24:00:00Z", "2014-01-01", ""]),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
terms = st.one_of(
    st.builds(lambda text, name: str(ox.Literal(text, datatype=ox.NamedNode(name))), numerals, st.sampled_from(NAMES)),
    st.builds(lambda text, name: str(ox.Literal(text, datatype=ox.NamedNode(name))), times, st.sampled_from(TIMES)),
    st.builds(
        lambda text, name: str(ox.Literal(text, datatype=ox.NamedNode(name))), texts, st.sampled_from(NAMES + TIMES)
    ),
    texts.map(lambda text: str(ox.Literal(text))),
    texts.map(lambda text: str(ox.Literal(text, language="en"))),
    st.sampled_from(["<http://ex/a>", "<http://ex/é>", "_:b", "_:0", '"5"^^<http://ex/d>', '"@en"', '"^^<x>"']),
)


def assert_agree(column: list[str], k: pa.UInt8Array, n: pa.DoubleArray) -> None:
    assert (k.type, n.type) == (pa.uint8(), pa.float64())
    assert len(k) == len(n) == len(column)
    for term, kind, number in zip(column, k.to_pylist(), n.to_pylist(), strict=True):
        expected_kind, expected = facets(term)
        assert kind == expected_kind, term
        if expected is None or number is None:
            assert number is expected, term
        elif math.isnan(expected):
            assert math.isnan(number), term
        else:
            assert (number, math.copysign(1, number)) == (expected, math.copysign(1, expected)), term


@given(st.lists(terms, max_size=40))
def test_the_vectorised_facets_are_the_scalar_ones(column: list[str]) -> None:
    assert_agree(column, *vectorised_facets(pa.array(column, pa.string())))


@pytest.mark.parametrize("rows", [0, 1, 47, 48, 5000])
def test_every_length_of_column_agrees(rows: int) -> None:
    forms = [f'"{row}"^^<{XSD}integer>' if row % 3 else f'"{row}.5é"@en' for row in range(rows)]
    assert_agree(forms, *facet_columns(pa.array(forms, pa.string())))


def test_one_impossible_date_does_not_spoil_the_others() -> None:
    days = [f'"2014-02-{day:02}T00:00:00Z"^^<{XSD}dateTime>' for day in range(1, 31)]
    k, n = vectorised_facets(pa.array(days, pa.string()))
    assert_agree(days, k, n)
    assert n.null_count == 2
