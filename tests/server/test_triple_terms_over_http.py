"""Triple terms and base directions (RDF 1.2) over HTTP: in a stream, the store and a continuous query, with Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from endpoint import Settings, create_app
from tests.endpoint.asgi_client import TestClient

# Two endpoints with Spark, one after the other.
pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

PATIENCE = 300.0
PREFIXES = "PREFIX : <http://ex/> "
STREAMED = """:s1 :measured 7 ~ :m1 {| :by :anna |} .
  :w :says <<( :s1 :measured <<( :a :b "h"@ar--rtl )>> )>> , <<( :s1 :measured 7 )>> ."""
STORED = ":anna :trusts <<( :s1 :measured 7 )>> ."
PATTERN = """{ ?who :says ?t . ?x :trusts ?t } UNION { << ?s :measured ?v >> :by ?who }
  UNION { ?who :says <<( ?s ?p <<( ?x ?y ?v )>> )>> BIND(LANGDIR(?v) AS ?t) }"""


@pytest.fixture(params=["duckdb", "spark"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(data=tmp_path, site=request.param, base_url="http://testserver"))) as client:
        deadline = time.monotonic() + PATIENCE
        while not client.get("/health").json()["ready"]:
            assert time.monotonic() < deadline, client.get("/health").text
            time.sleep(0.5)
        yield client


def test_a_window_with_triple_terms_gives_what_a_graph_with_them_gives(client: TestClient) -> None:
    named = f"GRAPH <http://ex/g> {{ {STREAMED} }} GRAPH <http://ex/h> {{ {STORED} }}"
    updates = {"update": f"{PREFIXES} INSERT DATA {{ {named} }}"}
    client.post("/sparql", data=updates).raise_for_status()
    client.put("/streams/s", json={"iri": "http://ex/s", "time": "event"}).raise_for_status()
    query = f"{PREFIXES} SELECT * FROM <http://ex/h> FROM STREAM <http://ex/s> [RANGE 10s] {{ {PATTERN} }}"
    text = {"Content-Type": "application/sparql-query"}
    client.put("/queries/q", content=query, headers=text).raise_for_status()
    body, turtle = f"{PREFIXES} {STREAMED}", {"Content-Type": "text/turtle"}
    client.post("/streams/s?at=1970-01-01T00:00:01Z", content=body, headers=turtle).raise_for_status()
    client.put("/streams/s/watermark", content="end").raise_for_status()
    listening: dict[str, Any] = {"params": {"since": "beginning"}, "headers": {"Accept": "text/event-stream"}}
    events = client.get("/queries/q/results", **listening).text
    (document,) = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith('data: {"head"')]
    asked = client.get(
        "/sparql", params={"query": f"{PREFIXES} SELECT * FROM <http://ex/g> FROM <http://ex/h> {{ {PATTERN} }}"}
    )
    found = solutions(document)
    assert len(found) == 3
    assert found == solutions(asked.text)


def solutions(document: str) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in json.loads(document)["results"]["bindings"])
