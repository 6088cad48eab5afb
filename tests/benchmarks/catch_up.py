"""(d) Catching up with a log that is already there, against loops over the same windows and queries."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import loops
import workload
from figures import Figure, median_of
from listening import Arrival, listening
from server import QUADS, Client, running_server

_MANY = 50
_NEEDED = 5.0


def measure(*, quick: bool) -> list[Figure]:
    seconds, rounds = (30, 2) if quick else (60, 3)
    instants = range(1000, seconds * 1000, 1000)
    triples = sum(workload.TRIPLES_PER_SECOND * min(t // 1000, workload.RANGE_SECONDS) for t in instants)
    baselines: dict[str, loops.Loop] = {
        "pyoxigraph loop": loops.pyoxigraph_loop(instants, seconds),
        "sparq loop": loops.sparq_loop(instants, seconds),
    }
    figures = []
    with running_server() as client:
        client.create_stream("observations", workload.STREAM)
        for second in range(seconds):
            client.post("observations", workload.body(second), QUADS)
        _caught_up(client, workload.SELECTIVE, 2, instants)  # warm
        for kind, pattern in (("a tenth", workload.SELECTIVE), ("all", workload.BROAD)):
            for count in (1, _MANY):
                ours: list[float] = []
                theirs: dict[str, list[float]] = {name: [] for name in baselines}
                for turn in range(rounds):
                    queries = [workload.one_shot(pattern, number) for number in range(count)]
                    elapsed, arrivals = _caught_up(client, pattern, count, instants)
                    ours.append(elapsed)
                    for name, run in baselines.items():
                        began = time.perf_counter()
                        answers = run(queries)
                        theirs[name].append(time.perf_counter() - began)
                        if turn == 0:
                            _compare(arrivals, answers, instants, count, name)
                figures += _figures(kind, count, ours, theirs, triples)
    return figures


def _figures(kind: str, count: int, ours: list[float], theirs: dict[str, list[float]], triples: int) -> list[Figure]:
    figures = []
    title = f"{count} quer{'y' if count == 1 else 'ies'} joining {kind} of each window"
    for name, seconds in theirs.items():
        value, baseline = triples / median_of(ours), triples / median_of(seconds)
        # The target is for many queries against pyoxigraph; the other figures are only told ahead or behind.
        target = _NEEDED if count > 1 and name.startswith("pyoxigraph") else 1.0
        details: dict[str, Any] = {"seconds": ours, "seconds_baseline": seconds, "window_triples": triples}
        figures.append(
            Figure("d", title, value, "window-triples/s", value / baseline, target, True, baseline, name, details)
        )
    return figures


def _caught_up(client: Client, pattern: str, count: int, instants: range) -> tuple[float, list[Arrival]]:
    """Seconds from the first registration to the last answer, and the answers."""
    names = [f"average-{number}" for number in range(count)]
    began = time.perf_counter()
    for number, name in enumerate(names):
        client.register(name, workload.continuous(pattern, number), since="beginning")
    with listening(client, names, since="beginning") as results:
        wanted = count * len(instants)
        if not results.wait_for(lambda all_: len(all_) >= wanted, 600):
            raise RuntimeError(f"{len(results.arrivals)} of {wanted} answers came within 600 s")
        elapsed = results.arrivals[-1].at - began
        arrivals = list(results.arrivals)
    for name in names:
        client.remove(name)
    return elapsed, arrivals


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
