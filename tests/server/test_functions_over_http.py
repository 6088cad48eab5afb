"""Functions of an application over HTTP: one-shot, and in continuous queries at either site, with Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from endpoint import Settings, create_app
from tests.application_functions import IRI, OF_TERMS
from tests.endpoint.asgi_client import TestClient
from tests.spark_backend.surface.asking import rows

# Two endpoints with Spark, one after the other.
pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

PATIENCE = 300.0
VALUES = ("1", "2", '"x"@en', "<urn:iri>", "2.5")
SELECT = f"PREFIX f: <{IRI}> SELECT ?v (f:described(?v) AS ?d) (f:picky(?v, 1) AS ?n) (f:no_term(?v) AS ?none)"
DATA = " . ".join(f"<urn:s> <urn:p{place}> {value}" for place, value in enumerate(VALUES))


@pytest.fixture(params=["duckdb", "spark"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(Settings(data=tmp_path, site=request.param, base_url="http://testserver"), functions=OF_TERMS)
    with TestClient(app) as client:
        deadline = time.monotonic() + PATIENCE
        while not client.get("/health").json()["ready"]:
            assert time.monotonic() < deadline, client.get("/health").text
            time.sleep(0.5)
        yield client


def test_continuous_queries_answer_as_one_shot_ones_do(client: TestClient) -> None:
    client.post("/sparql", data={"update": f"INSERT DATA {{ {DATA} }}"}).raise_for_status()
    client.put("/streams/s", json={"iri": "http://ex/s", "time": "event"}).raise_for_status()
    query = f"{SELECT} FROM NAMED WINDOW <urn:w> ON <http://ex/s> [RANGE 10s] {{ WINDOW <urn:w> {{ ?s ?p ?v }} }}"
    text = {"Content-Type": "application/sparql-query"}
    client.put("/queries/q", content=query, headers=text).raise_for_status()
    turtle = {"Content-Type": "text/turtle"}
    client.post("/streams/s?at=1970-01-01T00:00:01Z", content=f"{DATA} .", headers=turtle).raise_for_status()
    client.put("/streams/s/watermark", content="end").raise_for_status()
    listening: dict[str, Any] = {"params": {"since": "beginning"}, "headers": {"Accept": "text/event-stream"}}
    events = client.get("/queries/q/results", **listening).text
    (document,) = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith('data: {"head"')]
    asked = client.get("/sparql", params={"query": f"{SELECT} {{ ?s ?p ?v }}"})
    assert rows(document.encode()) == rows(asked.content)
    assert sum(rows(asked.content).values()) == 5
