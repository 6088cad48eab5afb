"""Steps that are stopped: who is at fault is found with few further ones, and the others have their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from spark_backend.answers.answer import Answer
from spark_backend.budget import COMMON_SECONDS, COSTLY_IN_A_ROW, Lane
from spark_backend.evaluation.step import Due, Planned, Step, Stopped, evaluate


class Evaluations:
    """Evaluates nothing: the evaluations of some queries are too much, as are more than ``most`` at once.

    What is run is remembered.
    """

    at_once = 1000.0

    def __init__(self, heavy: set[str], most: int = 1000) -> None:
        self._heavy = heavy
        self._most = most
        self.run_sizes: list[int] = []

    def refresh(self) -> None:
        """There is nothing to see."""

    def plan(self, due: Sequence[Due]) -> Planned:
        members = tuple((key, prepared) for key, prepared, _ in due)
        return Planned([Step(members, tuple(due[0][2]))], [])

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        self.run_sizes.append(step.size)
        if step.size > self._most or any(key in self._heavy for key, _ in step.members):
            raise Stopped("it was stopped after 0.3 s")
        return [(key, Answer(instant)) for key, _ in step.members for instant in step.instants]


@pytest.mark.parametrize(
    ("queries", "heavy", "instants", "runs"),
    [(1, {"q0"}, 14, [14, 1]), (20, {"q7"}, 1, [20] + [1] * 20), (3, {"q1"}, 8, [24, 8, 8, 1, 8])],
)
def test_in_the_common_lane_the_query_at_fault_is_found_by_its_first_evaluation(
    queries: int, heavy: set[str], instants: int, runs: list[int]
) -> None:
    evaluations = Evaluations(heavy)
    due = [(f"q{n}", f"q{n}.json", range(instants)) for n in range(queries)]
    answers = list(evaluate(evaluations, due, Lane.COMMON))
    assert evaluations.run_sizes == runs
    assert sorted((key, answer.instant) for key, answer in answers) == sorted(
        (key, instant) for key, _, some in due for instant in some
    )
    assert {key for key, answer in answers if answer.deferred} == heavy


@pytest.mark.parametrize(
    ("most", "runs", "deferred"),
    [(300, [512, 1, 511, 255, 256], set()), (100, [512, 1, 511, 255], {"q0"})],
)
def test_in_the_common_lane_others_do_not_wait_until_one_query_has_made_as_many_evaluations_as_it_can(
    most: int, runs: list[int], deferred: set[str]
) -> None:
    evaluations = Evaluations(set(), most)
    answers = list(evaluate(evaluations, [("q0", "q0.json", range(512))], Lane.COMMON))
    assert evaluations.run_sizes == runs
    assert [answer.instant for _, answer in answers] == list(range(512))
    assert {key for key, answer in answers if answer.deferred} == deferred
    assert evaluations.at_once == (1000 if deferred else 256)


def test_in_the_common_lane_a_query_is_not_caught_up_with_whose_evaluations_are_costly_one_after_the_other() -> None:
    class Costly(Evaluations):
        def plan(self, due: Sequence[Due]) -> Planned:
            return Planned([Step(((key, prepared),), (at,)) for key, prepared, some in due for at in some], [])

        def run(self, step: Step) -> list[tuple[str, Answer]]:
            cost = 1.1 * COMMON_SECONDS if step.members[0][0] == "large" and step.instants != (1,) else 0.0
            return [(key, replace(answer, processor=cost)) for key, answer in super().run(step)]

    def deferred(lane: Lane) -> list[tuple[str, int]]:
        due = [(name, f"{name}.json", range(10)) for name in ("large", "small")]
        answers = list(evaluate(Costly(set()), due, lane))
        assert len(answers) == 20
        return [(key, answer.instant) for key, answer in answers if answer.deferred]

    assert deferred(Lane.COMMON) == [("large", at) for at in range(2 + COSTLY_IN_A_ROW, 10)]
    assert deferred(Lane.OWN) == []
