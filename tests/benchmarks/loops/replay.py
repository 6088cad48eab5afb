"""(d) A recorded stream replayed through standing queries, against loops over the same messages, windows and queries.

What is measured here runs from the first POST to the last answer at the client: taking the messages in, making
them durable, evaluating, sending the answers. A loop parses each message once and does nothing but answer.
"""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

from tests.benchmarks import workload
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.listening import Arrival, answers_to
from tests.benchmarks.loops import loops
from tests.benchmarks.server import QUADS, Client, running_server

_MANY = 50
_NEEDED = 5.0
_SECONDS_A_BODY = 10


def measure(*, quick: bool) -> list[Figure]:
    seconds, rounds = (60, 2) if quick else (180, 3)
    instants = range(1000, seconds * 1000, 1000)
    triples = sum(workload.TRIPLES_PER_SECOND * min(t // 1000, workload.RANGE_SECONDS) for t in instants)
    baselines: dict[str, loops.Loop] = {
        "pyoxigraph loop": loops.pyoxigraph_loop(instants, seconds),
        "sparq loop": loops.sparq_loop(instants, seconds),
    }
    figures = []
    with running_server() as client:
        _replayed(client, "warm-up", workload.SELECTIVE, 2, range(1000, 30_000, 1000))
        for kind, pattern in (("all", workload.BROAD), ("a tenth", workload.SELECTIVE)):
            for count in (1, _MANY):
                ours: list[float] = []
                registering: list[float] = []
                theirs: dict[str, list[float]] = {name: [] for name in baselines}
                for turn in range(rounds):
                    queries = [workload.one_shot(pattern, number) for number in range(count)]
                    name = f"{kind.replace(' ', '-')}-{count}-{turn}"
                    registered, elapsed, arrivals = _replayed(client, name, pattern, count, instants)
                    ours.append(elapsed)
                    registering.append(registered / count)
                    for loop, run in baselines.items():
                        began = time.perf_counter()
                        answers = run(queries)
                        theirs[loop].append(time.perf_counter() - began)
                        if turn == 0:
                            _compare(arrivals, answers, instants, count, loop)
                figures += _figures(kind, count, ours, theirs, triples)
                if count > 1:
                    milliseconds = median_of(registering) * 1000
                    figures.append(Figure("d", "registering one of them", milliseconds, "ms", milliseconds))
    return figures


def _figures(kind: str, count: int, ours: list[float], theirs: dict[str, list[float]], triples: int) -> list[Figure]:
    figures = []
    title = f"{count} quer{'y' if count == 1 else 'ies'} joining {kind} of each window"
    for name, seconds in theirs.items():
        value, baseline = triples / median_of(ours), triples / median_of(seconds)
        # The target is for many queries, an average over three patterns, against pyoxigraph; the other figures, those
        # of queries that join little of each window among them, are only told ahead or behind.
        target = _NEEDED if count > 1 and kind == "all" and name.startswith("pyoxigraph") else 1.0
        details: dict[str, Any] = {"seconds": ours, "seconds_baseline": seconds, "window_triples": triples}
        figures.append(
            Figure("d", title, value, "window-triples/s", value / baseline, target, True, baseline, name, details)
        )
    return figures


def _replayed(
    client: Client, stream: str, pattern: str, count: int, instants: range
) -> tuple[float, float, list[Arrival]]:
    """Seconds to register the queries, seconds from the first POST to the last answer, and the answers."""
    iri = f"http://example.org/{stream}"
    client.create_stream(stream, iri)
    names = [f"average-{number}" for number in range(count)]
    began = time.perf_counter()
    for number, name in enumerate(names):
        client.register(name, workload.continuous(pattern, number).replace(workload.STREAM, iri))
    registered = time.perf_counter() - began
    seconds = instants.stop // 1000
    bodies = [
        b"".join(workload.body(second) for second in range(first, min(first + _SECONDS_A_BODY, seconds)))
        for first in range(0, seconds, _SECONDS_A_BODY)
    ]

    def post() -> None:
        for body in bodies:
            client.post(stream, body, QUADS)

    elapsed, arrivals = answers_to(post, client, names, count * len(instants), 600)
    for name in names:
        client.remove(name)
    client.delete_stream(stream)
    return registered, elapsed, arrivals


def _compare(arrivals: list[Arrival], answers: list[bytes], instants: range, count: int, name: str) -> None:
    """Raises RuntimeError unless a loop's answers are ours."""
    ours = {(one.query, one.instant): _averages(one.document) for one in arrivals}
    place = iter(answers)
    for instant in instants:
        for number in range(count):
            mine, other = ours[f"average-{number}", instant], _averages(next(place))
            # Averages of xsd:decimal differ in how many digits an implementation gives.
            if mine.keys() != other.keys() or any(abs(mine[key] - other[key]) > Decimal("1e-6") for key in mine):
                raise RuntimeError(f"{name} answers otherwise at {instant}: {other}, here {mine}")


def _averages(document: bytes) -> dict[str, Decimal]:
    rows = json.loads(document)["results"]["bindings"]
    return {row["s"]["value"]: Decimal(row["average"]["value"]) for row in rows}
