from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.formats.allow_list import AllowList
from protocol.language.model import ContinuousQuery
from protocol.sparql.request import QueryRequest
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

DATA = """
PREFIX : <http://ex/>
INSERT DATA { :s :p "é", 2 . GRAPH :g1 { :s :p "g1", "both" } GRAPH :g2 { :s :p "g2", "both" } }
"""


@pytest.fixture(scope="module")
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture(scope="module")
def running(backend: FakeBackend) -> Iterator[TestClient]:
    """The application, started once for all tests: what they are about is in its graphs."""
    app = create_app(Settings(base_url="http://ex", threads=2), backend=backend)
    with TestClient(app, base_url="http://ex", follow_redirects=False) as client:
        backend.await_start()
        yield client


@pytest.fixture
def client(running: TestClient, backend: FakeBackend) -> TestClient:
    assert running.post("/sparql", data={"update": f"DROP ALL ; {DATA}"}).status_code == 204
    backend.calls.clear()
    return running


def ask(client: TestClient, query: str, accept: str | None = None, **parameters: Any) -> Any:
    headers = {} if accept is None else {"Accept": accept}
    return client.get("/sparql", params={"query": query, **parameters}, headers=headers)


def values(response: Any, name: str = "o") -> list[str]:
    assert response.status_code == 200, response.text
    return sorted(row[name]["value"] for row in response.json()["results"]["bindings"])


