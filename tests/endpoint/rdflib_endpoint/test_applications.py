"""``SparqlEndpoint`` and ``SparqlRouter`` are asked as rdflib-endpoint's are."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
import rdflib_endpoint
from fastapi import FastAPI
from rdflib import RDFS, Dataset, Graph, Literal, URIRef
from rdflib.plugins import sparql
from rdflib.plugins.sparql import CUSTOM_EVALS

from endpoint import Settings
from endpoint.rdflib_endpoint import SparqlEndpoint, SparqlRouter
from endpoint.readers.exchange import QueryQuestion
from endpoint.readers.rdflib_functions import Decorated, RdflibEvaluation, RdflibFunctions
from endpoint.resources.service_description import SD
from endpoint.services import services_of
from protocol.formats.allow_list import NOTHING
from protocol.formats.media_types import SolutionsFormat
from protocol.functions.python_functions import Named
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.rdflib_endpoint.application import EX, both_ways, dataset, each_letter, turned

FUNC = "PREFIX func: <urn:sparql-function:> PREFIX ex: <http://example.org/functions/>"
SUBJECT = URIRef("http://example.org/subject")
SWITCHES: list[tuple[Any, str, bool]] = [
    (rdflib, "NORMALIZE_LITERALS", True),
    (rdflib, "DAWG_LITERAL_COLLATION", False),
    (sparql, "SPARQL_DEFAULT_GRAPH_UNION", True),
    (sparql, "SPARQL_LOAD_GRAPHS", True),
]
"""All that rdflib has, with its own defaults."""
UPDATE = "DELETE { ?s ?p 'foo' } INSERT { ?s ?p 'bar' } WHERE { ?s ?p 'foo' }"


@contextmanager
def served(**options: Any) -> Iterator[TestClient]:
    with TestClient(SparqlEndpoint(backend=FakeBackend(), **options)) as client:
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    graph = dataset()
    for name in ("http://example.org/g", "http://example.org/h"):
        graph.graph(URIRef(name)).add((SUBJECT, RDFS.label, Literal("foo")))
    with served(graph=graph, functions={"urn:sparql-function:bothWays": both_ways}) as client:
        yield client


def rows(client: TestClient, query: str) -> list[tuple[str | None, ...]]:
    answer = client.get("/", params={"query": f"{FUNC} {query}"}, headers={"Accept": "application/json"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    return [
        tuple(solution[name]["value"] if name in solution else None for name in found["head"]["vars"])
        for solution in found["results"]["bindings"]
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?o { ?s rdfs:label ?o }", [("foo",)]),
        ("SELECT ?r { VALUES ?t {'a' ''} BIND(func:shout(?t) AS ?r) }", [("A!",), (None,)]),
        ("SELECT ?t { VALUES ?t {'a' 'b'} FILTER(func:shout(?t, '?') = 'B?') }", [("b",)]),
        ("SELECT ?l ?lPlace { BIND(func:letters('ab') AS ?l) }", [("a", "0"), ("b", "1")]),
        ("SELECT ?l { BIND(ex:eachLetter('ab') AS ?l) }", [("a",), ("b",)]),
        (
            "SELECT ?l ?n { [] a func:Spelling ; func:word 'ab' ; func:letter ?l ; func:place ?n }",
            [("a", "0"), ("b", "1")],
        ),
        ("SELECT ?l { <urn:x/y> a func:PartsOf ; func:letter ?l }", [("urn:x",), ("y",)]),
        ("SELECT ?o { <urn:xy> ex:shorter ?o }", [("urn:x",)]),
        ("SELECT ?o { BIND(func:alphabet('a') AS ?g) GRAPH ?g { ?s ex:has ?o } }", [("a",)]),
        ("SELECT ?o ?l { ?s rdfs:label ?o BIND(ex:eachLetter(?o) AS ?l) }", [("foo", one) for one in "foo"]),
        (
            "SELECT ?g ?l { GRAPH ?g { ?s rdfs:label 'foo' } BIND(ex:eachLetter('a') AS ?l) } ORDER BY ?g",
            [("http://example.org/g", "a"), ("http://example.org/h", "a")],
        ),
        ("SELECT ?r ?rLength { BIND(func:bothWays('a', 'bc') AS ?r) }", [("abc", "3"), ("bca", "3")]),
    ],
)
def test_functions(client: TestClient, query: str, expected: list[tuple[str | None, ...]]) -> None:
    assert rows(client, f"PREFIX rdfs: <{RDFS}> {query}") == expected


@pytest.fixture(scope="module")
def three_graphs() -> Iterator[TestClient]:
    graph = dataset()
    graph.default_graph.add((SUBJECT, RDFS.label, Literal("baz")))
    for name, label in (("g", "foo"), ("h", "bar"), ("h", "foo")):
        graph.graph(URIRef(f"urn:x:{name}")).add((SUBJECT, RDFS.label, Literal(label)))
    with served(graph=graph) as client:
        yield client


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", ["bar", "bar h", "baz", "foo", "foo g", "foo h"]),
        ("FROM <urn:x:g>", ["foo"]),
        ("FROM <urn:x:g> FROM x:h", ["bar", "foo"]),
        ("FROM NAMED x:g", ["foo g"]),
        ("FROM <urn:x:g> FROM NAMED <urn:x:h>", ["bar h", "foo", "foo h"]),
        ("FROM <http://127.0.0.1:9/>", []),
    ],
)
def test_from_is_the_dataset_of_functions_of_rows_too(
    three_graphs: TestClient, clauses: str, expected: list[str]
) -> None:
    query = (
        f"PREFIX x: <urn:x:> SELECT ?o ?g ?l {clauses}"
        "{ { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } BIND(ex:eachLetter('a') AS ?l) }"
    )
    found = rows(three_graphs, query)
    assert {letter for _, _, letter in found} <= {"a"}
    assert sorted(f"{o} {(g or '').removeprefix('urn:x:')}".strip() for o, g, _ in found) == expected


def test_graphs_of_the_request_are_the_dataset_of_functions_of_rows_too(three_graphs: TestClient) -> None:
    query = f"{FUNC} SELECT ?o ?l FROM <urn:x:h> {{ ?s ?p ?o BIND(ex:eachLetter('a') AS ?l) }}"
    asked = {"query": query, "default-graph-uri": "urn:x:g"}
    answer = three_graphs.get("/", params=asked, headers={"Accept": "text/csv"})
    assert answer.text.split() == ["o,l", "foo,a"]


def test_what_a_function_adds_for_its_query_is_gone_afterwards(client: TestClient) -> None:
    rows(client, "SELECT * { BIND(func:alphabet('a') AS ?g) GRAPH ?g { ?s ?p ?o } }")
    assert rows(client, "SELECT ?s { ?s ex:has ?o }") == []


def test_a_service_is_not_asked_by_rdflib_either(client: TestClient) -> None:
    query = f"{FUNC} SELECT * {{ SERVICE <http://127.0.0.1:9/> {{ ?s ?p ?o }} BIND(func:letters('a') AS ?l) }}"
    assert client.get("/", params={"query": query}).status_code == 403


def test_an_error_has_its_place(client: TestClient) -> None:
    refused = client.get("/", params={"query": "SELECT * { ?s ?p"})
    assert refused.status_code == 400
    assert refused.json()["line"] == 1


SELECT = "SELECT * { VALUES ?x { 1 } }"
CONSTRUCT = "CONSTRUCT { <urn:s> <urn:p> ?x } WHERE { VALUES ?x { 1 } }"


@pytest.mark.parametrize(
    ("query", "accept", "content_type"),
    [
        (SELECT, None, "application/sparql-results+xml"),
        (SELECT, "*/*", "application/sparql-results+xml"),
        (SELECT, "text/turtle", "application/sparql-results+xml"),
        (SELECT, "application/xml", "application/xml"),
        (
            SELECT,
            "text/html;q=0.3, application/xml;q=0.9, application/json, */*;q=0.8",
            "application/json",
        ),
        (SELECT, "text/csv", "text/csv; charset=utf-8"),
        (CONSTRUCT, None, "application/rdf+xml"),
        (CONSTRUCT, "text/turtle", "text/turtle; charset=utf-8"),
        (CONSTRUCT, "text/csv", "text/turtle; charset=utf-8"),
        (CONSTRUCT, "application/json", "application/json"),
        (CONSTRUCT, "application/sparql-results+xml, application/rdf+xml", "application/rdf+xml"),
    ],
)
def test_formats(client: TestClient, query: str, accept: str | None, content_type: str) -> None:
    headers = {"Accept": accept} if accept else {}
    for answer in (
        client.get("/", params={"query": query}, headers=headers),
        client.post("/", data={"query": query}, headers=headers),
        client.post("/", params={"query": query}, headers=headers),
        client.post("/", content=query, headers={**headers, "Content-Type": "application/sparql-query"}),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith(content_type.partition(";")[0])


def test_the_description_and_the_page(client: TestClient) -> None:
    for answer in (
        client.get("/", headers={"Accept": "text/turtle"}),
        client.post("/", headers={"Accept": "text/turtle"}),
    ):
        graph = Graph().parse(io.StringIO(answer.text), format="turtle")
        sd = rdflib.Namespace(SD)
        assert set(graph.objects(None, sd.endpoint)) == {
            URIRef("http://127.0.0.1:8000/"), URIRef("http://127.0.0.1:8000/sparql"),
        }  # fmt: skip
        called = set(graph.objects(None, sd.extensionFunction))
        assert {URIRef("urn:sparql-function:shout"), EX.eachLetter, URIRef("urn:sparql-function:bothWays")} <= called
        assert EX.shorter not in called
        assert Literal("SPARQL endpoint for RDFLib graph") in set(graph.objects(None, RDFS.label))
    assert client.get("/", headers={"Accept": "application/xml"}).text.startswith("<?xml")
    page = client.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.text.startswith("<!doctype html>")


def test_nothing_is_changed_without_leave(client: TestClient) -> None:
    assert client.post("/", data={"update": UPDATE}).status_code == 401
    assert client.put("/streams/s").status_code == 401
    assert client.put("/graphs?default", content="", headers={"Content-Type": "text/turtle"}).status_code == 401


def test_a_key_lets_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDFLIB_APIKEY", "key")
    with served(enable_update=True) as client:
        assert client.post("/", data={"update": UPDATE}).status_code == 401
        assert client.post("/", data={"update": UPDATE}, headers={"Authorization": "Bearer no"}).status_code == 401
        allowed = client.post("/", data={"update": UPDATE}, headers={"Authorization": "Bearer key"})
        assert allowed.status_code == 204
        assert client.get("/", params={"query": "ASK {}"}).status_code == 200


def test_an_update_is_in_the_graph_and_streams_are_there() -> None:
    graph = Graph()
    with served(graph=graph, enable_update=True) as client:
        graph.add((SUBJECT, RDFS.label, Literal("foo")))
        assert (
            client.post("/", content=UPDATE, headers={"Content-Type": "application/sparql-update"}).status_code == 204
        )
        assert set(graph) == {(SUBJECT, RDFS.label, Literal("bar"))}
        assert client.put("/streams/s").status_code == 201
        graph.remove((None, None, None))
        assert rows(client, "SELECT * { ?s ?p ?o }") == []
        refused = client.post("/", data={"update": UPDATE, "query": SELECT})
        assert refused.status_code == 400


def test_the_graph_is_there_before_anybody_asks(tmp_path: Path) -> None:
    # What is left of a former run is what continuous queries would read until then.
    former, now = Graph(), Graph()
    for graph, label in ((former, "former"), (now, "now")):
        graph.add((SUBJECT, RDFS.label, Literal(label)))
        app = SparqlEndpoint(graph=graph, settings=Settings(data=tmp_path / "data"), backend=FakeBackend())
        with TestClient(app):
            store = services_of(app.endpoint).store
            assert [quad.object.value for quad in store.oxigraph] == [label]


def test_an_endpoint_is_started_again_whatever_was_changed_while_it_was_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        graph = Graph()
        app = SparqlEndpoint(graph=graph, backend=FakeBackend())
        async with app.router.lifespan_context(app):
            pass
        graph.add((SUBJECT, RDFS.label, Literal("foo")))
        async with asyncio.timeout(30), app.router.lifespan_context(app):
            assert len(services_of(app.endpoint).store.oxigraph) == 1

    asyncio.run(main())
    assert "rdflib graph" not in caplog.text


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")  # rdflib's own evaluation
def test_rdflib_stays_as_the_application_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, default in SWITCHES:
        monkeypatch.setattr(module, name, default)
    graph = dataset()
    graph.graph(URIRef("http://example.org/g")).add((SUBJECT, RDFS.label, Literal("foo")))
    gc.collect()  # datasets of other tests, whose functions are forgotten with them
    with served(graph=graph, enable_update=True) as client:
        evaluated = dict(CUSTOM_EVALS)
        assert rows(client, "SELECT * { ?s ?p ?o }")
        assert rows(client, "SELECT * { BIND(func:letters('a') AS ?l) }")
        assert client.post("/", data={"update": "INSERT DATA { <urn:s> <urn:p> 1.5e0 }"}).status_code == 204
        turtle = {"Content-Type": "text/turtle"}
        assert client.put("/graphs?graph=urn:g", content="<urn:s> <urn:p> 01 .", headers=turtle).status_code == 201
        live = client.put(
            "/queries/q", content="SELECT * { ?s ?p ?o }", headers={"Content-Type": "application/sparql-query"}
        )
        assert live.status_code == 201
        assert client.get("/queries/q/results", headers={"Accept": "application/json"}).json()["results"]["bindings"]
        assert [getattr(module, name) for module, name, _ in SWITCHES] == [default for _, _, default in SWITCHES]
        assert evaluated == CUSTOM_EVALS
    assert len(graph.query("SELECT * { ?s ?p ?o }")) == 3


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")  # rdflib's own evaluation
def test_what_a_query_has_rdflib_call_is_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when the garbage collector comes to it, which may be while rdflib looks through all of that."""
    for module, name, default in SWITCHES:
        monkeypatch.setattr(module, name, default)
    iri = str(EX.eachLetter)
    named = Named.of(each_letter, "a function")
    evaluation = RdflibEvaluation(RdflibFunctions((Decorated("extension_function", str(EX), False, iri, named),)))
    question = QueryQuestion(f"SELECT ?l {{ BIND(<{iri}>('ab') AS ?l) }}", "application/sparql-results+json")
    before = set(CUSTOM_EVALS)
    gc.disable()
    try:
        for _ in range(2):
            answer = evaluation.answer(ox.Store(), question, NOTHING).write(SolutionsFormat.JSON)
            assert answer.count(b'"value"') == 2
            assert before >= set(CUSTOM_EVALS)
    finally:
        gc.enable()


