"""One run: so many requests, drawn from a seed, and everything that was wrong."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import psutil

from tests.fuzz.mutations import Mutations
from tests.fuzz.oracle import complaint
from tests.fuzz.seeds import Known, Seeds
from tests.fuzz.served import READERS, Served, served
from tests.fuzz.wire import Answered, Connection, FuzzedRequest

DIGESTS = 0.05
"""The share of requests around which the state is compared."""

HELD = 0.3
"""The share of result streams that stay open, unread, while requests go on."""

MOST_GROWTH = 500 * 2**20
"""Bytes that server and readers together may be larger at the end than after the first requests."""

MOST_GROWTH_LATE = 0.15
"""The share by which the server's process may be larger in the last quarter of a run than in the one before it, where
it is smallest there: what one request takes for a while is given back. Its readers are replaced now and then, so that
their sum goes up and down.
"""

_KEPT = "kept"
_MEMORY_SAMPLES, _SAMPLED_APART = 200, 5
"""So many samples of the memory of a run; in a short one, so many requests apart: a sample takes as long as two."""

_WARM = 200
_TOO_MUCH = 3 * 2**30
"""Bytes of the server, at any time."""
_MOST_HELD = 5
_CHANGING = ("POST", "PUT", "DELETE", "PATCH")
_QUADS = "SELECT ?g ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } } ORDER BY ?g STR(?s) ?p STR(?o)"


@dataclass
class Findings:
    """``wrong``: a complaint, its request and what came back, each complaint once with its first request."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    digests: int = 0
    seconds: float = 0.0
    memory: int = 0
    growth: int = 0
    samples: list[int] = field(default_factory=list)
    server: list[int] = field(default_factory=list)
    kept: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str, request: FuzzedRequest | None = None, answered: Answered | None = None) -> None:
        with self.lock:
            self.counts[what] += 1
        self.wrong.setdefault(
            what, "" if request is None else f"{request.notes} {request.encoded()[:3000]!r} -> {answered}"[:6000]
        )

    def report(self) -> str:
        lines = [
            f"{self.statuses.total()} requests in {self.seconds:.0f} s",
            f"memory in MiB, at least, in each tenth: {_mebibytes(self.samples)}",
            f"of the server alone: {_mebibytes(self.server)}",
            f"elements acknowledged and read back: {self.kept}",
            f"state compared around {self.digests} refused ones; memory grew by {self.growth / 2**20:.0f} MiB",
            "statuses: " + ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items())),
        ]
        lines += [f"WRONG ({self.counts[what]} times): {what}\n    {first}" for what, first in self.wrong.items()]
        return "\n".join(lines)


