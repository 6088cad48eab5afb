"""Which sums are made outside of the database: never where what is left of the groups would depend on their order."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import read_query
from spark_backend.compiler.algebra.partial_sums import partial_sums


@pytest.mark.parametrize(
    ("selected", "limit", "outside"),
    [
        ("(SUM(?v) AS ?n)", "", True),
        ("?k (SUM(?v) AS ?n)", "", True),
        ("?k (AVG(?v) AS ?n)", "LIMIT 1", True),
        ("(SUM(?v) AS ?n)", "LIMIT 1", False),
        ("(AVG(?v) AS ?n) (COUNT(*) AS ?c)", "OFFSET 2", False),
        ("(SUM(?v) AS ?n)", "ORDER BY ?n", False),
    ],
)
def test_a_slice_is_of_groups_that_are_told_apart(selected: str, limit: str, outside: bool) -> None:
    query = read_query(f"PREFIX : <http://ex/> SELECT {selected} {{ ?s :k ?k ; :v ?v }} GROUP BY ?k {limit}")
    assert bool(partial_sums(query).results) is outside
