"""The loops that are compared with give what plain Python finds in the data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.benchmarks.loops.observations import Question, Recording, recording, solutions
from tests.benchmarks.loops.window_loops import pyoxigraph_adds_and_removes
from tests.benchmarks.loops.windows import COMPARISONS, Comparison

_SECONDS = 24


@pytest.fixture(scope="module")
def data() -> Recording:
    return recording(_SECONDS, 20)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=[comparison.name for comparison in COMPARISONS])
def test_a_loop_gives_what_is_in_the_data(comparison: Comparison, data: Recording) -> None:
    some = comparison.questions[:3]
    right = [
        (instant, number, given) for number, instant, given in solutions(some, data)
    ]  # all questions of an instant, then the next
    assert any(given for _, _, given in right)
    for baseline in comparison.baselines:
        answers = baseline.loop(data, some)
        found = [
            some[number].read(json.loads(answer)["results"]["bindings"])
            for (_, number, _), answer in zip(right, answers, strict=True)
        ]
        assert found == [given for _, _, given in right], baseline.name


def test_what_leaves_a_window_is_removed(data: Recording) -> None:
    narrow = Question(2, 1, False)
    first, *_, last = pyoxigraph_adds_and_removes(data, [narrow])
    assert len(json.loads(first)["results"]["bindings"]) == 20
    assert len(json.loads(last)["results"]["bindings"]) == 40


def test_another_answer_is_told_apart(data: Recording) -> None:
    question = COMPARISONS[0].questions[0]
    wider = replace(question, range_seconds=20)
    assert list(solutions([wider], data)) != list(solutions([question], data))


def test_bodies_hold_every_message_once(data: Recording) -> None:
    bodies = data.bodies(10)
    assert [body.count(b"# @message\n") for body in bodies] == [200, 200, 80]
    assert sum(body.count(b" .\n") for body in bodies) == data.triples
