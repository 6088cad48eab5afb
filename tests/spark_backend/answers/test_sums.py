"""Sums that are made together are those that are made one by one."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_backend.answers.numbers import sum_term
from spark_backend.answers.sums import sum_terms
from spark_backend.compiler.algebra.partial_sums import PARTS

TYPES = (
    pa.int64(),
    pa.float64(),
    pa.decimal128(38, 0),
    pa.decimal128(38, 18),
    pa.list_(pa.string()),
    pa.int64(),
)
SCHEMA = pa.schema(list(zip(PARTS, TYPES, strict=True)))
decimals = st.one_of(
    st.integers(-(10**38) + 1, 10**38 - 1).map(lambda units: Decimal(f"{units}e-18")),
    st.decimals(-1000, 1000, places=2),
    st.integers(-9, 9).map(lambda units: Decimal(f"{units}e-18")),
)
counts = st.integers(1, 2**53)
of_decimals = st.tuples(counts, st.none(), st.none(), decimals, st.sampled_from([None, []]), st.just(0))
integers = st.one_of(
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.integers(-9, 9),
    st.integers(-(2**63) - 1, 1 - 2**63),
    st.integers(2**63 - 2, 2**63),
).map(Decimal)
of_integers = st.tuples(counts, st.none(), integers, st.none(), st.sampled_from([None, []]), st.just(0))
others = st.tuples(
    counts,
    st.none() | st.floats(-10, 10),
    st.none() | st.integers(-100, 100).map(Decimal),
    st.none() | decimals,
    st.sampled_from([None, [], ['"1.5"^^<http://www.w3.org/2001/XMLSchema#float>']]),
    st.sampled_from([0, 0, 1]),
)
nothing = st.just((0, None, None, None, None, 0))


@pytest.mark.parametrize("average", [False, True])
@given(rows=st.lists(st.one_of(of_decimals, of_integers, others, nothing), min_size=1, max_size=12))
def test_sums_made_together_are_those_made_one_by_one(average: bool, rows: list[tuple[object, ...]]) -> None:
    rows = rows * 64  # so many are made together
    parts = pa.Table.from_pylist([dict(zip(PARTS, row, strict=True)) for row in rows], SCHEMA)
    assert sum_terms(average, parts).to_pylist() == [sum_term(average, *row) for row in rows]  # type: ignore[arg-type]
