"""Many different queries at once, through the real server: registered soon, and none of them starved."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from protocol.time import format_instant
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

STREAM = "http://ex/s"
PATTERNS = (
    "?s <http://ex/p{n}> ?v",
    "?s <http://ex/p{n}> ?v . ?s <http://ex/q> ?w",
    "?s <http://ex/p{n}> ?v FILTER(?v > {n})",
    "?s <http://ex/p{n}> ?v OPTIONAL {{ ?s <http://ex/q{n}> ?w }}",
)


def _query(n: int) -> str:
    return f"""SELECT ?s (COUNT(?v) AS ?n{n})
FROM NAMED WINDOW <http://ex/w> ON <{STREAM}> [RANGE {n % 50 + 1}s STEP 1s]
WHERE {{ WINDOW <http://ex/w> {{ {PATTERNS[n % len(PATTERNS)].format(n=n)} }} }} GROUP BY ?s"""


def test_two_hundred_different_queries_are_registered_within_ten_seconds_and_all_are_evaluated_soon(
    tmp_path: Path,
) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.wait_for_spark()
        server.event_stream("s", STREAM)
        began = time.monotonic()
        for n in range(200):
            server.register(f"q{n}", _query(n))
        registered = time.monotonic() - began
        lags = []
        server.post("s", '<http://ex/a> <http://ex/p1> "1" .', format_instant(1001))
        for second in (2, 3, 4, 5):
            began = time.monotonic()
            server.post("s", f'<http://ex/a> <http://ex/p{second}> "{second}" .', format_instant(second * 1000 + 1))
            server.wait(partial(_evaluated, server, format_instant(second * 1000)), 60)
            lags.append(time.monotonic() - began)
        print(f"\nregistered in {registered:.1f} s; all evaluated after {', '.join(f'{lag:.1f}' for lag in lags)} s")
        assert registered < 10
        assert max(lags) < 10


def _evaluated(server: ServerProcess, instant: str) -> bool:
    documents = server.client.get("/queries").json()["queries"]
    assert len(documents) == 200
    return all(document["evaluated"] is not None and document["evaluated"] >= instant for document in documents)
