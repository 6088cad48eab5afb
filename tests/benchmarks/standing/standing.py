"""(c) How many standing queries over 10,000-triple windows keep up with event time that advances as time does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tests.benchmarks import live, workload
from tests.benchmarks.figures import Figure
from tests.benchmarks.server import QUADS, Client, running_server

COUNTS = (75, 150, 300)
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
            queries = {f"average-{n}": workload.continuous(workload.SELECTIVE, n) for n in range(count)}
            found = lags(client, queries, second, seconds)
            second += passed(seconds)
            details[str(count)] = {**asdict(found), "keeps up": found.keep_up}
            print(f"    {count} queries: {found.told()}", flush=True)
            if not found.keep_up:
                break
            keeping_up = count
    return [Figure("c", "standing queries keeping up", keeping_up, "queries", keeping_up, 150, details=details)]


def lags(client: Client, queries: Mapping[str, str], first: int, seconds: int) -> live.Lags:
    """Of queries over the workload's stream, which are there for these ``seconds`` of it, from ``first`` on."""
    for second in range(first, first + workload.RANGE_SECONDS):
        client.post("observations", workload.body(second), QUADS)
    now = first + workload.RANGE_SECONDS
    for name, query in queries.items():
        client.register(name, query)
    parts = [
        live.Part(second - now + part / _PARTS, workload.body(second, part, _PARTS), None if part else second * 1000)
        for second in range(now, now + seconds + _SETTLE)
        for part in range(_PARTS)
    ]
    measured = range((now + _SETTLE) * 1000, (now + _SETTLE + seconds) * 1000, 1000)
    found = live.lags(client, "observations", list(queries), parts, measured, content_type=QUADS)
    for name in queries:
        client.remove(name)
    return found


def passed(seconds: int) -> int:
    """The seconds of the stream that a measurement of ``seconds`` takes, and one between."""
    return seconds + _SETTLE + workload.RANGE_SECONDS + 1
