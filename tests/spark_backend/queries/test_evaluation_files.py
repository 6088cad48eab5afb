"""Files of queries and of what they read of the store: gone when nobody reads them any more, and there until then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.evaluations import Evaluation
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.step import evaluate
from spark_backend.queries.evaluation_files import KEPT_SECONDS
from tests.spark_backend.federated_endpoints import Endpoints, store
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

QUERY = "PREFIX : <http://ex/> SELECT ?n FROM STREAM :s [RANGE 1s STEP 1s] WHERE { ?s :p ?o . ?s :name ?n }"


class Site:
    """A backend over a graph that says one name of <http://ex/a>, and a clock for what is kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._now = 0.0
        self.graphs = Graphs()
        others = {"http://other.example/": store(":a :age 7 .")}
        self.stepped = SteppedBackend(directory, self.graphs, endpoints=Endpoints(others))
        self.stepped.backend._files._clock = lambda: self._now
        self.stepped.event_stream("s", "http://ex/s")
        self.rename("before")
        self._elements = 0

    def rename(self, name: str) -> None:
        self.graphs.set([("", "<http://ex/a>", "<http://ex/name>", f'"{name}"')])
        self.stepped.backend.store_changed()

    def post(self) -> None:
        self.stepped.post("s", f"<http://ex/a> <http://ex/p> {self._elements} .", self._elements * 1000 + 500)
        self._elements += 1

    def pass_time(self) -> None:
        for _ in range(3):
            self.stepped.backend._sweep()
            self._now += KEPT_SECONDS

    def files(self) -> tuple[int, int]:
        """How many prepared queries there are, and how many static tables."""
        prepared, statics = (list((self._directory / name).glob("*-*")) for name in ("queries", "statics"))
        return len(prepared), len(statics)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_files_of_before_a_change_are_gone_after_a_while(site: Site) -> None:
    site.stepped.register("q", QUERY)
    for number in range(10):
        site.rename(f"name {number}")
        site.post()
        site.stepped.run()
    site.stepped.backend._sweep()
    assert site.files() == (11, 11)
    site.pass_time()
    assert site.files() == (1, 1)
    assert b'"name 9"' in site.stepped.answers("q")[9000]
    site.stepped.register("q", QUERY.replace("?n }", '?n FILTER(?n != "x") }'))
    site.stepped.run()
    site.pass_time()
    assert site.files() == (1, 1)


def test_of_queries_that_have_come_and_gone_nothing_is_left(site: Site) -> None:
    for number in range(3):
        site.stepped.register("live", QUERY.replace(":name", f":name{number}"), standing=False)
        site.stepped.register("other", QUERY, standing=False)
        for name in ("live", "other"):
            site.stepped.backend.remove(name)
    site.stepped.run()
    site.pass_time()
    assert site.files() == (0, 0)
    assert site.stepped.backend._statics._known == {}


@pytest.mark.parametrize("set_back", [0, 3600])
def test_a_batch_reads_what_it_was_planned_for_however_long_it_takes(site: Site, tmp_path: Path, set_back: int) -> None:
    """Also where the machine's clock was set back by so many seconds, and files are older than those before."""
    site.stepped.register("q", QUERY)
    site.stepped.run()
    site.post()
    site.post()
    pipeline = site.stepped.pipeline
    end = pipeline._clock.advance(pipeline.offset)
    due = pipeline._clock.due(pipeline.offset, end)
    for name in ("once", "twice"):
        site.rename(name)
        registry = tmp_path / "queries" / "registry.json"
        written = registry.stat().st_mtime_ns - set_back * 10**9
        os.utime(registry, ns=(written, written))
    site.pass_time()
    pipeline.receive(list(evaluate(pipeline._evaluator, due, Lane.COMMON)))
    assert b'"before"' in site.stepped.answers("q")[1000]
    pipeline.offset = end
    site.stepped.run()
    site.pass_time()
    assert site.files() == (1, 1)


def own_lane(site: Site) -> Callable[[], object]:
    registered = site.stepped.running("q").registered
    answers = site.stepped.backend._delivery.evaluations.answers(
        registered.key, registered.prepared, [1000, 2000], Budget()
    )
    assert next(answers).error is None
    return lambda: [answer.error for answer in answers]


def replay(site: Site) -> Callable[[], object]:
    outcomes = site.stepped.backend.replay("q", None, 2000)
    assert isinstance(next(outcomes), Evaluation)
    return lambda: [getattr(outcome, "detail", None) for outcome in outcomes]


@pytest.mark.parametrize("begin", [own_lane, replay])
def test_what_is_evaluated_apart_keeps_its_files(site: Site, begin: Callable[[Site], Callable[[], object]]) -> None:
    site.stepped.register("q", QUERY)
    for _ in range(3):
        site.post()
    site.stepped.run()
    finish = begin(site)
    site.rename("another")
    site.stepped.run()
    site.pass_time()
    assert site.files() == (2, 2)
    assert finish() == [None]
    site.pass_time()
    assert site.files() == (1, 1)


def test_the_terms_that_a_service_is_given_are_kept_with_the_query(site: Site) -> None:
    asked = "SERVICE <http://other.example/> { ?s :age ?age } }"
    site.stepped.register("q", f"{QUERY[:-1]} . {asked}")
    site.stepped.run()
    before = site.files()
    site.pass_time()
    assert site.files() == before
    assert before[0] == 2
    site.post()
    site.post()
    site.stepped.run()
    assert b'"before"' in site.stepped.answers("q")[1000]
