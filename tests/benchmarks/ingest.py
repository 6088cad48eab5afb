"""(a) Sustained rate from the first POST to the last window's result, against the bare parser on the same bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph

from tests.benchmarks import aarhus
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.listening import listening
from tests.benchmarks.server import Client, running_server

_HOUR = 3_600_000
_STREAM = "http://example.org/aarhus-{}"
_QUERY = """PREFIX sosa: <http://www.w3.org/ns/sosa/>
SELECT ?sensor ?property (AVG(?value) AS ?average)
FROM NAMED WINDOW <http://example.org/w> ON <{stream}> [RANGE 1h TUMBLING]
WHERE {{ WINDOW <http://example.org/w> {{
  ?o sosa:madeBySensor ?sensor ; sosa:observedProperty ?property ; sosa:hasSimpleResult ?value }} }}
GROUP BY ?sensor ?property"""


@dataclass(frozen=True)
class Replay:
    """Seconds: all of it, and up to the last receipt."""

    total: float
    posted: float
    windows: int


def measure(data: Path, *, quick: bool) -> list[Figure]:
    log = aarhus.load(data, 20_000 if quick else 100_000)
    replays, parses = [], []
    with running_server() as client:
        _replay(client, "warm-up", aarhus.load(data, 2_000))
        for number in range(2 if quick else 3):
            parses.append(_parse(log))
            replays.append(_replay(client, str(number), log))
        parses.append(_parse(log))
    rate = median_of([log.triples / replay.total for replay in replays])
    bare = median_of([log.triples / seconds for seconds in parses])
    details: dict[str, Any] = {
        "messages": log.messages,
        "triples": log.triples,
        "bytes": sum(map(len, log.bodies)),
        "bodies": len(log.bodies),
        "windows": replays[0].windows,
        "seconds": [replay.total for replay in replays],
        "seconds_until_last_receipt": [replay.posted for replay in replays],
        "seconds_bare_parse": parses,
    }
    posted = median_of([log.triples / replay.posted for replay in replays])
    return [
        Figure("a", "ingest to result", rate, "triples/s", rate / bare, 0.5, True, bare, "pyoxigraph.parse", details),
        Figure("a", "ingest until the last receipt", posted, "triples/s", posted / bare, None, True, bare, "parse"),
    ]


def _replay(client: Client, name: str, log: aarhus.MessageLog) -> Replay:
    stream, query = f"aarhus-{name}", f"averages-{name}"
    client.create_stream(stream, _STREAM.format(name))
    client.register(query, _QUERY.format(stream=_STREAM.format(name)))
    last_close = -(-log.last // _HOUR) * _HOUR
    with listening(client, [query]) as results:
        began = time.perf_counter()
        for body in log.bodies:
            client.post(stream, body)
        posted = time.perf_counter() - began
        client.end(stream)
        if not results.wait_for(lambda all_: bool(all_) and all_[-1].instant >= last_close, 300):
            raise RuntimeError("the last window's result did not come within 300 s")
        total = results.arrivals[-1].at - began
    client.remove(query)
    return Replay(total, posted, len(results.arrivals))


def _parse(log: aarhus.MessageLog) -> float:
    began = time.perf_counter()
    triples = 0
    for body in log.bodies:
        for _ in pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.N_TRIPLES):
            triples += 1
    seconds = time.perf_counter() - began
    if triples != log.triples:
        raise RuntimeError(f"the parser found {triples} triples, the log has {log.triples}")
    return seconds
