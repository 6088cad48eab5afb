"""(b) From the POST that closes a window to its event at a client, against an empty micro-batch."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from protocol.time import format_instant
from tests.benchmarks.figures import Figure, median_of, percentile
from tests.benchmarks.listening import listening
from tests.benchmarks.server import Client, running_server

_STREAM = "http://example.org/rooms"
_SOSA = "http://www.w3.org/ns/sosa/"
_SENSORS = 10
_WARM_UP = 8
_ROUNDS_OF_EMPTY = 2
_OF_EMPTY, _OF_OTHER = 2.5, 0.6
_EMPTY_BATCH = Path(__file__).with_name("empty_batch.py")


def measure(*, quick: bool, beside: Path | None = None) -> list[Figure]:
    """``beside``: another checkout of the project, whose servers are measured in turn with this one's."""
    rounds, windows = (2, 10) if quick else (5, 22)
    latencies: list[float] = []
    theirs: list[float] = []
    batches: list[float] = []
    waits: list[float] = []
    for turn in range(rounds):
        with running_server() as client:
            latencies += _latencies(client, windows)
        if beside is not None:
            with running_server(beside) as client:
                theirs += _latencies(client, windows)
        if turn < _ROUNDS_OF_EMPTY:
            triggered, due = _empty_batches(windows)
            batches += triggered
            waits += due
    details = {
        "latencies": latencies,
        "latencies_beside": theirs,
        "empty_batches": batches,
        "due_to_driver_empty": waits,
        "windows": len(latencies),
    }
    figures = []
    for name, percent in (("median", 50), ("p99", 99)):
        value, empty = percentile(latencies, percent), percentile(batches, percent)
        title = f"closing POST to event, {name}"
        target = _OF_EMPTY if percent == 50 else None
        figures.append(
            Figure("b", title, value, "s", value / empty, target, False, empty, "empty micro-batch", details)
        )
        if theirs:
            other = percentile(theirs, percent)
            figures.append(Figure("b", title, value, "s", value / other, _OF_OTHER, False, other, str(beside), details))
    return [*figures, Figure("b", "due to driver, empty micro-batch, median", median_of(waits), "s", median_of(waits))]


def _latencies(client: Client, windows: int) -> list[float]:
    client.create_stream("rooms", _STREAM)
    client.register("averages", averages(_STREAM))
    measured = []
    # Not in step with anything that polls.
    pause = random.Random(7)
    with listening(client, ["averages"]) as results:
        client.post("rooms", observations(0))
        for second in range(1, windows + _WARM_UP + 1):
            body = observations(second)
            time.sleep(pause.uniform(0.3, 0.6))
            posted = time.perf_counter()
            client.post("rooms", body)
            if not results.wait_for(lambda all_, t=second * 1000: bool(all_) and all_[-1].instant >= t, 60):  # type: ignore[misc]  # a lambda's default
                raise RuntimeError(f"no result within 60 s of closing the window at {second} s")
            if second > _WARM_UP:
                measured.append(results.arrivals[-1].at - posted)
    return measured


def averages(stream: str) -> str:
    """The light query of which answers are awaited, over the stream of this IRI."""
    return f"""PREFIX sosa: <http://www.w3.org/ns/sosa/>
SELECT ?sensor (AVG(?value) AS ?average)
FROM NAMED WINDOW <http://example.org/w> ON <{stream}> [RANGE 1s TUMBLING]
WHERE {{ WINDOW <http://example.org/w> {{ ?o sosa:madeBySensor ?sensor ; sosa:hasSimpleResult ?value }} }}
GROUP BY ?sensor"""


def observations(second: int) -> bytes:
    """Observations just after a second's begin: the first of them closes the window that ends there."""
    lines = []
    for sensor in range(_SENSORS):
        subject = f"<http://example.org/o/{second}/{sensor}>"
        lines.append(
            "# @message\n"
            f"{subject} <{_SOSA}madeBySensor> <http://example.org/s/{sensor}> .\n"
            f'{subject} <{_SOSA}hasSimpleResult> "{second + sensor}.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n'
            f'{subject} <{_SOSA}resultTime> "{format_instant(second * 1000 + 1 + sensor)}"'
            "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        )
    return "".join(lines).encode()


def _empty_batches(count: int) -> tuple[list[float], list[float]]:
    """Seconds: of each empty micro-batch as Spark reports it, and from when its row was due to the driver having it."""
    with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
        out = subprocess.run(
            [sys.executable, str(_EMPTY_BATCH), directory, str(count), str(_WARM_UP)],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    measured = json.loads(out)
    return measured["batches"], measured["waits"]
