from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_backend.spark.source import Due, spread

_DUE = st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=20, unique=True).map(sorted), max_size=6).map(
    lambda lists: [(f"query-{place}", "prepared", instants) for place, instants in enumerate(lists)]
)


@given(_DUE, st.integers(1, 5))
def test_every_due_evaluation_is_in_exactly_one_part_and_no_part_is_empty(due: list[Due], count: int) -> None:
    parts = spread(due, count)
    assert len(parts) <= count
    assert all(instants for part in parts for _, _, instants in part)
    assert all(parts)
    spread_out = sorted((key, prepared, instant) for part in parts for key, prepared, some in part for instant in some)
    assert spread_out == sorted((key, prepared, instant) for key, prepared, instants in due for instant in instants)


@given(_DUE, st.integers(1, 5))
def test_a_querys_instants_stay_ascending_from_part_to_part(due: list[Due], count: int) -> None:
    for key, _, instants in due:
        assert [t for part in spread(due, count) for name, _, some in part if name == key for t in some] == instants


def test_queries_that_catch_up_together_share_each_stretch_of_time() -> None:
    instants = list(range(8))
    parts = spread([("a", "p", instants), ("b", "p", instants)], 2)
    assert parts == [
        [("a", "p", [0, 1, 2, 3]), ("b", "p", [0, 1, 2, 3])],
        [("a", "p", [4, 5, 6, 7]), ("b", "p", [4, 5, 6, 7])],
    ]


def test_queries_that_are_due_once_are_spread_by_query() -> None:
    assert spread([("a", "p", [5]), ("b", "q", [5])], 2) == [[("a", "p", [5])], [("b", "q", [5])]]


def test_a_query_that_catches_up_alone_has_as_many_parts_as_there_are_cores_or_pairs_of_instants() -> None:
    alone: list[Due] = [("a", "p", list(range(64)))]
    assert [len(part[0][2]) for part in spread(alone, 4)] == [16] * 4
    assert [len(part[0][2]) for part in spread(alone, 1000)] == [2] * 32


def test_few_queries_with_few_instants_share_many_cores() -> None:
    due: list[Due] = [("a", "p", list(range(8))), ("b", "p", list(range(8)))]
    assert len(spread(due, 6)) == 6
    assert len(spread(due, 100)) == 8


def test_nothing_due_gives_no_parts() -> None:
    assert spread([], 3) == []
