"""One-shot queries under entailment regimes, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.entailment.regimes import Regime
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

PREFIXES = """
PREFIX : <http://ex/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX owl: <http://www.w3.org/2002/07/owl#>
"""
SCHEMA = ":Cat rdfs:subClassOf :Animal . :eats rdfs:domain :Animal . :eatenBy owl:inverseOf :eats ."
ANIMALS = "SELECT ?x { ?x a :Animal }"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    backend = FakeBackend()
    with TestClient(create_app(Settings(base_url="http://ex", threads=2), backend=backend)) as client:
        backend.await_start()
        yield client


@pytest.fixture(autouse=True)
def _graphs(client: TestClient) -> None:
    update(client, f"DROP ALL ; INSERT DATA {{ {SCHEMA} :tom a :Cat ; :eats :fish }}")


def update(client: TestClient, text: str) -> None:
    answer = client.post("/sparql", data={"update": PREFIXES + text})
    assert answer.status_code == 204, answer.text


def ask(client: TestClient, query: str, entailment: str | None = None, **more: Any) -> Any:
    named = {} if entailment is None else {"entailment": entailment}
    return client.get("/sparql", params={"query": PREFIXES + query, **named, **more})


def found(client: TestClient, query: str, entailment: str | None = None) -> list[str]:
    answer = ask(client, query, entailment)
    assert answer.status_code == 200, answer.text
    return sorted(
        " ".join(value["value"].removeprefix("http://ex/") for value in row.values())
        for row in answer.json()["results"]["bindings"]
    )


def test_each_query_says_its_regime(client: TestClient) -> None:
    assert found(client, ANIMALS) == found(client, ANIMALS, "none") == []
    assert found(client, ANIMALS, "rdfs") == ["tom"]
    assert found(client, "SELECT ?x { :fish :eatenBy ?x }", "rdfs") == []
    assert found(client, "SELECT ?x { :fish :eatenBy ?x }", "owl-rl") == ["tom"]


def test_a_form_and_a_body_say_it_as_well(client: TestClient) -> None:
    query = PREFIXES + "ASK { :tom a :Animal }"
    form = client.post("/sparql", data={"query": query, "entailment": "rdfs"})
    body = client.post(
        "/sparql?entailment=rdfs", content=query, headers={"Content-Type": "application/sparql-query"}
    )  # fmt: skip
    assert form.json()["boolean"] is body.json()["boolean"] is True


def test_updates_are_seen_and_match_what_was_asserted(client: TestClient) -> None:
    assert found(client, ANIMALS, "rdfs") == ["tom"]
    update(client, "INSERT DATA { :ann a :Cat . :bob :eats :fish }")
    assert found(client, ANIMALS, "rdfs") == ["ann", "bob", "tom"]
    update(client, "DELETE DATA { :ann a :Cat }")
    assert found(client, ANIMALS, "rdfs") == ["bob", "tom"]
    update(client, "DELETE { ?x a :Animal } INSERT { ?x a :Seen } WHERE { ?x a :Animal }")
    assert found(client, "SELECT ?x { ?x a :Seen }", "rdfs") == []
    update(client, "INSERT DATA { :Animal rdfs:subClassOf :Thing }")
    assert found(client, "SELECT ?x { ?x a :Thing }", "rdfs") == ["bob", "tom"]
    update(client, "DELETE DATA { :Cat rdfs:subClassOf :Animal }")
    assert found(client, ANIMALS, "rdfs") == ["bob", "tom"]
    update(client, "DELETE DATA { :tom :eats :fish }")
    assert found(client, ANIMALS, "rdfs") == ["bob"]


def test_named_graphs_see_the_schema_of_the_default_graph(client: TestClient) -> None:
    update(client, "INSERT DATA { GRAPH :g { :ann a :Cat } GRAPH :h { :bob :knows :ann } }")
    asked = "SELECT ?g ?x { GRAPH ?g { ?x a :Animal } }"
    assert found(client, asked, "rdfs") == ["g ann"]
    update(client, "INSERT DATA { :knows rdfs:domain :Animal }")
    assert found(client, asked, "rdfs") == ["g ann", "h bob"]
    update(client, "DROP GRAPH :g ; DELETE DATA { :eats rdfs:domain :Animal }")
    assert found(client, asked, "rdfs") == ["h bob"]
    # Their own schema is theirs alone, and what the default graph says of things is not theirs.
    update(client, "INSERT DATA { GRAPH :h { :knows rdfs:range :Person } :cat :knows :dog }")
    assert found(client, "SELECT ?x { ?x a :Person }", "rdfs") == []
    assert found(client, "SELECT ?g ?x { GRAPH ?g { ?x a :Person } }", "rdfs") == ["h ann"]


def test_graphs_are_read_as_they_were_written(client: TestClient) -> None:
    graph = client.get("/graphs?default", headers={"Accept": "application/n-triples"}).text
    assert len(graph.splitlines()) == 5


def test_from_several_graphs_is_answered_what_follows_from_their_merge(client: TestClient) -> None:
    update(client, "INSERT DATA { GRAPH :g { :ann a :Dog } GRAPH :h { :Dog rdfs:subClassOf :Animal } }")
    assert found(client, "SELECT ?x FROM :g { ?x a :Animal }", "rdfs") == []
    assert found(client, "SELECT ?x FROM :g FROM :h { ?x a :Animal }", "rdfs") == ["ann"]
    assert found(client, "SELECT ?x FROM :g FROM :h FROM NAMED :g { GRAPH ?g { ?x a :Animal } }", "rdfs") == []
    graphs = {"default-graph-uri": ["http://ex/g", "http://ex/h"]}
    (row,) = ask(client, ANIMALS, "owl-rl", **graphs).json()["results"]["bindings"]
    assert row["x"]["value"] == "http://ex/ann"
    assert found(client, "SELECT ?x FROM :none FROM :neither { ?x ?p ?o }", "rdfs") == []


def test_lists_may_change(client: TestClient) -> None:
    update(client, "INSERT DATA { :Both owl:intersectionOf ( :Cat :Pet ) . :tom a :Pet . :ann a :Cat }")
    both = "SELECT ?x { ?x a :Both }"
    assert found(client, both, "owl-rl") == ["tom"]
    update(client, "DELETE { ?l ?p ?o } WHERE { ?l owl:intersectionOf|<http://none> ?o ; ?p ?o }")
    assert found(client, both, "owl-rl") == []
    update(client, "INSERT DATA { :Both owl:intersectionOf ( :Cat ) }")
    assert found(client, both, "owl-rl") == ["ann", "tom"]


def test_a_regime_that_there_is_not_is_told_with_those_there_are(client: TestClient) -> None:
    answer = ask(client, ANIMALS, "owl-dl")
    assert answer.status_code == 400
    assert answer.json()["detail"] == "entailment: 'owl-dl' is no entailment regime: write none, rdfs, owl-rl"


def test_a_contradiction_is_a_warning_and_no_more(client: TestClient) -> None:
    update(client, "INSERT DATA { :Cat owl:disjointWith :Dog . :tom a :Dog }")
    assert found(client, ANIMALS, "owl-rl") == ["tom"]
    (warning,) = client.get("/health").json()["warnings"]
    assert warning.startswith("the default graph contradicts itself under owl-rl (cax-dw)")
    update(client, "DELETE DATA { :tom a :Dog }")
    assert found(client, ANIMALS, "owl-rl") == ["tom"]
    assert "warnings" not in client.get("/health").json()


def test_a_query_over_streams_has_the_regime_that_it_is_put_with(client: TestClient) -> None:
    client.put("/streams/s", json={"iri": "http://ex/s"})
    text = PREFIXES + "SELECT ?x FROM STREAM :s [RANGE 10s] { ?x a :Animal }"
    headers = {"Content-Type": "application/sparql-query"}
    for asked, regime in (("", "none"), ("?entailment=rdfs", "rdfs"), ("?entailment=none", "none")):
        put = client.put(f"/queries/streamed{asked}", content=text, headers=headers)
        assert put.status_code in (200, 201), put.text
        assert client.get("/queries/streamed").json()["entailment"] == regime
    assert client.put("/queries/streamed?entailment=owl", content=text, headers=headers).status_code == 400
    client.delete("/queries/streamed")


def test_a_query_has_the_regime_of_its_streams_where_it_asks_for_none(client: TestClient) -> None:
    for name in ("one", "two", "plain"):
        own = {} if name == "plain" else {"entailment": "owl-rl"}
        put = client.put(f"/streams/{name}", json={"iri": f"http://ex/{name}", **own})
        assert put.json().get("entailment") == own.get("entailment"), put.text
    headers = {"Content-Type": "application/sparql-query"}

    def put_over(streams: str, asked: str = "") -> Any:
        clauses = " ".join(f"FROM STREAM :{stream} [RANGE 10s]" for stream in streams.split())
        text = f"{PREFIXES} SELECT ?x {clauses} {{ ?x a :Animal }}"
        return client.put(f"/queries/streamed{asked}", content=text, headers=headers)

    for streams, asked, regime in (
        ("one two", "", "owl-rl"),
        ("plain", "", "none"),
        ("one", "?entailment=rdfs", "rdfs"),
        ("one plain", "?entailment=none", "none"),
    ):
        assert put_over(streams, asked).json()["entailment"] == regime
    refused = put_over("one plain")
    assert refused.status_code == 400
    assert "(one: owl-rl, plain: none): ask with entailment=" in refused.json()["detail"]
    client.delete("/queries/streamed")


def test_live_queries_are_answered_under_the_regime_of_the_endpoint_alone(client: TestClient) -> None:
    asked = {"query": PREFIXES + ANIMALS, "entailment": "rdfs"}
    answer = client.get("/sparql", params=asked, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 501
    assert "under the regime of the endpoint, none, only" in answer.json()["detail"]
    put = client.put(
        "/queries/animals?entailment=rdfs",
        content=PREFIXES + ANIMALS,
        headers={"Content-Type": "application/sparql-query"},
    )
    assert put.status_code == 501


def test_the_endpoint_has_a_regime_and_its_schema_a_place(tmp_path: Path) -> None:
    settings = Settings(
        base_url="http://ex", threads=2, entailment=Regime.OWL_RL, schema=("http://ex/ontology",), data=tmp_path
    )
    backend = FakeBackend()
    with TestClient(create_app(settings, backend=backend)) as client:
        backend.await_start()
        update(client, f"INSERT DATA {{ GRAPH :ontology {{ {SCHEMA} }} GRAPH :g {{ :tom a :Cat }} :ann :eats :fish }}")
        assert found(client, ANIMALS) == ["ann"]
        assert found(client, ANIMALS, "none") == []
        assert found(client, "SELECT ?x { GRAPH :g { ?x a :Animal } }") == ["tom"]
        update(client, "INSERT DATA { GRAPH :ontology { :likes rdfs:range :Animal } :ann :likes :bob }")
        assert found(client, ANIMALS) == ["ann", "bob"]
        description = client.get("/sparql", headers={"Accept": "application/n-triples"}).text
        assert "defaultEntailmentRegime> <http://www.w3.org/ns/entailment/OWL-RDF-Based>" in description
        assert "defaultSupportedEntailmentProfile> <http://www.w3.org/ns/owl-profile/RL>" in description
        assert "entailmentRegime> <http://www.w3.org/ns/entailment/OWL-RDF-Based>" in description
        put = client.put(
            "/queries/animals", content=PREFIXES + ANIMALS, headers={"Content-Type": "application/sparql-query"}
        )
        assert (put.status_code, put.json()["entailment"]) == (201, "owl-rl")
        latest = client.get("/queries/animals/results", headers={"Accept": "application/sparql-results+json"})
        assert len(latest.json()["results"]["bindings"]) == 2
    # It is that of the endpoint, whichever it had when the query was registered.
    for regime in (Regime.OWL_RL, Regime.RDFS):
        with TestClient(create_app(replace(settings, entailment=regime), backend=FakeBackend())) as client:
            assert client.get("/queries/animals").json()["entailment"] == regime.value