def test_routes_of_the_application_go_first_and_pages_of_others_may_read() -> None:
    app = SparqlEndpoint(backend=FakeBackend(), path="/data/sparql")

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"mine": "yes"}

    with TestClient(app) as client:
        assert client.get("/health").json() == {"mine": "yes"}
        assert client.get("/streams").json() == {"streams": []}
        assert client.get("/nowhere").status_code == 404
        for path in ("/data/sparql", "/data/sparql/", "/sparql"):
            asked = client.get(path, params={"query": "ASK {}"}, headers={"Origin": "http://page.example"})
            assert asked.status_code == 200
            assert asked.headers["access-control-allow-origin"] == "*"
        assert set(client.get("/openapi.json").json()["paths"]) == {"/data/sparql", "/health"}
        assert client.get("/data/sparql", headers={"Accept": "text/html"}).text.startswith("<!doctype")


def test_the_router_in_an_application() -> None:
    app = FastAPI()
    settings = Settings(base_url="http://127.0.0.1:9000/rdf")
    router = SparqlRouter(path="/ask", graph=dataset(), settings=settings, enable_update=True, backend=FakeBackend())
    app.include_router(router, prefix="/rdf")
    with TestClient(app) as client:
        for path in ("/rdf/ask", "/rdf/ask/", "/rdf/sparql"):
            assert client.get(path, params={"query": "ASK {}"}).status_code == 200
        assert client.put("/rdf/streams/s").json()["iri"] == "http://127.0.0.1:9000/rdf/streams/s"
        assert client.get("/rdf/streams/s").status_code == 200
        assert client.get("/streams").status_code == 404


