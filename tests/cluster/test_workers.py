"""Workers that fail, come and are not fit, under load: every answer once, and right."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from httpx_sse import ServerSentEvent

from tests.cluster.standalone import StandaloneCluster
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

WIDTH, SECONDS, QUERIES = 5, 240, 6


@pytest.fixture
def server(cluster: StandaloneCluster, server: ServerProcess) -> Iterator[ServerProcess]:
    """The server, and afterwards two workers again."""
    yield server
    while len(cluster.workers) > 2:
        cluster.end_worker(cluster.workers[-1])
    while len(cluster.workers) < 2:
        cluster.add_worker()


def sums(query: int) -> str:
    return (
        f"SELECT (COUNT(*) AS ?n) (SUM(?v) AS ?sum) FROM STREAM <http://ex/load> [RANGE {WIDTH}s STEP 1s] "
        f"WHERE {{ ?s <http://ex/value> ?v FILTER(?v >= {query}) }}"
    )


def expected(query: int) -> dict[int, tuple[int, int]]:
    """By instant (s): how many values are in the window, and their sum. The value at a second is its number."""
    last = SECONDS + WIDTH
    found = {}
    for instant in range(1, last):
        values = [v for v in range(max(instant - WIDTH, 0), min(instant, SECONDS)) if v >= query]
        found[instant] = (len(values), sum(values))
    return found


def received(events: list[ServerSentEvent]) -> list[tuple[int, tuple[int, int]]]:
    found = []
    for event in events:
        assert event.event in ("message", "progress", "end"), event
        if event.event == "message":
            document: dict[str, Any] = event.json()
            (row,) = document["results"]["bindings"]
            instant = document["evaluation"]["time"]
            minutes, seconds = instant.removeprefix("1970-01-01T00:").removesuffix("Z").split(":")
            counted = tuple(int(row[name]["value"]) for name in ("n", "sum"))
            found.append((60 * int(minutes) + int(seconds), (counted[0], counted[1])))
    return found


def test_a_worker_killed_and_another_added_lose_nothing_and_repeat_nothing(
    cluster: StandaloneCluster, server: ServerProcess
) -> None:
    server.event_stream("load", "http://ex/load")
    heard: list[list[ServerSentEvent]] = [[] for _ in range(QUERIES)]
    listeners = []
    for query, events in enumerate(heard):
        server.register(f"load{query}", sums(query))

        def listen(query: int = query, events: list[ServerSentEvent] = events) -> None:
            events.extend(server.events(f"/queries/load{query}/results", params={"since": "beginning"}))

        listeners.append(threading.Thread(target=listen))
        listeners[-1].start()

    def post(first: int, last: int) -> None:
        for second in range(first, last):
            server.post("load", f"<http://ex/{second}> <http://ex/value> {second} .", 1000 * second + 500)

    def evaluated(count: int) -> bool:
        return bool(server.client.get("/queries/load0").json()["evaluations"] >= count)

    third = SECONDS // 3
    post(0, third)
    server.wait(lambda: evaluated(third // 2))
    cluster.end_worker(cluster.workers[0])
    post(third, 2 * third)
    cluster.add_worker()
    post(2 * third, SECONDS)
    server.watermark("load", "end")
    for listener in listeners:
        listener.join(timeout=300)
    for query, events in enumerate(heard):
        found = received(events)
        assert dict(found) == expected(query)
        assert [instant for instant, _ in found] == sorted(expected(query))


def test_a_worker_host_that_does_not_see_the_data_directory_is_named_and_others_answer(
    cluster: StandaloneCluster, server: ServerProcess
) -> None:
    hide = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none "{server.data}" && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("a directory can be hidden from a process by the administrator only")

    def detail() -> str:
        return str(server.client.get("/health").json()["backend"]["detail"])

    blind = cluster.add_worker(before=hide)
    said = f"does not see the server's data directory {server.data}: mount it there, at the same path"
    server.wait(lambda: said in detail())
    server.event_stream("seen", "http://ex/seen")
    server.register("seen", "SELECT (COUNT(*) AS ?n) FROM STREAM <http://ex/seen> [RANGE 1s] WHERE { ?s ?p ?o }")
    for second in range(10):
        server.post("seen", f"<http://ex/{second}> <http://ex/p> 1 .", 1000 * second + 500)
        server.watermark("seen", 1000 * (second + 1))
        server.wait(lambda second=second: server.client.get("/queries/seen").json()["evaluations"] > second)
    described = server.client.get("/queries/seen").json()
    assert (described["solutions"], described["lastError"]) == (10, None)
    cluster.end_worker(blind)
    server.wait(lambda: detail() == "Spark is running")


def test_without_workers_it_says_what_it_waits_for(cluster: StandaloneCluster, server: ServerProcess) -> None:
    while cluster.workers:
        cluster.end_worker(cluster.workers[0])
    said = f"{cluster.url} gives no worker hosts: evaluations wait for one"

    def health() -> dict[str, Any]:
        health: dict[str, Any] = server.client.get("/health").json()
        return health

    server.wait(lambda: health()["backend"]["detail"] == said)
    assert not health()["ready"]
    server.event_stream("waiting", "http://ex/waiting")
    server.register(
        "waiting", "SELECT ?o FROM STREAM <http://ex/waiting> [RANGE 1s] WHERE { ?s <http://ex/waited> ?o }"
    )
    server.post("waiting", "<http://ex/s> <http://ex/waited> 1 .", 500)
    server.watermark("waiting", "end")
    for _ in range(2):
        cluster.add_worker()
    first, *_ = server.answers("/queries/waiting/results", params={"since": "beginning"})
    assert len(first["results"]["bindings"]) == 1


# The last one: nobody can join afterwards.
def test_without_its_master_a_server_goes_on_with_the_workers_it_has(
    cluster: StandaloneCluster, server: ServerProcess
) -> None:
    server.event_stream("alone", "http://ex/alone")
    server.register("alone", "SELECT ?o FROM STREAM <http://ex/alone> [RANGE 1s] WHERE { ?s <http://ex/left> ?o }")
    cluster.end_master()
    server.post("alone", "<http://ex/s> <http://ex/left> 1 .", 500)
    server.watermark("alone", 1000)
    server.wait(lambda: server.client.get("/queries/alone").json()["solutions"] == 1)