def assert_problem(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["status"] == status
    assert document["detail"]
    return document


SELECT = "SELECT ?o { ?s ?p ?o }"


def test_a_query_is_answered_however_the_protocol_sends_it(client: TestClient) -> None:
    expected = ["2", "é"]
    assert values(ask(client, SELECT)) == expected
    assert values(client.post("/sparql", data={"query": SELECT})) == expected
    as_body = client.post("/sparql", content=SELECT, headers={"Content-Type": "application/sparql-query"})
    assert values(as_body) == expected
    assert values(client.post("/sparql", data={"query": f"{SELECT} #{' ' * 100_000}"})) == expected, "in a thread"


def test_queries_are_unicode_throughout(client: TestClient) -> None:
    assert ask(client, 'ASK { ?s ?p "é" }').json()["boolean"] is True
    assert ask(client, 'SELECT ("𝔘%2B+" AS ?o) {}').json()["results"]["bindings"][0]["o"]["value"] == "𝔘%2B+"


@pytest.mark.parametrize(
    ("accept", "content_type", "start"),
    [
        (None, "application/sparql-results+json", '{"head"'),
        ("application/json", "application/json", '{"head"'),
        ("application/sparql-results+xml", "application/sparql-results+xml", "<?xml"),
        ("text/csv", "text/csv; charset=utf-8", "o\r\n"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8", "?o\n"),
    ],
)
def test_solutions_come_in_the_format_asked_for(
    client: TestClient, accept: str | None, content_type: str, start: str
) -> None:
    response = ask(client, SELECT, accept)
    assert response.headers["content-type"] == content_type
    assert "Accept" in response.headers["vary"]
    assert response.text.startswith(start)


@pytest.mark.parametrize(
    "accept", ["text/turtle", "application/n-triples", "application/ld+json", "application/rdf+xml"]
)
def test_graphs_come_in_the_syntax_asked_for(client: TestClient, accept: str) -> None:
    response = ask(client, "CONSTRUCT WHERE { ?s ?p ?o }", accept)
    assert response.headers["content-type"].partition(";")[0] == accept
    assert "http://ex/s" in response.text
    assert ask(client, "DESCRIBE <http://ex/s>", accept).status_code == 200


UNNAMED = "CONSTRUCT { <http://ex/s> <http://ex/1> 1 } WHERE {}"
"""RDF/XML has no name for its predicate."""


@pytest.mark.parametrize(
    ("query", "accept", "content_type"),
    [
        (UNNAMED, "application/rdf+xml, text/turtle;q=0.5", "text/turtle"),
        (UNNAMED, "application/rdf+xml, application/n-triples;q=0.4, text/turtle;q=0.5", "text/turtle"),
        (UNNAMED, "text/event-stream;q=0.5, application/rdf+xml, text/xml;q=0.9, */*;q=0.1", "text/turtle"),
        ('SELECT ("a\\u0001" AS ?s) {}', "application/sparql-results+xml, text/csv;q=0.5", "text/csv"),
        ("CONSTRUCT { <http://ex/s> <http://ex/p> <<( <http://ex/s> <http://ex/p> 1 )>> } WHERE {}",
         "application/ld+json, application/n-quads;q=0.9", "application/n-quads"),
    ],
)  # fmt: skip
def test_where_a_format_cannot_say_an_answer_the_next_one_that_is_accepted_does(
    client: TestClient, query: str, accept: str, content_type: str
) -> None:
    response = ask(client, query, accept)
    assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (200, content_type)


def test_where_no_format_that_is_accepted_can_say_an_answer_it_is_told_why(client: TestClient) -> None:
    for accept in ("application/rdf+xml", "application/rdf+xml, text/event-stream;q=0.5", "text/xml, text/turtle;q=0"):
        problem = assert_problem(ask(client, UNNAMED, accept), 406)
        assert "cannot name the predicate <http://ex/1>" in problem["detail"]


def test_what_cannot_be_written_is_not_acceptable(client: TestClient) -> None:
    assert "text/csv" in assert_problem(ask(client, SELECT, "image/png"), 406)["available"]
    assert_problem(ask(client, SELECT, "text/turtle"), 406)
    assert_problem(ask(client, "CONSTRUCT WHERE { ?s ?p ?o }", "text/csv"), 406)


def test_a_head_request_is_a_get_without_the_body(client: TestClient) -> None:
    response = client.head("/sparql", params={"query": SELECT})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/sparql-results+json"


def test_the_dataset_of_the_request_replaces_that_of_the_query(client: TestClient) -> None:
    both = ["http://ex/g1", "http://ex/g2"]
    query = "SELECT ?o FROM <http://ex/g2> { ?s ?p ?o }"
    assert values(ask(client, query)) == ["both", "g2"]
    assert values(ask(client, query, **{"default-graph-uri": "http://ex/g1"})) == ["both", "g1"]
    several: dict[str, Any] = {"default-graph-uri": both}
    assert values(ask(client, query, **several)) == ["both", "g1", "g2"]
    assert values(ask(client, query, **{"named-graph-uri": "http://ex/g1"})) == []
    body = client.post(
        "/sparql?default-graph-uri=http://ex/g1",
        content="SELECT ?o { ?s ?p ?o }",
        headers={"Content-Type": "application/sparql-query"},
    )
    assert values(body) == ["both", "g1"]


def test_an_update_is_seen_by_the_next_query_and_told_to_the_backend_before_the_answer(
    client: TestClient, backend: FakeBackend
) -> None:
    update = {"Content-Type": "application/sparql-update"}
    response = client.post("/sparql", content="CLEAR DEFAULT", headers=update)
    assert (response.status_code, response.content) == (204, b"")
    assert backend.calls == ["store_changed"]
    assert values(ask(client, SELECT)) == []


def test_relative_iris_are_relative_to_the_endpoint(client: TestClient) -> None:
    client.post("/sparql", data={"update": "CLEAR ALL ; INSERT DATA { <a> <http://ex/p> <#b> }"})
    assert values(ask(client, SELECT)) == ["http://ex/sparql#b"]
    assert ask(client, "ASK { <a> ?p ?o }").json()["boolean"] is True


def test_using_graphs_of_the_request_limit_an_update(client: TestClient) -> None:
    insert = "INSERT { ?s <http://ex/q> ?o } WHERE { ?s ?p ?o }"
    response = client.post("/sparql", data={"update": insert, "using-graph-uri": "http://ex/g1"})
    assert response.status_code == 204
    assert values(ask(client, "SELECT ?o { ?s <http://ex/q> ?o }")) == ["both", "g1"]
    conflict = {"update": f"WITH <http://ex/g1> {insert}", "using-graph-uri": "http://ex/g1"}
    assert assert_problem(client.post("/sparql", data=conflict), 400)["line"] == 1


def test_a_failed_update_changes_nothing_and_tells_nobody(client: TestClient, backend: FakeBackend) -> None:
    for update in ("CLEAR ALL ; DROP GRAPH <http://ex/none>", "CLEAR ALL ; nonsense", "CLEAR ALL ; LOAD <http://ex/>"):
        assert client.post("/sparql", data={"update": update}).status_code in (400, 403)
    assert values(ask(client, SELECT)) == ["2", "é"]
    assert backend.calls == []


def test_syntax_errors_name_their_place(client: TestClient) -> None:
    document = assert_problem(ask(client, "SELECT *\n{ ?s ?p }"), 400)
    assert (document["line"], document["column"]) == (2, 9)
    assert assert_problem(ask(client, ""), 400)["line"] == 1
    document = assert_problem(client.post("/sparql", data={"update": "INSERT DATA {\n<a> }"}), 400)
    assert (document["line"], document["column"]) == (2, 5)


def test_services_and_loads_are_refused(client: TestClient) -> None:
    for query in ("SELECT * { SERVICE <http://ex/> {} }", "SELECT * { SERVICE SILENT <http://ex/> {} }"):
        assert "SERVICE" in assert_problem(ask(client, query), 403)["detail"]
    for iri in ("http://ex/", "file:///etc/passwd"):
        assert "LOAD" in assert_problem(client.post("/sparql", data={"update": f"LOAD SILENT <{iri}>"}), 403)["detail"]


def test_an_address_that_may_be_fetched_has_commas() -> None:
    allowed = AllowList.of(["http://127.0.0.1:9/a,b", "http://127.0.0.1:9/x,*"])
    with TestClient(create_app(Settings(threads=2, allow_fetch=allowed), backend=FakeBackend())) as client:
        assert ask(client, "ASK {}").json()["boolean"] is True
        # Nobody is there.
        assert_problem(ask(client, "SELECT * { SERVICE <http://127.0.0.1:9/a,b> { ?s ?p ?o } }"), 502)
        assert_problem(ask(client, "SELECT * { SERVICE <http://127.0.0.1:9/y> { ?s ?p ?o } }"), 403)


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("query=ASK+{}&query=ASK+{}", 400),
        ("default-graph-uri=http://ex/", 400),
        ("update=CLEAR+ALL", 405),
        ("query=%FF", 400),
    ],
)
def test_requests_outside_the_protocol_are_refused(client: TestClient, query: str, parameters: int) -> None:
    assert_problem(client.get(f"/sparql?{query}"), parameters)


