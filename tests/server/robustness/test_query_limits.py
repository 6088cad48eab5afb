"""What a query that runs away does to others, and what becomes of it; over HTTP, without Spark."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import httpx
import psutil
import pytest

from endpoint.live import event_stream
from endpoint.services import services_of
from protocol.streams import StreamSettings
from tests.endpoint.readers.asking import ENDLESS, RUNAWAY, numbers
from tests.endpoint.running_server import Running, running_server
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.server, pytest.mark.slow]

LIMIT = 8.0
"""Seconds. What waits for a query that runs away takes as long; what does not is far below, on a busy machine too."""

HEARTBEAT = 0.2
CONTINUOUS = (
    "SELECT * FROM NAMED WINDOW <http://e/w> ON <http://e/s> [RANGE 10s] { WINDOW <http://e/w> { ?s ?p ?o } }"
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(event_stream, "HEARTBEAT_SECONDS", HEARTBEAT)
        with running_server(query_timeout=LIMIT, readers=2) as running:
            with httpx.Client(base_url=running.url) as client:
                assert client.post("/sparql", data={"update": numbers()}).status_code == 204
            yield running


def ask(server: Running, query: str, **parameters: Any) -> httpx.Response:
    return httpx.get(f"{server.url}/sparql", params={"query": query, **parameters}, timeout=30)


def readers() -> set[int]:
    """The process ids of the readers, which are this process's descendants as the server runs in it."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
            if one.status() != psutil.STATUS_ZOMBIE and one.name() == "sparql-reader":
                found.add(one.pid)
    return found


def answering(server: Running) -> set[int]:
    """Those that are answering a query right now."""
    return set(services_of(server.app).readers.answering)


def test_a_query_that_runs_away_delays_nobody_and_ends_at_its_limit(server: Running) -> None:
    server.backend.create_stream("s", StreamSettings(iri="http://e/s"))
    gaps: list[float] = []
    with ThreadPoolExecutor(2) as others:
        began = time.monotonic()
        runaway = others.submit(ask, server, RUNAWAY)

        def listen() -> None:
            headers = {"Accept": "text/event-stream"}
            with httpx.stream(
                "GET", f"{server.url}/sparql", params={"query": CONTINUOUS}, headers=headers, timeout=10
            ) as stream:
                last = time.monotonic()
                for _ in stream.iter_raw():
                    now = time.monotonic()
                    gaps.append(now - last)
                    last = now
                    if runaway.done():
                        return

        listening = others.submit(listen)
        asks = []
        while not runaway.done():
            asked = time.monotonic()
            assert ask(server, "ASK { <http://ex/7> <http://ex/n> 7 }").json()["boolean"] is True
            asks.append(time.monotonic() - asked)
        listening.result()
        stopped = runaway.result()
        took = time.monotonic() - began
    assert stopped.status_code == 504
    assert stopped.headers["content-type"] == "application/problem+json"
    assert stopped.json()["limit"] == LIMIT
    assert LIMIT <= took < 2 * LIMIT
    assert median(asks) < LIMIT / 4
    assert max(asks) < 0.7 * LIMIT
    assert median(gaps) < LIMIT / 4
    assert max(gaps) < 0.7 * LIMIT
    assert not answering(server)


def test_more_queries_that_run_away_than_there_are_readers_do_not_keep_others_waiting(server: Running) -> None:
    with ThreadPoolExecutor(4) as others:
        runaways = [others.submit(ask, server, RUNAWAY) for _ in range(4)]
        ServerProcess.wait(lambda: len(answering(server)) == 4, LIMIT)
        took = []
        for _ in range(5):
            asked = time.monotonic()
            assert ask(server, "ASK { <http://ex/7> <http://ex/n> 7 }").json()["boolean"] is True
            took.append(time.monotonic() - asked)
        # The first may have to wait until the last of the four has run for a second.
        assert max(took) < 0.7 * LIMIT
        assert median(took) < LIMIT / 4
        assert [one.result().status_code for one in runaways] == [504] * 4


@pytest.mark.parametrize("query", [RUNAWAY, ENDLESS])
def test_a_client_that_hangs_up_ends_its_query(server: Running, query: str) -> None:
    url = httpx.URL(f"{server.url}/sparql", params={"query": query})
    with socket.create_connection((url.host, url.port), timeout=10) as connection:
        connection.sendall(f"GET {url.raw_path.decode()} HTTP/1.1\r\nHost: e\r\nAccept: text/csv\r\n\r\n".encode())
        ServerProcess.wait(lambda: answering(server), 10)
        running = answering(server)
        if query is ENDLESS:
            taken = sum(len(connection.recv(100_000)) for _ in range(100))
            assert taken > 10**6
        assert running == answering(server)
        assert running < readers()
    ServerProcess.wait(lambda: not running & readers(), 5)
    assert ask(server, "ASK {}").status_code == 200


def test_no_client_takes_an_answer_that_was_stopped_for_a_whole_one(server: Running) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        ask(server, ENDLESS, timeout=3)


def test_a_process_that_is_killed_is_an_error_for_its_query_alone(server: Running) -> None:
    with ThreadPoolExecutor(1) as other:
        failing = other.submit(ask, server, RUNAWAY)
        ServerProcess.wait(lambda: answering(server), 10)
        (pid,) = answering(server)
        assert ask(server, "ASK {}").status_code == 200
        os.kill(pid, 11)
        assert failing.result().status_code == 500
        assert "SIGSEGV" in failing.result().json()["detail"]
    assert ask(server, "ASK {}").status_code == 200


def test_at_the_end_no_reader_is_left() -> None:
    before = readers()
    with running_server() as running:
        assert ask(running, "ASK {}").status_code == 200
        started = readers() - before
        assert started
    assert not started & readers()
