from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from endpoint import create_app
from endpoint.graphs.documents import GraphNotRead
from endpoint.graphs.fetching import Fetching, LoadFailed, documents
from endpoint.graphs.store import GraphStore
from endpoint.settings import Settings
from protocol.errors import ProtocolError, QuerySemanticError, Unavailable
from protocol.formats.allow_list import AllowList
from protocol.formats.media_types import SolutionsFormat
from protocol.formats.reading_time import LONG
from protocol.sparql.guard import FetchRefused
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.outgoing.dripping_server import ENDLESS, drips
from tests.served import served

Answer = Callable[[httpx.Request], httpx.Response]


def fetching(answer: Answer, **given: Any) -> Fetching:
    return Fetching(AllowList.of(["http://ex/data"]), transport=httpx.MockTransport(answer), **given)


def always(content: bytes = b"<> <p> _:b .", status: int = 200, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: httpx.Response(status, stream=httpx.ByteStream(content), headers=names)


def test_a_document_is_read_as_its_content_type_says_relative_to_where_it_is() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return always(content_type="text/turtle; charset=utf-8")(request)

    written = fetching(answer).graph("http://ex/data/a#b")
    assert written.startswith("<http://ex/data/a> <http://ex/data/p> _:")
    assert "text/turtle" in asked[0].headers["accept"]
    assert asked[0].headers["accept-encoding"] == "identity"
    assert "authorization" not in asked[0].headers


def test_a_long_document_is_read_in_a_process_of_its_own_as_a_short_one_is() -> None:
    lines = "".join(f"<s{number}> <p> [] .\n" for number in range(5_000)).encode()
    assert len(lines) > LONG
    written = fetching(always(lines, content_type="text/turtle")).graph("http://ex/data/a")
    assert written.count("<http://ex/data/p>") == 5_000
    with pytest.raises(LoadFailed, match=r"<http://ex/data/a> is not a graph in text/turtle: .*line 5001, column 6"):
        fetching(always(lines + b" <a> b .", content_type="text/turtle")).graph("http://ex/data/a")


@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        ("a.nt", "text/plain", b"<a:a> <a:b> <a:c> ."),
        ("a.ttl", "application/octet-stream", b"<a:a> <a:b> <a:c> ."),
        ("a.jsonld", "application/json", b'{"@id":"a:a","a:b":{"@id":"a:c"}}'),
        ("a.nt", "application/n-triples", b"<a:a> <a:b> <a:c> ."),
        ("a", "text/turtle", b"<a:a> <a:b> <a:c> ."),
        ("a.ttl", "", b"<a:a> <a:b> <a:c> ."),
    ],
)
def test_the_extension_tells_the_syntax_where_the_type_does_not(path: str, media_type: str, body: bytes) -> None:
    found = fetching(always(body, content_type=media_type)).graph(f"http://ex/data/{path}")
    assert found == "<a:a> <a:b> <a:c> .\n"


def redirecting(to: str) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/data/start":
            return httpx.Response(302, headers={"Location": to})
        assert str(request.url).startswith("http://ex/data/"), "an address was fetched that is not allowed"
        return always(content_type="text/turtle")(request)

    return answer


def test_redirects_are_followed_to_allowed_addresses_only() -> None:
    assert "<http://ex/data/there>" in fetching(redirecting("there")).graph("http://ex/data/start")
    for to in ("http://ex.evil/data/x", "/secret", "../secret", "file:///etc/passwd", "//evil/data"):
        with pytest.raises(LoadFailed, match=r"^<http://ex/data/start> leads to <.*>, which .* may not fetch$"):
            fetching(redirecting(to)).graph("http://ex/data/start")
    with pytest.raises(LoadFailed, match=r"^this server may not fetch <http://ex\.evil/data/x>$"):
        fetching(always()).graph("http://ex.evil/data/x")
    with pytest.raises(LoadFailed, match="more than 5"):
        fetching(redirecting("start")).graph("http://ex/data/start")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def failing(error: Exception) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (always(status=404), "404 Not Found"),
        (always(status=500), "500"),
        (always(content_type="image/png"), "is image/png"),
        (always(b"nonsense", content_type="text/turtle"), "not a graph in text/turtle"),
        (always(b"<a:a> <a:b> <a:c> <a:g> .", content_type="application/n-quads"), "not a graph"),
        (always(b"x" * 101, content_type="text/turtle"), "larger than 100 bytes"),
        (always(content_type="text/turtle", content_encoding="br"), "compressed"),
        (failing(httpx.ConnectTimeout("late")), "in time"),
        (failing(httpx.ConnectError("no way")), "no way"),
    ],
)
def test_what_cannot_be_loaded_is_told(answer: Answer, told: str) -> None:
    with pytest.raises(LoadFailed, match=told) as caught:
        fetching(answer, maximum_bytes=100).graph("http://ex/data/a")
    assert caught.value.status == 502


