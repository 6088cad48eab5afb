"""CSRBench's seven queries, for every t0 from 0 to the window's width, as three systems would answer them: all exact.

The systems are characterised as by the table of the RSP-QL paper: C-SPARQL reports closes with content of windows in
the default graph by RStream, SPARQLStream the same by any operator, CQELS changes of a named window's content by
IStream. The oracle says at which instants and over which seconds, pyoxigraph what the solutions of these are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pyoxigraph as ox
import pytest

from conformance.rsp.oracle import CHANGE, OracleStream, Solution, TimeWindow, evaluation_instants
from conformance.rsp.oracle.r2s import streamed
from tests.spark_backend.model.csrbench import FOLDER, STREAM, Given, queries, recordings
from tests.spark_backend.model.scenario_run import written_term
from tests.spark_backend.stepped_backend import SteppedBackend

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not FOLDER.is_dir(),
        reason="the CSRBench recordings are not there (../shared/data/csrbench): the checkout's, not a fault",
    ),
]
HORIZON = (0, 60)


@dataclass(frozen=True)
class System:
    """How a system's queries are written, and what they mean to the oracle, whose time unit is the second here."""

    operator: str
    cqels: bool = False

    def text(self, given: Given, t0: int) -> str:
        if self.cqels:
            window = f"STREAM <{STREAM}> [RANGE {given.width}s T0 {1000 * t0}] {given.pattern}"
            return f"{given.prologue} SELECT {given.select} WHERE {{ {window} }}"
        window = f"FROM STREAM <{STREAM}> [RANGE {given.width}s STEP {given.slide}s T0 {1000 * t0}]"
        return f"{given.prologue} SELECT {self.operator} {given.select} {window} WHERE {given.pattern}"

    def window(self, given: Given, t0: int) -> TimeWindow:
        if self.cqels:
            return TimeWindow("s", "http://ex/w", frozenset({CHANGE}), width=given.width, slide=1, origin=t0)
        return TimeWindow("s", None, width=given.width, slide=given.slide, origin=t0)


SYSTEMS = {
    "C-SPARQL": System("RSTREAM"),
    "SPARQLStream, new": System("ISTREAM"),
    "SPARQLStream, gone": System("DSTREAM"),
    "CQELS": System("ISTREAM", cqels=True),
}


@pytest.fixture(scope="module")
def stream() -> OracleStream:
    """When there is something: that decides on instants and windows, and what it is does not."""
    found = OracleStream()
    for second in recordings():
        found.append(second, [("<http://ex/s>", "<http://ex/p>", f'"{second}"')])
    found.ended = True
    return found


@cache
def solutions(number: int, opening: int, upto: int) -> tuple[Solution, ...]:
    """Those over what was recorded in (opening, upto]."""
    store, given = ox.Store(), queries()[number]
    for second, body in recordings().items():
        if opening < second <= upto:
            store.load(body, format=ox.RdfFormat.TURTLE)
    found = store.query(f"{given.prologue} SELECT {given.select} WHERE {given.pattern}")
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return tuple(
        frozenset((name, str(term)) for name, term in zip(names, solution, strict=True) if term is not None)
        for solution in found
    )


def expected(stream: OracleStream, system: System, given: Given, t0: int) -> dict[int, tuple[Solution, ...]]:
    window = system.window(given, t0)
    previous: tuple[Solution, ...] = ()
    found: dict[int, tuple[Solution, ...]] = {}
    for instant in evaluation_instants((window,), {"s": stream}, None, HORIZON):
        current = solutions(given.number, *window.bounds(stream, instant))
        found[instant] = tuple(sorted(streamed(system.operator, current, previous), key=sorted))
        previous = current
    return found


Openings = Callable[[Given], Sequence[int]]
"""The seconds at which the windows of a query open first, each with a query of its own."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(lambda given: (given.width // 2,), id="middle"),
        pytest.param(lambda given: range(given.width + 1), id="every", marks=pytest.mark.slow),
    ],
)
def openings(request: pytest.FixtureRequest) -> Openings:
    asked: Openings = request.param
    return asked


@pytest.fixture(scope="module")
def stepped(openings: Openings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteppedBackend]:
    """All queries of all systems, registered before the first element."""
    backend = SteppedBackend(tmp_path_factory.mktemp("csrbench"))
    backend.event_stream("s", STREAM)
    for number, given in queries().items():
        for t0 in openings(given):
            for name, system in SYSTEMS.items():
                backend.register(f"{name} {number} {t0}", system.text(given, t0), standing=False)
    for second, body in recordings().items():
        backend.backend.append("s", body, "text/turtle", 1000 * second)
    backend.backend.end_stream("s")
    backend.run()
    yield backend
    backend.close()


def told(stepped: SteppedBackend, name: str) -> dict[int, tuple[Solution, ...]]:
    found = {}
    for instant, data in stepped.answers(name).items():
        assert instant % 1000 == 0
        solutions = [
            frozenset((variable, written_term(term)) for variable, term in binding.items())
            for binding in json.loads(data)["results"]["bindings"]
        ]
        found[instant // 1000] = tuple(sorted(solutions, key=sorted))
    return found


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("number", range(1, 8))
def test_every_answer_is_exact_whenever_the_window_opens(
    stepped: SteppedBackend, stream: OracleStream, openings: Openings, system: str, number: int
) -> None:
    given = queries()[number]
    answers = {t0: expected(stream, SYSTEMS[system], given, t0) for t0 in openings(given)}
    for t0, answer in answers.items():
        assert told(stepped, f"{system} {number} {t0}") == answer, f"t0 {t0}"
    assert any(found for answer in answers.values() for found in answer.values())