def test_bodies_of_other_types_are_refused(client: TestClient) -> None:
    assert_problem(client.post("/sparql", content=SELECT, headers={"Content-Type": "text/plain"}), 415)
    assert_problem(client.post("/sparql", content=SELECT), 415)
    assert_problem(client.post("/sparql", data={"query": SELECT, "update": "CLEAR ALL"}), 400)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_are_not_allowed(client: TestClient, method: str) -> None:
    response = client.request(method, "/sparql")
    assert_problem(response, 405)
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST, QUERY"


def test_options_tell_the_methods(client: TestClient) -> None:
    response = client.options("/sparql")
    assert (response.status_code, response.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST, QUERY")


def test_any_page_may_ask_by_default(client: TestClient) -> None:
    asked = client.get("/sparql", params={"query": SELECT}, headers={"Origin": "https://page.example"})
    assert asked.headers["access-control-allow-origin"] == "*"
    preflight = client.options(
        "/sparql",
        headers={
            "Origin": "https://page.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type, x-own",
        },
    )
    assert preflight.status_code == 200
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "x-own" in preflight.headers["access-control-allow-headers"]


def test_a_get_without_a_query_describes_the_service_or_shows_the_page(client: TestClient) -> None:
    description = client.get("/sparql")
    assert description.headers["content-type"] == "text/turtle; charset=utf-8"
    assert "SPARQL11Query" in description.text
    assert client.get("/sparql", headers={"Accept": "application/rdf+xml"}).text.startswith("<?xml")
    page = client.get("/sparql", headers={"Accept": "text/html,application/xml;q=0.9,*/*;q=0.8"})
    assert (page.status_code, page.headers["location"]) == (303, "/")


CONTINUOUS = (
    "SELECT * FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 10s] { WINDOW <http://ex/w> { ?s ?p ?o } }"
)


@pytest.mark.parametrize(
    "text",
    [
        CONTINUOUS,
        f"REGISTER QUERY q AS {CONTINUOUS}",
        r"SELECT * FROM STREAM <http://\u0065x/s> [RANGE 10s] { ?s ?p ?o }",
        r"SELECT * FROM STREAM <http://ex/\U00000073> [RANGE 10s] { ?s ?p ?o }",
    ],
)
def test_a_continuous_query_goes_to_those_who_answer_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    from starlette.responses import PlainTextResponse

    async def answer(request: Any, services: Any, query: ContinuousQuery, sent: QueryRequest) -> PlainTextResponse:
        assert sent.text == text
        return PlainTextResponse(" ".join((*query.streams, *query.from_graphs, *query.from_named)))

    monkeypatch.setattr("endpoint.resources.sparql.answer_continuous", answer)
    assert ask(client, text).text == "http://ex/s"
    body = client.post("/sparql", content=text, headers={"Content-Type": "application/sparql-query"})
    assert body.text == "http://ex/s"
    graphs = {"default-graph-uri": "http://ex/g1", "named-graph-uri": "http://ex/g2"}
    assert ask(client, text, **graphs).text == "http://ex/s http://ex/g1 http://ex/g2"


def test_words_of_the_streaming_language_do_not_make_a_query_continuous(client: TestClient) -> None:
    query = "SELECT ?o { ?stream <http://ex/p> ?o FILTER(?o != 'WINDOW REGISTER STREAM') }"
    assert values(ask(client, query)) == ["2", "é"]