def test_a_custom_evaluation_has_every_query() -> None:
    graph = Dataset()
    graph.default_graph.add((SUBJECT, RDFS.label, EX.o))
    with served(graph=graph, custom_eval=turned) as client:
        assert rows(client, "SELECT ?s ?o { ?s ?p ?o }") == [(str(EX.o), str(SUBJECT))]


@pytest.mark.parametrize(
    ("update", "name"),
    [
        ("INSERT { <urn:s> rdfs:comment ?o } WHERE { <urn:xy> ex:shorter ?o }", "ex:shorter"),
        (
            "INSERT DATA { <urn:a> <urn:b> 1 } ; DELETE { ?s ?p ?l } WHERE { ?s ?p ?o BIND(func:letters(?o) AS ?l) }",
            "func:letters",
        ),
        (
            "INSERT { ?l rdfs:comment 1 } WHERE { { [] a <urn:sparql-function:Spelling> ; func:letter ?l } }",
            "<urn:sparql-function:Spelling>",
        ),
    ],
)
def test_an_update_in_which_functions_of_rows_would_take_part_is_refused(update: str, name: str) -> None:
    graph = dataset()
    with served(graph=graph, enable_update=True) as client:
        refused = client.post("/", data={"update": f"PREFIX rdfs: <{RDFS}>\n{FUNC}\n{update}"})
        assert refused.status_code == 501
        problem = refused.json()
        assert "are called in queries only" in problem["detail"]
        assert (problem["line"], problem["column"]) == (3, update.index(name) + 1)
    assert not len(graph)


