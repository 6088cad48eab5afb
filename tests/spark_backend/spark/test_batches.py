"""What batches have while queries catch up, over a time that goes on as batches are said to take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from spark_backend.spark.batches import Batches, shared

HEALTHY = "healthy"
"""A query over windows of its own that has one instant due in each batch."""
OWN_SECONDS = 0.02

Cost = Callable[[Mapping[str, int]], float]
"""Seconds that the evaluations of a batch take, with so many instants of each query."""


@dataclass
class CatchingUp:
    """Queries with so many instants due each, and the batches until all are evaluated."""

    due: int
    reads: Mapping[str, str]
    healthy: bool = True
    batches: list[dict[str, int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def run(self, cost: Cost) -> None:
        planning, evaluated = Batches(), dict.fromkeys(self.reads, 0)
        reads = {**self.reads, **({HEALTHY: HEALTHY} if self.healthy else {})}

        def look(key: str, most: int) -> list[int]:
            if key == HEALTHY:
                return [len(self.batches)]
            return list(range(evaluated[key], self.due))[:most]

        while min(evaluated.values()) < self.due:
            planned = planning.plan(reads, look)
            assert planned.pop(HEALTHY, None) == ([len(self.batches)] if self.healthy else None)
            for key, instants in planned.items():
                assert instants == list(range(evaluated[key], evaluated[key] + len(instants)))
                evaluated[key] += len(instants)
            self.batches.append({key: len(instants) for key, instants in planned.items()})
            self.seconds.append(OWN_SECONDS + cost(self.batches[-1]))
            planning.measure(self.seconds[-1])


def apart(count: int) -> dict[str, str]:
    """Queries each of which reads windows of its own."""
    return {f"q{number}": f"w{number}" for number in range(count)}


@pytest.mark.parametrize("count", [1, 3, 40, 300])
def test_queries_with_windows_of_their_own_are_evaluated_some_at_a_time_and_many_instants_of_each(count: int) -> None:
    """A statement takes 10 ms, and 1 ms more for each instant: for one instant each, ten times as long as for many."""
    catching_up = CatchingUp(200, apart(count))
    catching_up.run(lambda batch: sum(0.01 + 0.001 * instants for instants in batch.values()))
    assert max(catching_up.seconds[1:]) < 0.8
    best = count * (0.01 * 200 / 64 + 0.001 * 200)
    assert sum(catching_up.seconds) < 1.4 * best + OWN_SECONDS * len(catching_up.batches) + 0.011 * count


@pytest.mark.parametrize("count", [2, 40, 300])
def test_queries_over_the_same_windows_are_evaluated_together(count: int) -> None:
    """An instant takes 10 ms for all of them, and 0.1 ms for each."""
    catching_up = CatchingUp(200, dict.fromkeys(apart(count), "w"))
    catching_up.run(lambda batch: 0.01 * max(batch.values()) + 0.0001 * sum(batch.values()))
    assert max(catching_up.seconds[1:]) < 0.8
    assert sum(catching_up.seconds) < 1.3 * 200 * (0.01 + 0.0001 * count) + OWN_SECONDS * len(catching_up.batches)


def test_statements_of_many_shapes_over_the_same_windows_are_evaluated_for_several_instants_at_once() -> None:
    """Each takes 2 ms, whatever it is for, and an instant 5 ms: for one at a time it is 0.4 s an instant."""
    catching_up = CatchingUp(200, dict.fromkeys(apart(200), "w"))
    catching_up.run(lambda batch: 0.002 * len(batch) + 0.005 * max(batch.values()))
    assert max(catching_up.seconds[1:]) < 0.8
    assert sum(catching_up.seconds) < 0.15 * 200 * 0.4


def test_how_fast_light_queries_are_says_little_of_heavy_ones() -> None:
    """Those are 60 times as fast as these, and in other batches."""
    heavy = {f"q{number}" for number in range(20, 30)}
    catching_up = CatchingUp(200, apart(60))
    catching_up.run(
        lambda batch: sum(0.01 + (0.03 if key in heavy else 0.0005) * instants for key, instants in batch.items())
    )
    longest, *others = sorted(catching_up.seconds[1:], reverse=True)
    assert longest < 4
    # Not longer than three times as long as it should, and once for each; from then on it is known.
    assert others[0] < 1.6
    assert sum(seconds > 1 for seconds in others) <= len(heavy)


@pytest.mark.parametrize(("statement", "instant", "longest"), [(0.01, 0.001, 8), (0.01, 0.02, 18)])
def test_where_all_catch_up_each_is_in_most_batches(statement: float, instant: float, longest: float) -> None:
    catching_up = CatchingUp(100, apart(300), healthy=False)
    catching_up.run(lambda batch: sum(statement + instant * instants for instants in batch.values()))
    assert max(catching_up.seconds) < longest
    assert sum(catching_up.seconds) < 1.25 * 300 * (statement * 100 / 16 + instant * 100)


def test_each_has_its_turn() -> None:
    catching_up = CatchingUp(100, apart(50) | {f"s{number}": "w" for number in range(50)})
    catching_up.run(lambda batch: 0.005 * sum(batch.values()))
    last = dict.fromkeys(catching_up.reads, 0)
    for number, batch in enumerate(catching_up.batches):
        last |= dict.fromkeys(batch, number)
        waiting = [key for key in last if sum(done.get(key, 0) for done in catching_up.batches[: number + 1]) < 100]
        assert all(number - last[key] <= 60 for key in waiting)


def test_those_that_are_behind_have_equal_shares_of_a_batch_and_turns_where_they_are_too_many() -> None:
    assert shared({"a": 100, "b": 100, "c": 2}, [], 64) == {"a": 33, "b": 32, "c": 2}
    assert shared({"a": 100, "b": 100, "c": 2}, ["b", "a"], 64) == {"a": 32, "b": 31, "c": 2}
    assert shared({"a": 5, "b": 5, "c": 3, "d": 3}, ["b", "a"], 1) == {"a": 0, "b": 1, "c": 1, "d": 1}
    assert shared({"a": 5, "b": 5, "c": 1}, ["b", "gone", "a"], 2) == {"a": 1, "b": 1, "c": 1}
    assert shared({"a": 9, "b": 9, "c": 1, "d": 9}, ["a", "b", "c", "d"], 6) == {"a": 2, "b": 2, "c": 1, "d": 1}
    assert shared({}, ["gone"], 64) == {}
