"""A continuous query answered by Spark SQL: the same documents as by DuckDB, as they come, once more and resumed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from httpx_sse import ServerSentEvent

from tests.server.server_process import ServerProcess

# Two servers with Spark, one after the other: `make test-sites` runs it, and so does CI.
pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

AVERAGES = """
SELECT ?room (AVG(?v) AS ?average) (COUNT(*) AS ?n) (MAX(STRLEN(STR(?s))) AS ?length)
FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s STEP 5s]
WHERE { WINDOW <http://ex/w> { ?s <http://ex/room> ?room . OPTIONAL { ?s <http://ex/v> ?v FILTER(?v > 1) } } }
GROUP BY ?room
"""
NEW = """
CONSTRUCT ISTREAM { ?room <http://ex/saw> ?v ; <http://ex/in> [] }
FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s STEP 5s]
WHERE { WINDOW <http://ex/w> { ?s <http://ex/room> ?room ; <http://ex/v> ?v } }
"""


def body(second: int) -> str:
    return "".join(
        f"<http://ex/s{second}-{n}> <http://ex/room> <http://ex/room{n}> ; <http://ex/v> {second % (n + 2)} . "
        for n in range(2)
    )


def told(events: list[ServerSentEvent]) -> list[tuple[str | None, str]]:
    return [(event.id, event.data) for event in events if event.event == "message"]


def test_a_query_is_answered_at_spark_sql_as_it_is_in_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("averages", "new")
    live: dict[str, list[ServerSentEvent]] = {name: [] for name in names}
    again: dict[tuple[str, str], list[tuple[str | None, str]]] = {}
    server = ServerProcess(tmp_path / "data")
    monkeypatch.setenv("SPARQL_STREAMS_SITE", "spark")
    with server:
        server.wait_for_spark()
        server.event_stream("s", "http://ex/s")
        listening = []
        for name, query in zip(names, (AVERAGES, NEW), strict=True):
            server.register(name, query)
            path = f"/queries/{name}/results"
            listener = threading.Thread(target=lambda p=path, n=name: live[n].extend(server.events(p)))
            listener.start()
            listening.append(listener)
            server.wait_for_listeners(name)
        for second in (1, 3, 4, 7, 12, 13):
            server.post("s", body(second), f"1970-01-01T00:00:{second:02d}Z")
        server.watermark("s", "end")
        for listener in listening:
            listener.join(timeout=300)
        for name in names:
            assert [event.event for event in live[name]][-1] == "end"
            again["spark", name] = told(list(server.events(f"/queries/{name}/results", {"since": "beginning"})))
    monkeypatch.setenv("SPARQL_STREAMS_SITE", "duckdb")
    with ServerProcess(tmp_path / "data") as other:
        other.wait_for_spark()
        for name in names:
            again["duckdb", name] = told(list(other.events(f"/queries/{name}/results", {"since": "beginning"})))
            first = again["spark", name][0][0]
            resumed = told(list(other.events(f"/queries/{name}/results", last_event_id=first)))
            assert resumed == again["spark", name][1:]
    assert len(told(live["averages"])) == 4  # at 5, 10, 15 and 20 s; at 25 s the window is empty
    for name in names:
        assert told(live[name])
        assert told(live[name]) == again["spark", name] == again["duckdb", name]
