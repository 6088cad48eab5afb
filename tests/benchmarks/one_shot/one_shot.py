"""(e) One-shot queries over 100,000 triples through HTTP, against rdflib-endpoint and against pyoxigraph in process.

All give SPARQL JSON. rdflib-endpoint has its server and a process of its own; where a query takes it longer than
``PATIENCE`` it is stopped and counted as that. pyoxigraph's time is that of the evaluation and of the serialisation
into memory, in this process; its store is on disk, as the endpoint's is, and for information in memory. The endpoint
is measured at rest (its readers have the store in memory), and with ``--memory-quads 0``, which is what it does while
the store is too large, or changes all the time: its readers read from disk.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pyoxigraph as ox

from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.one_shot.queries import ASK, CELLS, QUERIES, TRIPLES, triples
from tests.free_port import free_port
from tests.server.one_shot_server import one_shot_server

ROOT = Path(__file__).resolve().parents[3]

PATIENCE = 60.0
READY_SECONDS = 120.0
SETTLING_SECONDS = 4.0
_JSON = "application/sparql-results+json"
Ask = Callable[[str], bytes]


class TooSlow(Exception):
    """There was no answer within ``PATIENCE``."""


def measure(*, quick: bool) -> list[Figure]:
    rounds, their_rounds, changes = (3, 1, 15) if quick else (9, 3, 60)
    data = triples()
    with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
        stores = {"pyoxigraph on disk": ox.Store(f"{directory}/store"), "pyoxigraph in memory": ox.Store()}
        for store in stores.values():
            store.bulk_load(data, format=ox.RdfFormat.N_TRIPLES)
        file = Path(directory) / "observations.nt"
        file.write_bytes(data)
        with _endpoint(data) as resting, _endpoint(data, memory_quads=0) as changing:
            ways: dict[str, Ask] = {
                "at rest": _over_http(resting),
                "from disk": _over_http(changing),
                **{name: _in_process(store) for name, store in stores.items()},
            }
            ways["at rest"](QUERIES["count"])
            time.sleep(SETTLING_SECONDS)
            times = {
                name: _by_turns({way: partial(_timed, ask, text, name) for way, ask in ways.items()}, rounds)
                for name, text in QUERIES.items()
            }
            asks = [_timed(ways["at rest"], ASK, "ASK") for _ in range(20 * rounds)]
            after = _after_updates(resting, changes)
        theirs = _rdflib_endpoint(file, their_rounds)
    return [
        *(figure for name in QUERIES for figure in _figures(name, times[name], theirs[name])),
        Figure("e", "ASK at rest", 1000 * median_of(asks), "ms", 1000 * median_of(asks), details={"seconds": asks}),
        Figure("e", "ASK after an update", 1000 * median_of(after), "ms", 1000 * median_of(after),
               details={"seconds": after}),
    ]  # fmt: skip


def _figures(name: str, times: dict[str, list[float]], theirs: list[float]) -> Iterator[Figure]:
    medians = {way: median_of(seconds) for way, seconds in times.items()}
    their_median = median_of(theirs)
    details = {"seconds": {**times, "rdflib-endpoint": theirs}, "triples": TRIPLES}
    at_least = " (stopped)" if their_median >= PATIENCE else ""
    for way in ("at rest", "from disk"):
        ours = medians[way]
        yield Figure("e", f"{name}, {way}", 1 / ours, "queries/s", their_median / ours, 5.0, True, 1 / their_median,
                     f"rdflib-endpoint{at_least}", details)  # fmt: skip
        for store in ("pyoxigraph on disk", "pyoxigraph in memory"):
            target = 1.5 if store == "pyoxigraph on disk" else None
            yield Figure("e", f"{name}, {way}", 1000 * medians[way], "ms", medians[way] / medians[store], target, False,
                         1000 * medians[store], store)  # fmt: skip


def _by_turns(ways: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, measured in ways.items():
            taken[way].append(measured())
    return taken


def _timed(ask: Ask, text: str, name: str) -> float:
    began = time.perf_counter()
    answer = ask(text)
    seconds = time.perf_counter() - began
    _check(name, answer)
    return seconds


def _check(name: str, answer: bytes) -> None:
    """RuntimeError if this is not the answer, as far as can be said in little time."""
    if name.endswith("cells"):
        found, right = answer.count(b'"value"'), CELLS
    elif name == "ASK":
        found, right = json.loads(answer)["boolean"], True
    else:
        rows = json.loads(answer)["results"]["bindings"]
        found = int(rows[0]["n"]["value"]) if name == "count" else len(rows)
        right = _expected(name)
    if found != right:
        raise RuntimeError(f"{name}: {found} was the answer, {right} is right")


_EXPECTED: dict[str, int] = {"count": TRIPLES, "order with limit": 10}


def _expected(name: str) -> int:
    if name not in _EXPECTED:
        store = ox.Store()
        store.bulk_load(triples(), format=ox.RdfFormat.N_TRIPLES)
        answer = store.query(QUERIES[name])
        assert not isinstance(answer, ox.QueryBoolean)
        _EXPECTED[name] = sum(1 for _ in answer)
    return _EXPECTED[name]


def _in_process(store: ox.Store) -> Ask:
    def ask(text: str) -> bytes:
        answer = store.query(text)
        assert isinstance(answer, ox.QuerySolutions | ox.QueryBoolean)
        return answer.serialize(format=ox.QueryResultsFormat.JSON) or b""

    return ask


def _over_http(url: str, timeout: float = 300.0) -> Ask:
    """A connection for each query. http.client, for it costs the least that a client can cost."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)

    def ask(text: str) -> bytes:
        try:
            connection.connect()
            connection.request("GET", f"/sparql?{urlencode({'query': text})}", headers={"Accept": _JSON})
            response = connection.getresponse()
            body = response.read()
            connection.close()
        except TimeoutError:
            connection.close()
            raise TooSlow from None
        if response.status != 200:
            raise RuntimeError(f"{url}: {response.status} {body[:500]!r}")
        return body

    return ask


