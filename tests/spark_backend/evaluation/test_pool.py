"""Evaluators that are taken and given back: by one process, and by workers that come and go beside the pool's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from spark_backend.evaluation.pool import EvaluatorKind, EvaluatorPool, evaluator
from spark_backend.layout import Layout
from tests.spark_backend.evaluation.pooled_workers import a_kind, asked, start


@pytest.fixture
def kind(tmp_path: Path) -> EvaluatorKind:
    Layout(tmp_path).make()
    return a_kind(tmp_path)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def own(clock: Clock) -> Iterator[EvaluatorPool]:
    made = EvaluatorPool(start, clock)
    yield made
    made.close()


def test_whoever_comes_to_a_place_finds_the_evaluator_that_was_there(own: EvaluatorPool, kind: EvaluatorKind) -> None:
    with evaluator(own, kind, 0) as first, evaluator(own, kind, 1) as second:
        (one, _), (two, _) = asked(first), asked(second)
        with evaluator(own, kind, 0) as third:
            three, _ = asked(third)
    assert len({one, two, three}) == 3
    for place, pid in ((1, two), (0, one), (2, three), (0, one)):
        with evaluator(own, kind, place) as again:
            assert asked(again)[0] == pid
            assert asked(again)[1] > 1


def test_how_many_evaluations_are_made_at_once_is_told_to_who_comes_next(
    own: EvaluatorPool, kind: EvaluatorKind
) -> None:
    with evaluator(own, kind, 0) as first:
        first.at_once = 7
    with evaluator(own, kind, 0) as second, evaluator(own, kind, 0) as other:
        assert (second.at_once, other.at_once) == (7, 2**16)


def test_an_evaluator_that_nobody_asks_ends_and_one_that_is_taken_does_not(
    own: EvaluatorPool, kind: EvaluatorKind, clock: Clock
) -> None:
    with evaluator(own, kind, 0) as first:
        pid, _ = asked(first)
        clock.now = 1000
        own.end_idle()
        assert asked(first) == (pid, 2)
    clock.now += 100
    own.end_idle()
    with evaluator(own, kind, 0) as again:
        assert asked(again) == (pid, 3)
    clock.now += 1000
    own.end_idle()
    assert not psutil.pid_exists(pid)


def test_one_that_has_ended_while_it_was_idle_is_another_one_when_it_is_taken(
    own: EvaluatorPool, kind: EvaluatorKind
) -> None:
    with evaluator(own, kind, 0) as first:
        pid, _ = asked(first)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with evaluator(own, kind, 0) as again:
        assert asked(again)[1] == 1


@pytest.fixture
def daemon(kind: EvaluatorKind) -> Callable[[str], list[str]]:
    """What workers of a daemon with a pool say, in a scene of ``pooled_workers``."""
    if sys.platform != "linux":
        pytest.skip("there is a process for the pool on Linux alone")
    command = [sys.executable, "-m", "tests.spark_backend.evaluation.pooled_workers", kind.root]

    def play(scene: str) -> list[str]:
        return subprocess.run([*command, scene], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]

    return play


def test_workers_share_what_belongs_to_a_process_beside_them_and_ends_with_the_daemon(
    daemon: Callable[[str], list[str]],
) -> None:
    first, second, ended, after = (line.split() for line in daemon("one after another"))
    assert first[0] == second[0] == ended[0], "the second worker has the evaluator of the first"
    assert [first[1], second[1]] == ["2", "4"]
    assert after[0] != ended[0], "what was not given back is nobody's to rely on"
    assert after[1] == "2"
    for pid in (int(first[0]), int(after[0])):
        if psutil.pid_exists(pid):
            psutil.Process(pid).wait(5)


def test_an_evaluator_of_the_pool_that_is_ended_is_named_by_how_and_another_is_there(
    daemon: Callable[[str], list[str]],
) -> None:
    assert daemon("an evaluator ends") == ["SIGKILL 1"]


def test_the_pool_goes_on_where_no_process_was_to_be_had(daemon: Callable[[str], list[str]]) -> None:
    failed, first, second = daemon("no process is to be had")
    assert failed == "no other is there"
    assert first.split()[0] == second.split()[0], "workers share what belongs to the pool"
    assert second.split()[1] == "4"


def test_where_the_pool_has_ended_a_worker_has_evaluators_of_its_own(daemon: Callable[[str], list[str]]) -> None:
    before, after = (line.split() for line in daemon("the pool ends"))
    assert before[0] != after[0]
    assert after[1] == "2"
