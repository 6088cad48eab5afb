"""(w) Windows that tumble or slide, over HTTP, against the loops that a Python user would write.

SOSA observations of 100 sensors, a minute of event time, posted as fast as the server takes them by one client. Ours
runs from the first POST to the last answer at a listener: taking the messages in, making them durable, evaluating,
sending the answers. A loop parses the same text and does nothing but answer. In the first round the answers of all of
them are compared with what plain Python finds in the data. Fifty queries are of one shape and differ in a constant,
that of their FILTER. That of the windows that slide is true of one observation in twenty, or in forty on the average of
the fifty.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from protocol.time import Instant
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.listening import Arrival, answers_to
from tests.benchmarks.loops.observations import Question, Recording, recording, solutions
from tests.benchmarks.loops.window_loops import (
    Loop,
    pyoxigraph_adds_and_removes,
    pyoxigraph_store_a_window,
    sparq_store_a_window,
)
from tests.benchmarks.server import Client, running_server

_MINUTE = 60
_MANY = 50
_PATIENCE = 300.0


@dataclass(frozen=True)
class Baseline:
    """A loop, and how many times as fast ours is meant to be."""

    name: str
    loop: Loop
    target: float


@dataclass(frozen=True)
class Comparison:
    """Questions over the observations of ``observations_a_second``, a body for each ``seconds_a_body``."""

    name: str
    observations_a_second: int
    seconds_a_body: int
    questions: tuple[Question, ...]
    baselines: tuple[Baseline, ...]


COMPARISONS = (
    Comparison(
        "tumbling 10 s of 100,000 triples, one query",
        2_500,
        1,
        (Question(10, 10, True),),
        (
            Baseline("sparq loop, a store a window", sparq_store_a_window, 1.0),
            Baseline("pyoxigraph loop, a store a window", pyoxigraph_store_a_window, 3.0),
        ),
    ),
    Comparison(
        "RANGE 10s STEP 1s of 100,000 triples, one query",
        2_500,
        1,
        (Question(10, 1, False, Decimal(95)),),
        (
            Baseline("sparq loop, a store a window", sparq_store_a_window, 2.0),
            Baseline("pyoxigraph loop, adds and removes", pyoxigraph_adds_and_removes, 3.0),
        ),
    ),
    Comparison(
        f"tumbling 10 s of 10,000 triples, {_MANY} queries",
        250,
        10,
        tuple(Question(10, 10, True, Decimal(number)) for number in range(1, _MANY + 1)),
        (Baseline("sparq loop, a store a window for all", sparq_store_a_window, 1.0),),
    ),
    Comparison(
        f"RANGE 10s STEP 1s of 10,000 triples, {_MANY} queries",
        250,
        10,
        tuple(Question(10, 1, False, 95 + Decimal(number).scaleb(-1)) for number in range(_MANY)),
        (Baseline("sparq loop, a store a window for all", sparq_store_a_window, 2.0),),
    ),
)


def measure(*, quick: bool, beside: Path | None = None) -> list[Figure]:
    """``beside``: another checkout of the project, whose server is measured in turn with this one's."""
    with contextlib.ExitStack() as stack:
        clients = {"": stack.enter_context(running_server())}
        if beside is not None:
            clients[str(beside)] = stack.enter_context(running_server(beside))
        for client in clients.values():
            for comparison in COMPARISONS:  # what is compiled and loaded once is no part of a rate
                _replayed(client, "warm-up", comparison, recording(12, comparison.observations_a_second))
        return [figure for one in COMPARISONS for figure in _compared(one, clients, 3 if quick else 5)]


def _compared(comparison: Comparison, clients: dict[str, Client], rounds: int) -> list[Figure]:
    data = recording(_MINUTE, comparison.observations_a_second)
    ours: dict[str, list[float]] = {name: [] for name in clients}
    theirs: dict[str, list[float]] = {baseline.name: [] for baseline in comparison.baselines}
    for turn in range(rounds):
        for name, client in clients.items():
            elapsed, arrivals = _replayed(client, f"round-{turn}", comparison, data)
            ours[name].append(elapsed)
            answers = _answers(comparison, data, arrivals)
            if turn == 0:
                _check(comparison, data, answers, f"the server {name}")
        for baseline in comparison.baselines:
            began = time.perf_counter()
            found = baseline.loop(data, comparison.questions)
            theirs[baseline.name].append(time.perf_counter() - began)
            if turn == 0:
                _check(comparison, data, _in_turn(comparison, data, found), baseline.name)
    rate = data.triples / median_of(ours[""])
    print(f"    {comparison.name}: answers are right; {rate:,.0f} triples/s", flush=True)
    compared: list[tuple[str, list[float], float | None]]
    compared = [(one.name, theirs[one.name], one.target) for one in comparison.baselines]
    compared += [(name, seconds, None) for name, seconds in ours.items() if name]
    return [
        Figure(
            "w",
            comparison.name,
            rate,
            "triples/s",
            rate * median_of(seconds) / data.triples,
            target,
            baseline=data.triples / median_of(seconds),
            baseline_name=name,
            details={"seconds": ours[""], "seconds_baseline": seconds, "triples": data.triples},
        )
        for name, seconds, target in compared
    ]


def _replayed(client: Client, stream: str, comparison: Comparison, data: Recording) -> tuple[float, list[Arrival]]:
    """Seconds from the first POST to the last answer, and the answers."""
    iri = f"http://example.org/{stream}"
    client.create_stream(stream, iri)
    names = [f"q{number}" for number in range(len(comparison.questions))]
    for name, question in zip(names, comparison.questions, strict=True):
        client.register(name, question.over_stream(iri))
    seconds = len(data.seconds)
    bodies = data.bodies(comparison.seconds_a_body)
    wanted = len(names) * len(comparison.questions[0].instants(seconds))

    def post() -> None:
        for body in bodies:
            client.post(stream, body)
        client.advance(stream, seconds * 1000)

    elapsed, arrivals = answers_to(post, client, names, wanted, _PATIENCE)
    for name in names:
        client.remove(name)
    client.delete_stream(stream)
    return elapsed, arrivals


Answers = Mapping[tuple[int, Instant], bytes]
"""By the number of a question, and an instant."""


def _answers(comparison: Comparison, data: Recording, arrivals: Sequence[Arrival]) -> Answers:
    """Raises RuntimeError unless there is one answer to each question at each instant."""
    numbers = {f"q{number}": number for number in range(len(comparison.questions))}
    answers = {(numbers[one.query], one.instant): one.document for one in arrivals}
    instants = comparison.questions[0].instants(len(data.seconds))
    if len(arrivals) > len(answers) or {instant for _, instant in answers} != set(instants):
        raise RuntimeError(f"{comparison.name}: an answer came twice, or at {sorted(i for _, i in answers)[-3:]}")
    return answers


def _in_turn(comparison: Comparison, data: Recording, answers: Sequence[bytes]) -> Answers:
    instants = comparison.questions[0].instants(len(data.seconds))
    places = [(number, instant) for instant in instants for number in range(len(comparison.questions))]
    return dict(zip(places, answers, strict=True))


def _check(comparison: Comparison, data: Recording, answers: Answers, name: str) -> None:
    """Raises RuntimeError unless each answer is right."""
    for number, instant, right in solutions(comparison.questions, data):
        found = json.loads(answers[number, instant])["results"]["bindings"]
        if comparison.questions[number].read(found) != right:
            raise RuntimeError(f"{comparison.name}: {name} answers query {number} otherwise at {instant}")
