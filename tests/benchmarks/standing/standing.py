"""(c) How many standing queries over 10,000-triple windows keep up with event time that advances as time does."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from tests.benchmarks import workload
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.listening import Arrival, listening
from tests.benchmarks.server import QUADS, Client, running_server

COUNTS = (25, 50, 100, 150, 200, 300)
_PARTS = 4
_SETTLE = 8
"""Seconds after the registrations that are not measured."""


def measure(*, quick: bool) -> list[Figure]:
    seconds = 12 if quick else 30
    keeping_up = 0
    details: dict[str, Any] = {}
    with running_server() as client:
        client.create_stream("observations", workload.STREAM)
        second = 0
        for count in COUNTS:
            lags, answered = _lags(client, count, second, seconds)
            second += seconds + _SETTLE + workload.RANGE_SECONDS + 1
            third = len(lags) // 3
            first, last = (median_of(lags[:third]), median_of(lags[-third:])) if third else (float("inf"),) * 2
            bounded = answered and median_of(lags) < 1.0 and last < 1.25 * first + 0.25
            details[str(count)] = {"lags": lags, "all answered": answered, "keeps up": bounded}
            print(f"    {count} queries: {_said(lags, first, last, answered)}", flush=True)
            if not bounded:
                break
            keeping_up = count
    return [Figure("c", "standing queries keeping up", keeping_up, "queries", keeping_up, 150, details=details)]


def _said(lags: list[float], first: float, last: float, answered: bool) -> str:
    if not lags:
        return "no instant was answered by all"
    return (
        f"lag median {median_of(lags):.2f} s, worst {max(lags):.2f} s, "
        f"first third {first:.2f} s, last third {last:.2f} s"
        f"{'' if answered else '; some instants were not answered by all'}"
    )


def _lags(client: Client, count: int, first: int, seconds: int) -> tuple[list[float], bool]:
    """Per instant, seconds from the POST that closes it to the last query's answer; whether all were answered."""
    names = [f"average-{number}" for number in range(count)]
    for second in range(first, first + workload.RANGE_SECONDS):
        client.post("observations", workload.body(second), QUADS)
    now = first + workload.RANGE_SECONDS
    for number, name in enumerate(names):
        client.register(name, workload.continuous(workload.SELECTIVE, number))
    closed: dict[int, float] = {}
    with listening(client, names) as results:
        bodies = {
            s: [workload.body(s, part, _PARTS) for part in range(_PARTS)] for s in range(now, now + seconds + _SETTLE)
        }
        began = time.perf_counter()
        for second, parts in bodies.items():
            for part, body in enumerate(parts):
                wait = began + (second - now) + part / _PARTS - time.perf_counter()
                if wait > 0:
                    time.sleep(wait)
                if part == 0:
                    closed[second * 1000] = time.perf_counter()
                client.post("observations", body, QUADS)
        measured = set(range((now + _SETTLE) * 1000, (now + _SETTLE + seconds) * 1000, 1000))
        wanted = len(measured) * count

        def all_there(arrivals: list[Arrival]) -> bool:
            return len(arrivals) >= wanted and sum(one.instant in measured for one in arrivals) >= wanted

        answered = results.wait_for(all_there, 10)
        answers = Counter(one.instant for one in results.arrivals)
        last = {one.instant: one.at for one in results.arrivals}
    for name in names:
        client.remove(name)
    return [last[t] - closed[t] for t in sorted(measured) if answers[t] == count], answered
