"""(g) A cluster: what a second worker brings, and the single figures that say where many machines end.

docs/scale.md does the arithmetic with them.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spark_backend.answers.answer import Answer
from spark_backend.site import Site
from spark_backend.spark.launch.session import start_session, stop_session
from spark_backend.spark.source import EvaluationClock
from spark_backend.spark.task import ANSWER_SCHEMA, answer_batch, read_answers
from tests.benchmarks.figures import Figure, median_of
from tests.cluster.standalone import StandaloneCluster, server_on
from tests.server.server_process import ServerProcess
from tests.spark_backend.stepped_backend import SteppedBackend

_TRIPLES_OF_SECOND = 1000
_TRIPLES_ON_CLUSTER = 4000
"""So many a second that evaluation bounds the rate: what an answer costs besides is the same for a small window."""

_POLL_SECONDS = 0.25
"""Asking costs the server time, and the workers share its cores."""

_WIDTH = 20
_STREAM = "http://example.org/load"
# A join, a group and strings: what DuckDB has to do outweighs what Spark does for it many times.
_QUERY = f"""SELECT ?k (COUNT(*) AS ?n) (SUM(?v) AS ?sum) (MAX(STRLEN(STR(?s))) AS ?m)
FROM STREAM <{_STREAM}> [RANGE {_WIDTH}s STEP 1s]
WHERE {{ ?s <http://example.org/value> ?v ; <http://example.org/kind> ?k FILTER(?v > %d) }} GROUP BY ?k ORDER BY ?k"""


def measure(*, quick: bool) -> list[Figure]:
    """See the module."""
    seconds, rounds = (60, 2) if quick else (120, 3)
    with tempfile.TemporaryDirectory(prefix="cluster-") as directory:
        rates = {workers: _rate(Path(directory), workers, seconds, rounds) for workers in (1, 2)}
    one, two = median_of(rates[1]), median_of(rates[2])
    details = {"rates": {str(workers): found for workers, found in rates.items()}}
    return [
        Figure(
            "g", "evaluation by two workers", two, "window-triples/s", two / one, 1.6, True, one, "one", details=details
        ),
        *single_figures(quick=quick),
    ]


def single_figures(*, quick: bool) -> list[Figure]:
    """What one core evaluates, and what the parts cost of which there is one, however many machines there are."""
    return [*_evaluation(), *_planning(quick=quick), *_appends(), *_answers()]


def _rate(directory: Path, workers: int, seconds: int, rounds: int) -> list[float]:
    """Window-triples per second, of a query that has everything still before it."""
    home = directory / f"of{workers}"
    data = home / "data"
    data.mkdir(parents=True)
    with _server(home, data, workers) as server:
        server.event_stream("load", _STREAM, retention="P1D")
        for second in range(seconds):
            server.post("load", _element(second, _TRIPLES_ON_CLUSTER), 1000 * second + 500)
        server.watermark("load", 1000 * seconds)
        # The workers have the log, and have compiled nothing of what follows.
        return [_evaluate(server, number, seconds) for number in range(rounds + 1)][1:]


@contextmanager
def _server(home: Path, data: Path, workers: int) -> Iterator[ServerProcess]:
    with StandaloneCluster(home) as cluster:
        for _ in range(workers):
            cluster.add_worker()
        with server_on(cluster, data) as server:
            server.wait_for_spark()
            server.wait(lambda: json.loads((data / "spark" / "cores.json").read_text()) >= workers)
            yield server


def _evaluate(server: ServerProcess, number: int, seconds: int) -> float:
    names = [f"load{number}-{place}" for place in range(4)]
    began = time.perf_counter()
    for place, name in enumerate(names):
        answer = server.client.put(
            f"/queries/{name}",
            params={"since": "beginning"},
            content=_QUERY % (place + 10 * number),
            headers={"Content-Type": "application/sparql-query"},
        )
        assert answer.status_code == 201, answer.text
    for name in names:
        server.wait(lambda name=name: _evaluations(server, name) >= seconds, interval=_POLL_SECONDS)
    took = time.perf_counter() - began
    for name in names:
        server.client.delete(f"/queries/{name}")
    return len(names) * _window_triples(seconds, _TRIPLES_ON_CLUSTER) / took


def _evaluations(server: ServerProcess, name: str) -> int:
    done: int = server.client.get(f"/queries/{name}").json()["evaluations"]
    return done


def _element(second: int, triples: int) -> str:
    return "".join(
        f"<http://example.org/s{second}-{number}> <http://example.org/value> {number} ;"
        f" <http://example.org/kind> <http://example.org/k{number % 7}> .\n"
        for number in range(triples // 2)
    )


def _window_triples(seconds: int, triples: int) -> int:
    """What a query reads up to then: at each instant the last seconds, fewer at the beginning."""
    return sum(min(instant, _WIDTH) for instant in range(1, seconds + 1)) * triples


def _evaluation() -> list[Figure]:
    """What one core evaluates in a second of its own time, whatever else the machine does meanwhile."""
    seconds, queries, rates = 60, 4, []
    with tempfile.TemporaryDirectory(prefix="evaluation-") as directory:
        backend = SteppedBackend(Path(directory))
        backend.event_stream("load", _STREAM)
        for second in range(seconds + 1):
            backend.post("load", _element(second, _TRIPLES_OF_SECOND), 1000 * second + 500)
        for round_ in range(3):
            for place in range(queries):
                backend.register(f"load{round_}-{place}", _QUERY % (place + 10 * round_), since=0)
            began = time.process_time()
            backend.run()
            rates.append(queries * _window_triples(seconds, _TRIPLES_OF_SECOND) / (time.process_time() - began))
        backend.close()
    value = median_of(rates)
    return [Figure("g", "evaluation by one core", value, "window-triples/s", value, details={"rates": rates})]


def _planning(*, quick: bool) -> list[Figure]:
    """What the source takes for a query and instant: it is one process, however many machines there are."""
    queries, instants = (200, 20) if quick else (1000, 50)
    with tempfile.TemporaryDirectory(prefix="planning-") as directory:
        backend = SteppedBackend(Path(directory))
        backend.event_stream("s", _STREAM)
        for number in range(queries):
            backend.register(f"q{number}", _QUERY % number)
        backend.post("s", "<http://example.org/s> <http://example.org/p> 1 .", 1)
        clock = EvaluationClock(Path(directory))
        start = clock.advance({})
        spent = []
        for batch in range(5):
            backend.post("s", "<http://example.org/s> <http://example.org/p> 1 .", (batch + 1) * instants * 1000 + 1)
            began = time.perf_counter()
            end = clock.advance(start)
            due = clock.due(start, end)
            spent.append((time.perf_counter() - began) / sum(len(at) for _, _, at in due))
            start = end
        backend.close()
    value = 1e6 * median_of(spent)
    return [Figure("g", "planning of a query at an instant", value, "µs", value, details={"queries": queries})]


def _appends() -> list[Figure]:
    """What one log takes: its only writer syncs each request, or several that wait at the same moment."""
    found = []
    for name, triples in (
        ("appends of one triple, one after the other", 1),
        ("triples in appends of a thousand", 1000),
    ):
        with tempfile.TemporaryDirectory(prefix="appends-") as directory:
            backend = SteppedBackend(Path(directory))
            backend.event_stream("s", _STREAM)
            spent = []
            for number in range(100):
                body = "".join(f"<http://example.org/s{n}> <http://example.org/p> {n} .\n" for n in range(triples))
                began = time.perf_counter()
                backend.post("s", body, number)
                spent.append(time.perf_counter() - began)
            backend.close()
        value = triples / median_of(spent)
        found.append(Figure("g", name, value, "per s", value))
    return found


def _answers() -> list[Figure]:
    """What the driver takes of the answers that tasks give: from Spark into the server, and as answers there."""
    spent, read = [], []
    with tempfile.TemporaryDirectory(prefix="answers-") as directory:
        session = start_session(master="local[2]", directory=Path(directory))
        try:
            for _ in range(4):
                began = time.perf_counter()
                rows = session.range(8, numPartitions=4).mapInArrow(_answering, ANSWER_SCHEMA).toArrow()
                collected = time.perf_counter()
                read_answers(rows)
                spent.append(rows.nbytes / (collected - began))
                read.append(rows.nbytes / (time.perf_counter() - collected))
        finally:
            stop_session(session)
    details = {"bytes": rows.nbytes, "answers": rows.num_rows}
    return [
        Figure("g", name, median_of(rates[1:]) / 1e6, "MB/s", median_of(rates[1:]) / 1e6, details=details)
        for name, rates in (("answers collected by the driver", spent), ("answers read by the server", read))
    ]


def _answering(batches: Iterator[Any]) -> Iterator[Any]:
    """For each row a thousand answers of a hundred solutions."""
    solutions = "\n".join(f'{{"k":{{"type":"uri","value":"http://example.org/k{n}"}}}}' for n in range(100)).encode()
    for batch in batches:
        for number in batch["id"].to_pylist():
            yield answer_batch(
                [(f"key{number}", Answer(at, solutions, [], None, Site.DUCKDB, 1000, 0.01)) for at in range(1000)]
            )