def fuzz(backend: str, requests: int, seed: int, directory: Path, *, clients: int = 1) -> Findings:
    """Send the requests of this seed to a server of their own; ``directory`` is to be empty.

    Several ``clients`` send at the same time, in an order that no seed tells; the state is not looked at then.
    """
    findings = Findings()
    began = time.monotonic()
    with served(backend, directory) as server:
        _make_kept(server)
        with ThreadPoolExecutor(clients) as pool:
            share = DIGESTS if clients == 1 else 0.0
            sending = [
                pool.submit(_send, Random(f"{seed} {number}"), requests // clients, server, findings, share, not number)
                for number in range(clients)
            ]
        for one in sending:
            one.result()
        if len(findings.server) >= 40:
            third, last = _least(findings.server, 4)[2:]
            if last > third * (1 + MOST_GROWTH_LATE):
                findings.add(f"memory still grows: {third / 2**20:.0f} MiB, then {last / 2**20:.0f}")
        _read_back(server, findings)
        findings.growth = _least(findings.samples, min(10, len(findings.samples)))[-1] - findings.memory
        if findings.growth > MOST_GROWTH:
            findings.add(f"memory grew by {findings.growth // 2**20} MiB")
        _alive(server, findings)
    findings.seconds = time.monotonic() - began
    read_log(server.log, findings)
    return findings


def _send(random: Random, requests: int, server: Served, findings: Findings, share: float, weighing: bool) -> None:
    known = Known()
    seeds, mutations = Seeds(random, known), Mutations(random)
    connections = [Connection(server.port) for _ in range(3)]
    watching = Connection(server.port)
    for number in range(requests):
        if weighing and number == min(_WARM, requests // 2):
            findings.memory = sum(_memory(server.process))
        if weighing and number % max(requests // _MEMORY_SAMPLES, _SAMPLED_APART) == 0:
            alone, others = _memory(server.process)
            findings.server.append(alone)
            findings.samples.append(alone + others)
        if number % 20 == 0:
            _keep(watching, findings)
        request = mutations.apply(seeds.draw(), seeds.draw())
        look = random.random() < share and request.method in _CHANGING
        state = _state(watching) if look else None
        connection = random.choice(connections)
        connection.keep_open = random.random() < HELD
        answered = connection.ask(request)
        if len(connection.held) > _MOST_HELD:
            connection.held.pop(random.randrange(len(connection.held))).close()
        with findings.lock:
            findings.statuses[answered.status] += 1
        wrong = complaint(request, answered)
        if wrong is not None:
            findings.add(wrong, request, answered)
        if state is not None and 400 <= answered.status < 500:
            findings.digests += 1
            changed = changes(state, _state(watching))
            if changed:
                findings.add(f"a {answered.status} that changed {', '.join(changed)}", request, answered)
        if number > _WARM and number % 50 == 0 and server.process.memory_info().rss > _TOO_MUCH:
            findings.add("the server took all memory", request, answered)
            return
        if not server.process.is_running() or server.process.status() == psutil.STATUS_ZOMBIE:
            findings.add("the server ended", request, answered)
            return
    for connection in (*connections, watching):
        connection.close()
        for listening in connection.held:
            listening.close()


def _make_kept(server: Served) -> None:
    """A stream that no fuzzed request names: what it took is there to the end."""
    connection = Connection(server.port)
    settings = (("Content-Type", "application/json"),)
    made = connection.ask(FuzzedRequest("PUT", f"/streams/{_KEPT}", settings, b'{"time": "event"}'))
    assert made.status == 201, made
    connection.close()


def _keep(connection: Connection, findings: Findings) -> None:
    with findings.lock:
        body = f"<urn:kept> <urn:number> {findings.kept + 1} .".encode()
        request = FuzzedRequest(
            "POST", f"/streams/{_KEPT}?at={findings.kept}", (("Content-Type", "text/turtle"),), body
        )
        answered = connection.ask(request)
        if answered.status == 200:
            findings.kept += 1
    if answered.status != 200:
        findings.add(f"an element that is right was not taken: {answered.status}", request, answered)


def _read_back(server: Served, findings: Findings) -> None:
    """Every element that was acknowledged is counted; nothing is there that was not sent."""
    connection = Connection(server.port)
    described = json.loads(connection.ask(FuzzedRequest("GET", f"/streams/{_KEPT}")).body)
    connection.close()
    if described["elements"] != findings.kept:
        findings.add(f"{findings.kept} elements were acknowledged, {described['elements']} are there")


def _state(connection: Connection) -> dict[str, Any]:
    """What a refused request must not change: graphs, streams and queries, without what time changes."""
    quads = connection.ask(
        FuzzedRequest(
            "POST", "/sparql", (("Content-Type", "application/sparql-query"), ("Accept", "text/csv")), _QUADS.encode()
        )
    )
    streams = json.loads(connection.ask(FuzzedRequest("GET", "/streams")).body)["streams"]
    queries = json.loads(connection.ask(FuzzedRequest("GET", "/queries")).body)["queries"]
    return {
        "graphs": sorted(quads.body.splitlines()),
        "streams": [_kept(one) for one in streams],
        "queries": [(one["name"], one["text"]) for one in queries],
        "starts": {one["name"]: one["start"] for one in queries if one["start"] is not None},
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What a request changed, in words; a query that waits for its first data gets its start by itself."""
    added = {name for name in after["starts"] if name not in before["starts"]}
    after = {**after, "starts": {name: start for name, start in after["starts"].items() if name not in added}}
    return [f"{key} from {before[key]} to {after[key]}"[:2000] for key in before if before[key] != after[key]]


def _kept(stream: dict[str, object]) -> dict[str, object]:
    """What nothing but a request changes of a stream: what a query publishes grows by itself, and time passes on where
    a stream that is idle goes on with the clock.
    """
    settings = {key: stream[key] for key in ("name", "iri", "time", "timestampPath", "allowedLateness", "retention")}
    if "query" in stream:
        return settings
    counts = {key: stream[key] for key in ("elements", "triples", "late", "ended", "first", "last")}
    stands = stream["time"] == "event" and "idleTimeout" not in stream
    return {**settings, **counts, "watermark": stands and stream["watermark"]}


def _memory(process: psutil.Process) -> tuple[int, int]:
    """The bytes of the server alone, and of its readers; of what several share, each has its part."""
    readers = 0
    for one in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile, as readers do
            readers += one.memory_full_info().pss
    return process.memory_full_info().pss, readers


def _least(samples: list[int], parts: int) -> list[int]:
    """The smallest of each part of the run; [] where it was too short."""
    size = len(samples) // parts
    return [min(samples[n * size : (n + 1) * size]) for n in range(parts)] if size else []


def _mebibytes(samples: list[int]) -> str:
    return ", ".join(str(one // 2**20) for one in _least(samples, 10))


def _alive(server: Served, findings: Findings) -> None:
    """The server answers, has its readers and threads, and no more of them than it should."""
    connection = Connection(server.port)
    for target in ("/health", "/metrics", "/streams", "/queries", "/sparql?query=ASK%20%7B%7D", "/graphs?default"):
        answered = connection.ask(FuzzedRequest("GET", target))
        if answered.status != 200:
            findings.add(f"at the end {target} gives {answered.status} {answered.failure}")
    # Updates go through the worker threads: as many at once as there are all have to be served.
    for _ in range(8):
        update = FuzzedRequest(
            "POST", "/sparql", (("Content-Type", "application/sparql-update"),), b"INSERT DATA { <urn:a> <urn:b> 1 }"
        )
        if connection.ask(update).status != 204:
            findings.add("at the end an update fails")
    connection.close()
    threads = server.process.num_threads()
    if threads > 100:
        findings.add(f"at the end there are {threads} threads")
    deadline = time.monotonic() + 20
    while not 1 <= len(server.process.children()) <= READERS + 2:
        if time.monotonic() > deadline:
            findings.add(f"at the end there are {len(server.process.children())} child processes")
            return
        time.sleep(0.1)


def read_log(log: Path, findings: Findings) -> None:
    text = log.read_text("utf-8", "replace").replace("WARNING uvicorn.error Invalid HTTP request received.\n", "")
    traces = text.split("Traceback (most recent call last)")
    for before, trace in pairwise(traces):
        end = trace.strip().splitlines()
        last = next((line for line in end[1:] if line and not line.startswith((" ", "\t"))), "?")
        findings.counts[f"a stack trace in the log: {last[:120]}"] += 1
        findings.wrong.setdefault(f"a stack trace in the log: {last[:120]}", (before[-300:] + trace[:6000]))