@pytest.mark.parametrize("seconds", [5.0, 4.99997])
def test_a_document_that_does_not_end_is_given_up(seconds: float) -> None:
    with pytest.raises(LoadFailed, match="within 5 s"):
        fetching(always(content_type="text/turtle"), seconds=seconds, clock=Clock()).graph("http://ex/data/a")


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
def test_a_document_that_comes_byte_by_byte_is_given_up(beginning: bytes) -> None:
    with drips(beginning) as address, pytest.raises(LoadFailed, match=r"was not there whole within 0\.2 s"):
        Fetching(AllowList.of([address]), seconds=0.2).graph(address)


def test_a_silent_load_that_fails_does_nothing_and_one_that_is_refused_is_refused() -> None:
    assert documents("LOAD SILENT <http://ex/data/a>", fetching(always(status=404))) == [None]
    with pytest.raises(LoadFailed):
        documents("LOAD <http://ex/data/a>", fetching(always(status=404)))
    with pytest.raises(FetchRefused):
        documents("LOAD SILENT <http://ex/other>", fetching(always()))


@pytest.mark.parametrize("error", [Unavailable("the process was ended"), GraphNotRead("it broke")])
def test_a_silent_load_does_nothing_where_its_document_could_not_be_read_here(
    monkeypatch: pytest.MonkeyPatch, error: ProtocolError
) -> None:
    def lost(*_: object) -> bytes:
        raise error

    monkeypatch.setattr("endpoint.graphs.fetching.n_triples", lost)
    found = fetching(always(content_type="text/turtle"))
    assert documents("LOAD SILENT <http://ex/data/a>", found) == [None]
    with pytest.raises(type(error)):
        documents("LOAD <http://ex/data/a>", found)


@pytest.mark.parametrize("silent", ["", "SILENT "])
def test_a_load_that_is_led_to_a_refused_address_is_refused_as_that_itself_is(silent: str) -> None:
    text = f"# one\nLOAD {silent}<http://ex/data/start>"
    for to in ("http://ex.evil/data/x", "/secret", "HTTPS://evil/data"):
        with pytest.raises(FetchRefused, match=r"leads to <.*>, which this server may not fetch") as refused:
            documents(text, fetching(redirecting(to)))
        assert (refused.value.line, refused.value.column) == (2, 1)


def test_a_silent_load_that_is_led_to_where_nobody_finds_a_document_does_nothing() -> None:
    assert documents("LOAD SILENT <http://ex/data/start>", fetching(redirecting("file:///etc/passwd"))) == [None]


# Through the application


_BEGINNING = b'{"head":{"vars":["x"]},"results":{"bindings":['
BROKEN_ANSWERS = {
    "/open/cut": (_BEGINNING, "The body was expected to contain"),
    "/open/syntax": (_BEGINNING + b'{"x":nonsense', "Parser error"),
    "/open/iri": (_BEGINNING + b'{"x":{"type":"uri","value":"a b"}}]}}', "Invalid IRI"),
    "/open/boolean": (b'{"head":{},"boolean":true}', "No valid SPARQL solutions returned"),
}
"""What a service may answer, and what is said of it."""