def _sent(url: str, path: str, body: bytes, content_type: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("POST", path, body, {"Content-Type": content_type})
        response = connection.getresponse()
        said = response.read()
        if response.status >= 300:
            raise RuntimeError(f"POST {path}: {response.status} {said[:500]!r}")
    finally:
        connection.close()


@contextmanager
def _endpoint(data: bytes, **settings: int) -> Iterator[str]:
    """The endpoint, in a process of its own and without Spark, which one-shot queries do not need."""
    variables = {f"SPARQL_STREAMS_{name.upper()}": str(value) for name, value in settings.items()}
    os.environ.update(variables)
    try:
        with one_shot_server("asgi") as url:
            for name in variables:
                os.environ.pop(name)
            _sent(url, "/graphs?default", data, "application/n-triples")
            yield url
    finally:
        for name in variables:
            os.environ.pop(name, None)


def _after_updates(url: str, count: int) -> list[float]:
    """Updates and queries by turns: seconds that each query takes."""
    ask = _over_http(url)
    taken = []
    for number in range(count):
        update = f"PREFIX e: <http://example.org/> INSERT DATA {{ GRAPH e:g {{ e:s e:p {number} }} }}"
        _sent(url, "/sparql", update.encode(), "application/sparql-update")
        taken.append(_timed(ask, ASK, "ASK"))
    return taken


def _rdflib_endpoint(file: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds by query; ``PATIENCE``, once, for those that were stopped."""
    taken: dict[str, list[float]] = {}
    remaining = dict(QUERIES)
    while remaining:
        with _rdflib_server(file) as url:
            for name, text in list(remaining.items()):
                del remaining[name]
                ask = _over_http(url, PATIENCE)
                try:
                    taken[name] = [_timed(ask, text, name) for _ in range(rounds)]
                except TooSlow:
                    taken[name] = [PATIENCE]
                    # It cannot be told to stop: the others get a new process.
                    break
    return taken


@contextmanager
def _rdflib_server(file: Path) -> Iterator[str]:
    port = free_port()
    program = Path(__file__).with_name("rdflib_server.py")
    process = subprocess.Popen([sys.executable, str(program), str(port), str(file)])
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                _over_http(url)("ASK {}")
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("rdflib-endpoint did not start") from None
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
