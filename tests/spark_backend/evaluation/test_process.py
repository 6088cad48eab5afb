"""Evaluations in a process that is ended: what is over its budget is stopped, and the others have their answers."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.popen_fork import Popen
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from protocol.windows.spec import TimeWindow
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.process import EvaluatorProcess, ForkedEvaluator
from spark_backend.evaluation.spill import remove_orphaned_spill
from spark_backend.evaluation.step import OutOfMemory, Step, Stopped, evaluate
from spark_backend.queries.explain.operators import operator_lines
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
IMPATIENT = Budget(seconds=1.0, memory=MEMORY)
COMMON = Budget(seconds=30, memory=MEMORY).common


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.layout.make()
    triples = [(f"<http://ex/s/{n}>", "<http://ex/p>", f'"{n}"') for n in range(4000)]
    made.append([(5, triples), (15, triples[:10])])
    yield made
    made.close()


@contextmanager
def _forked(site: Site, lane: Lane, budget: Budget) -> Iterator[ForkedEvaluator]:
    def make(spill: Path) -> Evaluator:
        return Evaluator(site.layout.root, budget=budget, spill=spill)

    forked = ForkedEvaluator(site.layout, lane, budget, make)
    try:
        yield forked
    finally:
        forked.end()


@pytest.fixture
def forked(site: Site) -> Iterator[ForkedEvaluator]:
    with _forked(site, Lane.OWN, IMPATIENT) as made:
        yield made


@pytest.fixture
def impatient(forked: ForkedEvaluator) -> EvaluatorProcess:
    return EvaluatorProcess(forked, Lane.OWN, IMPATIENT)


@pytest.fixture
def patient(forked: ForkedEvaluator) -> EvaluatorProcess:
    """The same process, asked by who gives it time enough for a busy machine."""
    return EvaluatorProcess(forked, Lane.OWN, Budget(seconds=60, memory=MEMORY))


@pytest.fixture
def in_common(site: Site) -> Iterator[ForkedEvaluator]:
    with _forked(site, Lane.COMMON, COMMON) as forked:
        yield forked


@pytest.fixture
def common(in_common: ForkedEvaluator) -> EvaluatorProcess:
    return EvaluatorProcess(in_common, Lane.COMMON, COMMON)


@pytest.mark.parametrize("heavy", [CROSS_JOIN, REGEX, SORTED, TOGETHER])
def test_an_evaluation_over_its_budget_is_stopped_with_a_reason_and_the_next_one_is_made(
    site: Site, impatient: EvaluatorProcess, patient: EvaluatorProcess, heavy: str
) -> None:
    light, name = site.prepare("light", LIGHT, WINDOW), site.prepare("heavy", heavy, WINDOW)
    answers = dict(evaluate(impatient, [("heavy", name, [10])], Lane.OWN))  # each would take minutes
    answers |= dict(evaluate(patient, [("light", light, [10])], Lane.OWN))
    assert answers["heavy"].error is not None
    assert "budget" in answers["heavy"].error or "1 s" in answers["heavy"].error
    assert answers["heavy"].stopped
    assert answers["heavy"].seconds > 0
    assert answers["light"].error is None
    assert b'"4000"' in answers["light"].solutions[0]
    assert not any(site.layout.spark.glob("spill.*/*")), "what it spilt is gone"


@pytest.mark.parametrize("method", ["plan", "prepare", "answers"])
def test_a_process_that_somebody_has_stopped_is_no_fault_of_the_evaluation(
    site: Site, forked: ForkedEvaluator, patient: EvaluatorProcess, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    light, stopped = site.prepare("light", LIGHT, WINDOW), list[int]()
    ask = EvaluatorProcess._ask

    def asked(process: EvaluatorProcess, seconds: float, asks: str, *arguments: object) -> object:
        if asks == method and not stopped:
            stopped.append(forked.pid)
            os.kill(forked.pid, signal.SIGSTOP)
            seconds = 0.1  # it would take for ever, and the one in its place has its time
        return ask(process, seconds, asks, *arguments)

    monkeypatch.setattr(EvaluatorProcess, "_ask", asked)
    ((_, answer),) = evaluate(patient, [("light", light, [10])], Lane.OWN)
    assert answer.error is None
    assert b'"4000"' in answer.solutions[0]
    assert stopped != [forked.pid]


def test_where_no_process_is_to_be_had_there_is_none_until_there_is(
    forked: ForkedEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as scarce:
        scarce.setattr(Popen, "_launch", Mock(side_effect=BlockingIOError(errno.EAGAIN, "try again")))
        for _ in range(2):
            with pytest.raises(BlockingIOError):
                forked.renew()
            assert forked.ended
            assert forked.connection.closed
    assert forked.end() == 0
    assert forked.renew() == 0
    assert not forked.ended


def test_to_measure_an_evaluation_takes_no_more_than_its_budget(
    site: Site, impatient: EvaluatorProcess, patient: EvaluatorProcess
) -> None:
    light, heavy = site.prepare("light", LIGHT, WINDOW), site.prepare("heavy", REGEX, WINDOW)
    with pytest.raises(Stopped, match="1 s"):
        impatient.operators(("heavy", heavy, [10]))
    measured = patient.operators(("light", light, [10]))
    assert measured.instant == 10
    assert "4,000 rows" in "\n".join(operator_lines(measured))


def test_in_the_common_lane_what_is_stopped_is_deferred_with_all_that_follows_of_that_query(
    site: Site, common: EvaluatorProcess
) -> None:
    light, heavy = site.prepare("light", LIGHT, WINDOW), site.prepare("heavy", CROSS_JOIN, WINDOW)
    answers = list(evaluate(common, [("heavy", heavy, [10, 20]), ("light", light, [10, 20])], Lane.COMMON))
    deferred = {(key, answer.instant): answer.deferred for key, answer in answers}
    assert deferred == {("heavy", 10): heavy, ("heavy", 20): heavy, ("light", 10): None, ("light", 20): None}
    assert all(answer.error is None for _, answer in answers)


def test_in_the_common_lane_an_evaluation_has_its_processor_time_and_no_more(
    site: Site, in_common: ForkedEvaluator, common: EvaluatorProcess
) -> None:
    step = Step((("heavy", site.prepare("heavy", CROSS_JOIN, WINDOW)),), (10,))
    common._ask(20, "prepare", step)
    ended, before = _seconds_of_ended_children(), psutil.Process(in_common.pid).cpu_times()
    with pytest.raises(Stopped, match=r"after 0\.3 s"):
        common.run(step)
    taken = _seconds_of_ended_children() - ended - before.user - before.system
    assert 0.25 < taken < 5  # it would take minutes; that it ends takes some, too


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
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, ends = Evaluator.answers, site.layout.root / "ends"

    def ended(self: Evaluator, step: Step) -> list[tuple[str, Answer]]:
        if ends.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return answers(self, step)

    monkeypatch.setattr(Evaluator, "answers", ended)
    light = site.prepare("light", LIGHT, WINDOW)
    # Time enough for a busy machine: it is not the budget that ends it.
    budget = Budget(seconds=60, memory=MEMORY)
    with _forked(site, Lane.OWN, budget) as forked:
        own = EvaluatorProcess(forked, Lane.OWN, budget)
        ends.touch()
        (answer,) = [answer for _, answer in evaluate(own, [("light", light, [10])], Lane.OWN)]
        ends.unlink()
        assert answer.error is not None
        assert "SIGKILL" in answer.error
        (again,) = [answer for _, answer in evaluate(own, [("light", light, [10])], Lane.OWN)]
        assert again.error is None


@pytest.mark.parametrize("lane", [Lane.OWN, Lane.COMMON])
def test_an_evaluation_that_has_no_memory_beside_what_is_kept_of_others_is_made_in_a_new_process(
    site: Site, monkeypatch: pytest.MonkeyPatch, lane: Lane
) -> None:
    answers, full = Evaluator.answers, site.layout.root / "full"
    made: list[Step] = []  # in each process for itself

    def beside_others(self: Evaluator, step: Step) -> list[tuple[str, Answer]]:
        made.append(step)
        if len(made) > 1 or full.exists():
            raise OutOfMemory("it needs more memory than its budget")
        return answers(self, step)

    monkeypatch.setattr(Evaluator, "answers", beside_others)
    light = site.prepare("light", LIGHT, WINDOW)
    budget = Budget(seconds=60, memory=MEMORY)
    with _forked(site, lane, budget) as forked:
        process = EvaluatorProcess(forked, lane, budget)
        pids = set()
        for _ in range(3):
            (answer,) = [answer for _, answer in evaluate(process, [("light", light, [10])], lane)]
            assert (answer.error, answer.deferred) == (None, None)
            pids.add(forked.pid)
        assert len(pids) == 3
        full.touch()
        (answer,) = [answer for _, answer in evaluate(process, [("light", light, [10])], lane)]
        said = "it needs more memory than its budget"
        assert (answer.error, answer.deferred) == ((said, None) if lane is Lane.OWN else (None, light))


def test_a_process_ends_with_the_one_that_started_it_and_what_it_spilt_is_found(site: Site) -> None:
    heavy = site.prepare("heavy", REGEX, WINDOW)
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        budget = Budget(seconds=60, memory=MEMORY)
        with _forked(site, Lane.OWN, budget) as forked:
            process = EvaluatorProcess(forked, Lane.OWN, budget)
            process.refresh()
            os.write(writing, str(forked.pid).encode())
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
