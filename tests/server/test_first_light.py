"""The whole way of the data, by hand: a stream, a query, elements, the watermark; and what survives a crash."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest
from httpx_sse import ServerSentEvent
from SPARQLWrapper import JSON, SPARQLWrapper

from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server]

QUERY = """
PREFIX sosa: <http://www.w3.org/ns/sosa/>
SELECT ?room (AVG(?value) AS ?average)
FROM NAMED WINDOW <http://ex/w> ON <http://ex/{name}> [RANGE 10s STEP 5s]
WHERE {{ WINDOW <http://ex/w> {{ ?o sosa:madeBySensor ?room ; sosa:hasSimpleResult ?value }} }}
GROUP BY ?room ORDER BY ?room
"""


def observation(room: str, value: float) -> str:
    return (
        "PREFIX sosa: <http://www.w3.org/ns/sosa/>\n"
        f"[] sosa:madeBySensor <http://ex/{room}> ; sosa:hasSimpleResult {value}e0 ."
    )


def averages(document: dict[str, Any]) -> dict[str, float]:
    return {b["room"]["value"]: float(b["average"]["value"]) for b in document["results"]["bindings"]}


def test_one_complete_document_arrives_for_each_evaluation_as_the_watermark_moves(server: ServerProcess) -> None:
    server.event_stream("rooms", "http://ex/rooms")
    server.register("averages", QUERY.format(name="rooms"))
    received: list[ServerSentEvent] = []
    listening = threading.Thread(target=lambda: received.extend(server.events("/queries/averages/results")))
    listening.start()
    server.wait_for_listeners("averages")
    for second, value in ((1, 20.0), (4, 22.0), (6, 24.0)):
        assert server.post("rooms", observation("kitchen", value), f"1970-01-01T00:00:{second:02d}Z") == {
            "elements": 1,
            "triples": 2,
            "watermark": f"1970-01-01T00:00:{second - 1:02d}.999Z",
        }
    server.watermark("rooms", "1970-01-01T00:00:10Z")
    server.watermark("rooms", "end")
    listening.join(timeout=300)
    documents = [event.json() for event in received if event.event == "message"]
    assert [(d["evaluation"]["time"], averages(d)) for d in documents] == [
        ("1970-01-01T00:00:05Z", {"http://ex/kitchen": 21.0}),
        ("1970-01-01T00:00:10Z", {"http://ex/kitchen": 22.0}),
        ("1970-01-01T00:00:15Z", {"http://ex/kitchen": 24.0}),
    ]
    identifiers = [event.id for event in received if event.event == "message"]
    assert all(identifiers)
    assert identifiers == sorted(identifiers, key=str)
    assert received[-1].event == "end"
    latest = server.client.get("/queries/averages/results", headers={"Accept": "text/csv"})
    assert latest.text.splitlines() == ["room,average", "http://ex/kitchen,24"]


def live_queries(server: ServerProcess) -> set[str]:
    """The names of the queries that run while somebody listens, and a while longer."""
    return set(re.findall(r'query_evaluations_total\{query="(live-\w+)"', server.client.get("/metrics").text))


def test_a_client_that_knows_nothing_of_streams_gets_an_ordinary_table(server: ServerProcess) -> None:
    server.event_stream("table", "http://ex/table")
    client = SPARQLWrapper(f"{server.url}/sparql")
    client.setQuery(QUERY.format(name="table"))
    client.setReturnFormat(JSON)
    tables: list[Any] = []
    others = live_queries(server)
    asking = threading.Thread(target=lambda: tables.append(client.query().convert()))
    asking.start()
    # The query runs under a name of its own; that it does is seen in the metrics.
    server.wait(lambda: live_queries(server) - others)
    server.post("table", observation("hall", 19.5), 1000)
    server.watermark("table", 5000)
    asking.join(timeout=300)
    (table,) = tables
    assert table["head"]["vars"] == ["room", "average"]
    assert averages(table) == {"http://ex/hall": 19.5}


def test_static_knowledge_joins_with_a_window_and_an_update_is_seen_by_the_next_evaluation(
    server: ServerProcess,
) -> None:
    update = "PREFIX : <http://ex/> INSERT DATA { :hall2 :onFloor 1 }"
    assert server.client.post("/sparql", data={"update": update}).status_code == 204
    server.event_stream("floors", "http://ex/floors")
    query = """
    PREFIX : <http://ex/>
    SELECT ?room ?floor FROM NAMED WINDOW :w ON :floors [RANGE 5s]
    WHERE { WINDOW :w { ?room :entered ?who } ?room :onFloor ?floor }
    """
    # With no FROM of the store's graphs, its default graph is there.
    server.register("floors", query)
    server.post("floors", "<http://ex/hall2> <http://ex/entered> <http://ex/ann> .", 1000)
    server.watermark("floors", 5000)
    server.wait(lambda: server.client.get("/queries/floors").json()["evaluations"] == 1)
    change = "PREFIX : <http://ex/> DELETE DATA { :hall2 :onFloor 1 } ; INSERT DATA { :hall2 :onFloor 2 }"
    assert server.client.post("/sparql", data={"update": change}).status_code == 204
    server.post("floors", "<http://ex/hall2> <http://ex/entered> <http://ex/bob> .", 6000)
    server.watermark("floors", "end")
    server.wait(lambda: server.client.get("/queries/floors").json()["state"] == "ended")
    latest = server.client.get("/queries/floors/results").json()
    assert [b["floor"]["value"] for b in latest["results"]["bindings"]] == ["2"]


def test_after_a_crash_nothing_acknowledged_is_lost_and_a_listener_goes_on_where_it_was(server: ServerProcess) -> None:
    server.event_stream("kept", "http://ex/kept")
    server.register("kept", QUERY.format(name="kept"))
    server.post("kept", observation("attic", 10.0), 1000)
    server.post("kept", observation("attic", 30.0), 6000)
    last = None
    for event in server.events("/queries/kept/results", params={"since": "beginning"}):
        if event.event == "message":
            assert averages(event.json()) == {"http://ex/attic": 10.0}
            last = event.id
            break
    server.kill()
    assert server.start() < 20, "the one-shot half waits for Spark"
    assert server.client.get("/streams/kept").json()["elements"] == 2
    server.post("kept", observation("attic", 50.0), 11000)
    server.watermark("kept", "end")
    documents = server.answers("/queries/kept/results", last_event_id=last)
    assert [(d["evaluation"]["time"], averages(d)) for d in documents] == [
        ("1970-01-01T00:00:10Z", {"http://ex/attic": 20.0}),
        ("1970-01-01T00:00:15Z", {"http://ex/attic": 40.0}),
        ("1970-01-01T00:00:20Z", {"http://ex/attic": 50.0}),
    ]
    assert json.loads(server.client.get("/queries/kept/results").content)["evaluation"]["time"].endswith("20Z")
