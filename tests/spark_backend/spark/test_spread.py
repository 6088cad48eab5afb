from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_backend.spark.spread import Due, place_queries, spread

_DUE = st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=20, unique=True).map(sorted), max_size=6).map(
    lambda lists: [(f"query-{place}", "prepared", instants) for place, instants in enumerate(lists)]
)
_FAMILIES = st.lists(st.sampled_from("xyz"), min_size=6, max_size=6).map(
    lambda names: {f"query-{place}": name for place, name in enumerate(names)}
)


def spread_out(
    due: list[Due], count: int, families: dict[str, str] | None = None, *, divided: bool = True
) -> list[list[Due]]:
    families = {key: key for key, _, _ in due} if families is None else families
    parts = spread(due, place_queries(families, count), count, divided=divided)
    assert all(place in range(count) for place in parts)
    return [parts[place] for place in sorted(parts)]


@given(_DUE, _FAMILIES, st.integers(1, 5), st.booleans())
def test_every_due_evaluation_is_in_exactly_one_part_and_no_part_is_empty(
    due: list[Due], families: dict[str, str], count: int, divided: bool
) -> None:
    parts = spread_out(due, count, families, divided=divided)
    assert all(instants for part in parts for _, _, instants in part)
    assert all(parts)
    found = sorted((key, prepared, instant) for part in parts for key, prepared, some in part for instant in some)
    assert found == sorted((key, prepared, instant) for key, prepared, instants in due for instant in instants)


@given(_DUE, st.integers(1, 5))
def test_a_querys_instants_stay_ascending_from_part_to_part(due: list[Due], count: int) -> None:
    for key, _, instants in due:
        assert [t for part in spread_out(due, count) for name, _, some in part if name == key for t in some] == instants


def test_queries_that_catch_up_together_share_each_stretch_of_time() -> None:
    instants = list(range(8))
    assert spread_out([("a", "p", instants), ("b", "p", instants)], 2) == [
        [("a", "p", [0, 1, 2, 3]), ("b", "p", [0, 1, 2, 3])],
        [("a", "p", [4, 5, 6, 7]), ("b", "p", [4, 5, 6, 7])],
    ]


def test_queries_that_are_due_once_are_spread_by_query() -> None:
    assert spread_out([("a", "p", [5]), ("b", "q", [5])], 2) == [[("a", "p", [5])], [("b", "q", [5])]]


def test_a_family_is_in_one_part_whichever_of_it_are_due_and_many_of_one_are_in_several() -> None:
    families = {f"q{number:03}": f"shape {number % 5}" for number in range(200)}
    places = place_queries(families, 2)
    assert len({(families[key], place) for key, place in places.items()}) == 5
    assert sorted(list(places.values()).count(place) for place in range(2)) == [80, 120]
    due: list[Due] = [(key, "p", [5]) for key in families if families[key] == "shape 4"]
    assert list(spread(due[3:], places, 2, divided=True)) == [places["q004"]]
    alike = place_queries(dict.fromkeys(families, "shape"), 2)
    assert [list(alike.values()).count(place) for place in range(2)] == [100, 100]


def test_a_query_that_catches_up_alone_has_as_many_parts_as_there_are_cores_or_pairs_of_instants() -> None:
    alone: list[Due] = [("a", "p", list(range(64)))]
    assert [len(part[0][2]) for part in spread_out(alone, 4)] == [16] * 4
    assert [len(part[0][2]) for part in spread_out(alone, 1000)] == [2] * 32


def test_what_is_not_worth_dividing_stays_where_its_query_is() -> None:
    due: list[Due] = [("a", "p", list(range(64))), ("b", "p", list(range(64)))]
    assert spread_out(due, 2, divided=False) == [due[:1], due[1:]]
    assert spread_out(due, 2, dict.fromkeys("ab", "shape"), divided=False) == [due]
    much: list[Due] = [(f"q{number}", "p", list(range(5))) for number in range(41)]
    alike = {key: "shape" for key, _, _ in much}
    assert spread_out(much[1:], 2, alike, divided=False) == [much[1:]]
    assert spread_out(much, 2, alike, divided=False) == spread_out(much, 2, alike, divided=True)


def test_few_queries_with_few_instants_share_many_cores() -> None:
    due: list[Due] = [("a", "p", list(range(8))), ("b", "p", list(range(8)))]
    assert len(spread_out(due, 6)) == 6
    assert len(spread_out(due, 100)) == 8


def test_nothing_due_gives_no_parts() -> None:
    assert spread_out([], 3) == []
