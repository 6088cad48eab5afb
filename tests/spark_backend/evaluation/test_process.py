"""Evaluations in a process that is ended: what is over its budget is stopped, and the others have their answers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from protocol.windows.spec import TimeWindow
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.process import EvaluatorProcess
from spark_backend.evaluation.spill import remove_orphaned_spill
from spark_backend.evaluation.step import Step, Stopped, evaluate
from tests.spark_backend.evaluation.evaluated_log import Site

WINDOW = TimeWindow(10, 10, 0)
LIGHT = "SELECT (COUNT(*) AS ?n) { GRAPH <http://ex/w> { ?s <http://ex/p> ?v } }"
CROSS_JOIN = """SELECT (COUNT(*) AS ?n) (MAX(?x) AS ?m) {
  GRAPH <http://ex/w> { ?a <http://ex/p> ?b . ?c <http://ex/p> ?d } BIND(CONCAT(STR(?a), STR(?c)) AS ?x) }"""
REGEX = """SELECT (COUNT(*) AS ?n) { GRAPH <http://ex/w> { ?s <http://ex/p> ?v . ?t <http://ex/p> ?w }
  FILTER(REGEX(CONCAT(STR(?s), STR(?t)), '^(([a-z]|[a-z0-9/:]){1,90}){1,60}[!]$')) }"""
SORTED = "SELECT * { GRAPH <http://ex/w> { ?a <http://ex/p> ?b . ?c <http://ex/p> ?d } } ORDER BY ?b ?d ?a ?c"
TOGETHER = "SELECT (GROUP_CONCAT(STR(?a)) AS ?n) { GRAPH <http://ex/w> { ?a ?p ?b . ?c ?p ?d } }"
MEMORY = 2**27


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.layout.make()
    triples = [(f"<http://ex/s/{n}>", "<http://ex/p>", f'"{n}"') for n in range(4000)]
    made.append([(5, triples), (15, triples[:10])])
    yield made
    made.close()


def _process(site: Site, lane: Lane, budget: Budget) -> EvaluatorProcess:
    def make(spill: Path) -> Evaluator:
        return Evaluator(site.layout.root, budget=budget, spill=spill)

    return EvaluatorProcess(site.layout, lane, budget, make)


@pytest.fixture
def own(site: Site) -> Iterator[EvaluatorProcess]:
    process = _process(site, Lane.OWN, Budget(seconds=1.0, memory=MEMORY))
    yield process
    process.close()


@pytest.fixture
def common(site: Site) -> Iterator[EvaluatorProcess]:
    process = _process(site, Lane.COMMON, Budget(seconds=30, memory=MEMORY).common)
    yield process
    process.close()


@pytest.mark.parametrize("heavy", [CROSS_JOIN, REGEX, SORTED, TOGETHER])
def test_an_evaluation_over_its_budget_is_stopped_with_a_reason_and_the_next_one_is_made(
    site: Site, own: EvaluatorProcess, heavy: str
) -> None:
    light, name = site.prepare("light", LIGHT, WINDOW), site.prepare("heavy", heavy, WINDOW)
    began = time.monotonic()
    answers = dict(evaluate(own, [("heavy", name, [10]), ("light", light, [10])], Lane.OWN))
    assert time.monotonic() - began < 30  # each would take minutes
    assert answers["heavy"].error is not None
    assert "budget" in answers["heavy"].error or "1 s" in answers["heavy"].error
    assert answers["heavy"].stopped
    assert answers["heavy"].seconds > 0
    assert answers["light"].error is None
    assert '"4000"' in answers["light"].solutions[0]
    assert not any(site.layout.spark.glob("spill.*/*")), "what it spilt is gone"


def test_in_the_common_lane_what_is_stopped_is_deferred_with_all_that_follows_of_that_query(
    site: Site, common: EvaluatorProcess
) -> None:
    light, heavy = site.prepare("light", LIGHT, WINDOW), site.prepare("heavy", CROSS_JOIN, WINDOW)
    answers = list(evaluate(common, [("heavy", heavy, [10, 20]), ("light", light, [10, 20])], Lane.COMMON))
    deferred = {(key, answer.instant): answer.deferred for key, answer in answers}
    assert deferred == {("heavy", 10): heavy, ("heavy", 20): heavy, ("light", 10): None, ("light", 20): None}
    assert all(answer.error is None for _, answer in answers)


def test_in_the_common_lane_an_evaluation_has_its_processor_time_and_no_more(
    site: Site, common: EvaluatorProcess
) -> None:
    step = Step((("heavy", site.prepare("heavy", CROSS_JOIN, WINDOW)),), (10,))
    common._ask(20, "prepare", step)
    ended, before = _seconds_of_ended_children(), psutil.Process(common._process.pid).cpu_times()
    with pytest.raises(Stopped, match=r"after 0\.3 s"):
        common.run(step)
    taken = _seconds_of_ended_children() - ended - before.user - before.system
    assert 0.25 < taken < 0.4


def _seconds_of_ended_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def test_one_heavy_query_among_many_of_its_shape_is_found(site: Site, common: EvaluatorProcess) -> None:
    text = CROSS_JOIN.replace("BIND", "FILTER(STR(?b) > 'BOUND') BIND")
    bounds = ["999998"] * 5 + ["0"] + ["999999"] * 5
    due = [
        (f"q{n}", site.prepare(f"q{n}", text.replace("BOUND", bound), WINDOW), [10]) for n, bound in enumerate(bounds)
    ]
    answers = dict(evaluate(common, due, Lane.COMMON))
    assert {key for key, answer in answers.items() if answer.deferred} == {"q5"}
    assert len(answers) == len(due)


def test_a_process_that_ends_by_itself_fails_the_evaluation_it_was_at(
    site: Site, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Time enough for a busy machine: it is not the budget that ends it.
    own = _process(site, Lane.OWN, Budget(seconds=60, memory=MEMORY))
    request.addfinalizer(own.close)
    answers, ends = Evaluator.answers, site.layout.root / "ends"

    def ended(self: Evaluator, step: Step) -> list[tuple[str, Answer]]:
        if ends.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return answers(self, step)

    monkeypatch.setattr(Evaluator, "answers", ended)
    light = site.prepare("light", LIGHT, WINDOW)
    ends.touch()
    (answer,) = [answer for _, answer in evaluate(own, [("light", light, [10])], Lane.OWN)]
    ends.unlink()
    assert answer.error is not None
    assert "SIGKILL" in answer.error
    (again,) = [answer for _, answer in evaluate(own, [("light", light, [10])], Lane.OWN)]
    assert again.error is None


def test_a_process_ends_with_the_one_that_started_it_and_what_it_spilt_is_found(site: Site) -> None:
    heavy = site.prepare("heavy", REGEX, WINDOW)
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        process = _process(site, Lane.OWN, Budget(seconds=60, memory=MEMORY))
        process.refresh()
        os.write(writing, str(process._process.pid).encode())
        list(evaluate(process, [("heavy", heavy, [10])], Lane.OWN))
        os._exit(0)
    child = psutil.Process(int(os.read(reading, 20)))
    spilt = site.layout.spill(f"{os.uname().nodename}.{child.pid}")
    spilt.mkdir(parents=True)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    child.wait(5)
    remove_orphaned_spill(site.layout)
    assert not spilt.exists()
    os.close(reading)
    os.close(writing)


def test_to_ask_a_process_costs_well_under_a_millisecond(site: Site, common: EvaluatorProcess) -> None:
    common.refresh()
    rounds = 300
    ask = partial(common.plan, [])
    ask()
    best = min(_seconds(ask) for _ in range(rounds))
    assert best < 0.001


def _seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began