def test_updates_may_name_functions_where_they_take_no_part() -> None:
    graph = dataset()
    with served(graph=graph, enable_update=True) as client:
        for update in (
            "INSERT DATA { <urn:s> ex:shorter 'ab' }",
            "INSERT { ?s ex:longer ?o } WHERE { ?s ?p ?o FILTER(func:shout('a') = 'A!') }",
            "DELETE WHERE { ?s ex:shorter ?o }",
        ):
            answered = client.post("/", data={"update": f"{FUNC} {update}"})
            assert answered.status_code == 204, answered.text
    assert set(graph.default_graph) == {(URIRef("urn:s"), EX.longer, Literal("ab"))}


def test_updates_with_patterns_are_refused_beside_a_custom_evaluation() -> None:
    with served(graph=Dataset(), custom_eval=turned, enable_update=True) as client:
        assert client.post("/", data={"update": "INSERT DATA { <urn:s> <urn:p> 1 }"}).status_code == 204
        refused = client.post("/", data={"update": "INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }"})
        assert refused.status_code == 501
        assert "custom_eval evaluates queries only" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT ?l { BIND(func:letters('ab') AS ?l) }", 18),
        ("SELECT ?l { [] a func:Spelling ; func:word 'ab' ; func:letter ?l }", 18),
        ("SELECT ?r { BIND(func:bothWays('a', 'bc') AS ?r) }", 18),
    ],
)
def test_a_live_query_with_functions_of_rows_is_refused_at_its_place(
    client: TestClient, query: str, column: int
) -> None:
    refused = client.get("/", params={"query": f"{FUNC} {query}"}, headers={"Accept": "text/event-stream"})
    assert refused.status_code == 501, refused.text
    problem = refused.json()
    assert "is a function of rows" in problem["detail"]
    assert (problem["line"], problem["column"]) == (1, len(FUNC) + 1 + column)


@pytest.mark.parametrize(("custom_eval", "told"), [(None, "func:letters"), (turned, "custom_eval")])
def test_a_live_query_that_rdflib_would_evaluate_is_not_registered(custom_eval: Any, told: str) -> None:
    query = f"{FUNC} SELECT ?l {{ BIND(func:letters('ab') AS ?l) }}"
    with served(graph=dataset(), custom_eval=custom_eval, enable_update=True) as client:
        refused = client.put("/queries/q", content=query, headers={"Content-Type": "application/sparql-query"})
        assert refused.status_code == 501, refused.text
        assert told.replace("func:", "urn:sparql-function:") in refused.json()["detail"]
        assert client.get("/queries/q").status_code == 404


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    theirs = rdflib_endpoint.DatasetExt()
    theirs.extension_function()(both_ways)
    with pytest.raises(ValueError, match=r"import DatasetExt, too, from endpoint\.rdflib_endpoint"):
        SparqlEndpoint(graph=theirs)
    with pytest.raises(ValueError, match="processor"):
        SparqlEndpoint(processor="other")
    local = dataset()
    local.predicate_function()(lambda iri: iri)
    with pytest.raises(ValueError, match="lambda"), served(graph=local):
        pass