class Elsewhere(BaseHTTPRequestHandler):
    """Another server: RDF and SPARQL results, redirects and nonsense; notes what it was asked."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        body, media_type = b"<> <p> 'loaded', _:b .", "text/turtle"
        if self.path.startswith("/open/sparql"):
            row = {"x": {"type": "literal", "value": "served"}}
            document = {"head": {"vars": ["x"]}, "results": {"bindings": [row]}}
            body, media_type = json.dumps(document).encode(), "application/sparql-results+json"
        elif self.path == "/open/broken":
            body, media_type = b"nonsense", "text/html"
        elif self.path in BROKEN_ANSWERS:
            body, media_type = BROKEN_ANSWERS[self.path][0], "application/sparql-results+json"
        self.send_response(302 if self.path == "/open/redirect" else 200)
        self.send_header("Location", "/closed/sparql")
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body) + (self.path == "/open/cut")))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@contextmanager
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("Handler", (Elsewhere,), {"asked": asked})
    with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", asked


@pytest.fixture(scope="module")
def other() -> Iterator[tuple[str, list[str]]]:
    with elsewhere() as found:
        yield found


@pytest.fixture(scope="module")
def shared_client(other: tuple[str, list[str]]) -> Iterator[TestClient]:
    settings = Settings(threads=2, allow_fetch=AllowList.of([f"{other[0]}/open"]))
    with TestClient(create_app(settings, backend=FakeBackend())) as client:
        yield client


@pytest.fixture
def client(shared_client: TestClient, other: tuple[str, list[str]]) -> TestClient:
    shared_client.post("/sparql", data={"update": "CLEAR ALL"})
    other[1].clear()
    return shared_client


def test_an_allowed_document_is_loaded_all_of_the_update_or_nothing(
    client: TestClient, other: tuple[str, list[str]]
) -> None:
    root, asked = other
    update = f"LOAD <{root}/open/a> ; LOAD <{root}/open/b> INTO GRAPH <a:g>"
    assert client.post("/sparql", data={"update": f"{update} ; DROP GRAPH <a:none>"}).status_code == 400
    assert client.get("/sparql?query=ASK{?s ?p ?o}").json()["boolean"] is False
    assert client.post("/sparql", data={"update": update}).status_code == 204
    assert asked == ["GET /open/a", "GET /open/b"] * 2
    question = (
        f"ASK {{ <{root}/open/a> ?p 'loaded' GRAPH <a:g> {{ <{root}/open/b> ?p 'loaded', ?b FILTER(isBlank(?b)) }} }}"
    )
    assert client.get("/sparql", params={"query": question}).json()["boolean"] is True


@pytest.mark.parametrize("path", ["/closed/a", "/openx", "/open/../closed", "/open/%2e%2e/closed"])
def test_no_other_address_is_fetched_however_it_is_asked_for(
    client: TestClient, other: tuple[str, list[str]], path: str
) -> None:
    root, asked = other
    for silent in ("", "SILENT "):
        refused = client.post("/sparql", data={"update": f"LOAD {silent}<{root}{path}>"})
        assert (refused.status_code, refused.json()["line"]) == (403, 1)
        service = f"SELECT * {{ SERVICE {silent}<{root}{path}> {{ ?s ?p ?x }} }}"
        assert client.get("/sparql", params={"query": service}).status_code == 403
    graphs = client.get("/sparql", params={"query": f"SELECT * FROM <{root}/open/a> {{ ?s ?p ?o }}"})
    assert graphs.json()["results"]["bindings"] == []
    assert asked == []


def test_an_allowed_service_is_asked(client: TestClient, other: tuple[str, list[str]]) -> None:
    root, asked = other
    query = f"PREFIX o: <{root}/open/> SELECT ?x {{ SERVICE o:sparql {{ ?s ?p ?x }} }}"
    answer = client.get("/sparql", params={"query": query}).json()
    assert [row["x"]["value"] for row in answer["results"]["bindings"]] == ["served"]
    assert asked == ["POST /open/sparql"]


@pytest.mark.parametrize("path", ["/open/redirect", "/open/broken"])
@pytest.mark.parametrize("form", ["SELECT *", "ASK"])
def test_a_service_that_fails_or_leads_elsewhere_is_an_error_unless_silent(
    client: TestClient, other: tuple[str, list[str]], path: str, form: str
) -> None:
    root, asked = other
    for silent, status in (("", 502), ("SILENT", 200)):
        query = f"{form} {{ SERVICE {silent} <{root}{path}> {{ ?s ?p ?x }} }}"
        response = client.get("/sparql", params={"query": query})
        assert response.status_code == status, response.text
    assert set(asked) == {f"POST {path}"}


@pytest.mark.parametrize("path", BROKEN_ANSWERS)
def test_a_service_whose_answer_cannot_be_read_is_named(
    client: TestClient, other: tuple[str, list[str]], path: str
) -> None:
    service = f"<{other[0]}{path}>"
    response = client.get("/sparql", params={"query": f"SELECT * {{ SERVICE {service} {{ ?s ?p ?x }} }}"})
    assert (response.status_code, response.json()["title"]) == (502, "A service failed")
    detail = response.json()["detail"]
    assert service in detail
    assert BROKEN_ANSWERS[path][1] in detail
    assert "service_name" not in detail


@pytest.mark.parametrize("pattern", ['BIND("x" AS ?e)', "OPTIONAL { <a:a> <a:b> ?e }"])
def test_a_variable_that_names_no_service_is_a_fault_of_the_query(pattern: str) -> None:
    store = GraphStore(fetching=Fetching(AllowList.of(["*"])))
    with pytest.raises(QuerySemanticError, match="service name"):
        store.query(f"SELECT * {{ {pattern} SERVICE ?e {{ ?s ?p ?o }} }}").write(SolutionsFormat.JSON)


def test_updates_ask_no_service(client: TestClient, other: tuple[str, list[str]]) -> None:
    root, asked = other
    update = f"INSERT {{ <a:a> <a:b> ?x }} WHERE {{ SERVICE <{root}/open/sparql> {{ ?s ?p ?x }} }}"
    assert client.post("/sparql", data={"update": update}).status_code == 403
    assert asked == []
