from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest

from endpoint import create_app
from endpoint.settings import Settings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

TURTLE = {"Content-Type": "text/turtle"}
TRIPLE = "<http://ex/s> <http://ex/p> 'é' .\n"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
ONE = {"graph": "http://ex/é"}
DEFAULT = {"default": ""}


@pytest.fixture(scope="module")
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture(scope="module")
def running(backend: FakeBackend) -> Iterator[TestClient]:
    """The application, started once for all tests: what they are about is in its graphs."""
    app = create_app(Settings(base_url="http://ex", threads=2), backend=backend)
    with TestClient(app, base_url="http://ex") as client:
        yield client


@pytest.fixture
def client(running: TestClient, backend: FakeBackend) -> TestClient:
    assert running.post("/sparql", data={"update": "DROP ALL"}).status_code == 204
    backend.calls.clear()
    return running


def lines(client: TestClient, params: dict[str, str]) -> list[str]:
    response = client.get("/graphs", params=params, headers={"Accept": "application/n-triples"})
    assert response.status_code == 200, response.text
    return sorted(response.text.splitlines())


def assert_problem(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    return document


def test_put_creates_then_replaces(client: TestClient, backend: FakeBackend) -> None:
    first = client.put("/graphs", params=ONE, content=TRIPLE, headers=TURTLE)
    assert first.status_code == 201
    assert client.get(first.headers["location"], headers={"Accept": "application/n-triples"}).status_code == 200
    assert client.put("/graphs", params=ONE, content=TRIPLE.replace("é", "à"), headers=TURTLE).status_code == 204
    assert lines(client, ONE) == ['<http://ex/s> <http://ex/p> "à" .']
    assert backend.calls == ["store_changed", "store_changed"]


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        ("text/turtle", TRIPLE),
        ("application/n-triples", TRIPLE.replace("'", '"')),
        ("application/ld+json", '{"@id": "http://ex/s", "http://ex/p": "é"}'),
        ("application/rdf+xml", f'''<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="http://ex/s">
            <p xmlns="http://ex/">é</p></rdf:Description></rdf:RDF>'''),
    ],
)  # fmt: skip
def test_a_byte_order_mark_is_passed_over(client: TestClient, media_type: str, document: str) -> None:
    marked = client.put(
        "/graphs", params=ONE, content=document.encode("utf-8-sig"), headers={"Content-Type": media_type}
    )
    assert marked.status_code == 201, marked.text
    assert lines(client, ONE) == [TRIPLE.replace("'", '"').strip()]


def test_a_graph_that_was_to_be_there_or_not_is_left_alone_where_that_is_not_so(client: TestClient) -> None:
    there, absent = {"If-Match": "*", **TURTLE}, {"If-None-Match": "*", **TURTLE}
    for refused in (
        client.put("/graphs", params=ONE, content=TRIPLE, headers=there),
        client.post("/graphs", params=ONE, content=TRIPLE, headers=there),
        client.delete("/graphs", params=ONE, headers=there),
        client.put("/graphs", params=DEFAULT, content=TRIPLE, headers=absent),
        client.put("/graphs", params=ONE, content=TRIPLE, headers={"If-Match": '"tag"', **TURTLE}),
    ):
        assert "nothing was changed" in assert_problem(refused, 412)["detail"] or "entity tags" in refused.text
    assert client.put("/graphs", params=ONE, content=TRIPLE, headers=absent).status_code == 201
    assert_problem(client.put("/graphs", params=ONE, content="", headers=absent), 412)
    assert_problem(client.delete("/graphs", params=ONE, headers={"If-Unmodified-Since": "now"}), 501)
    assert len(lines(client, ONE)) == 1
    assert client.post("/graphs", params=ONE, content=TRIPLE + "<a:a> <a:b> 1 .", headers=there).status_code == 204
    assert len(lines(client, ONE)) == 2
    assert client.delete("/graphs", params=ONE, headers=there).status_code == 204


def test_post_merges_and_keeps_blank_nodes_apart(client: TestClient) -> None:
    for expected in (201, 204):
        response = client.post("/graphs", params=ONE, content=TRIPLE + "_:b <http://ex/p> 1 .", headers=TURTLE)
        assert response.status_code == expected
    assert len(lines(client, ONE)) == 3


def test_the_default_graph_is_always_there(client: TestClient) -> None:
    assert lines(client, DEFAULT) == []
    assert client.post("/graphs", params=DEFAULT, content=TRIPLE, headers=TURTLE).status_code == 204
    assert client.put("/graphs", params=DEFAULT, content=TRIPLE, headers=TURTLE).status_code == 204
    assert len(lines(client, DEFAULT)) == 1
    assert client.delete("/graphs", params=DEFAULT).status_code == 204
    assert lines(client, DEFAULT) == []


def test_delete_removes_the_graph(client: TestClient) -> None:
    client.put("/graphs", params=ONE, content=TRIPLE, headers=TURTLE)
    assert client.delete("/graphs", params=ONE).status_code == 204
    for response in (client.get("/graphs", params=ONE), client.delete("/graphs", params=ONE)):
        assert "http://ex/é" in assert_problem(response, 404)["detail"]


def test_an_empty_graph_is_a_graph(client: TestClient) -> None:
    assert client.put("/graphs", params=ONE, content="", headers=TURTLE).status_code == 201
    assert lines(client, ONE) == []
    assert client.head("/graphs", params=ONE).status_code == 200


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/n-triples", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
        ("text/turtle; charset=utf-8", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
        ("application/ld+json", '{"@id": "http://ex/s", "http://ex/p": {"@id": "http://ex/o"}}'),
        (
            "application/rdf+xml",
            """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">
            <rdf:Description rdf:about="http://ex/s"><e:p rdf:resource="http://ex/o"/></rdf:Description></rdf:RDF>""",
        ),
        ("application/trig", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
        ("text/turtle", "\ufeff<http://ex/s> <http://ex/p> <http://ex/o> ."),
        ("application/n-triples", 'VERSION "1.2"\n<http://ex/s> <http://ex/p> <http://ex/o> .'),
    ],
)
def test_bodies_are_read_in_every_syntax(client: TestClient, content_type: str, body: str) -> None:
    assert client.put("/graphs", params=ONE, content=body, headers={"Content-Type": content_type}).status_code == 201
    assert lines(client, ONE) == ["<http://ex/s> <http://ex/p> <http://ex/o> ."]


def test_relative_iris_are_relative_to_the_graph(client: TestClient) -> None:
    client.put("/graphs", params={"graph": "http://ex/a/b"}, content="<> <c> <#d> .", headers=TURTLE)
    assert lines(client, {"graph": "http://ex/a/b"}) == ["<http://ex/a/b> <http://ex/a/c> <http://ex/a/b#d> ."]


@pytest.mark.parametrize("body", ["nonsense", TRIPLE + "<http://ex/s> <http://ex/p> .", "\xff"])
def test_a_body_that_is_not_rdf_changes_nothing(client: TestClient, backend: FakeBackend, body: str) -> None:
    client.put("/graphs", params=ONE, content=TRIPLE, headers=TURTLE)
    backend.calls.clear()
    for method in ("PUT", "POST"):
        content = body.encode("latin-1") if body == "\xff" else body
        assert_problem(client.request(method, "/graphs", params=ONE, content=content, headers=TURTLE), 400)
    assert len(lines(client, ONE)) == 1
    assert backend.calls == []


def test_an_error_in_the_body_names_its_place(client: TestClient) -> None:
    document = assert_problem(client.put("/graphs", params=ONE, content=TRIPLE + "<a", headers=TURTLE), 400)
    assert document["line"] == 2


def test_named_graphs_in_the_body_are_refused(client: TestClient) -> None:
    body = "<http://ex/g> { <http://ex/s> <http://ex/p> 1 }"
    assert_problem(client.put("/graphs", params=ONE, content=body, headers={"Content-Type": "application/trig"}), 400)


def test_nothing_is_fetched_for_a_body(client: TestClient) -> None:
    body = '{"@context": "http://127.0.0.1:9/", "a": "b"}'
    assert_problem(
        client.put("/graphs", params=ONE, content=body, headers={"Content-Type": "application/ld+json"}), 400
    )


def test_other_bodies_are_not_read(client: TestClient) -> None:
    assert_problem(client.put("/graphs", params=ONE, content="x"), 415)
    assert_problem(client.put("/graphs", params=ONE, content="x", headers={"Content-Type": "text/html"}), 415)
    assert_problem(client.post("/graphs", params=ONE, files={"a": ("a.png", TRIPLE, "image/png")}), 415)


@pytest.mark.parametrize(
    ("syntax", "body", "said"),
    [
        ("text/turtle", "<a:a> <a:b>\n .", ". is not a valid RDF object (line 2, column 2)"),
        ("application/ld+json", '{"@context": "http://ex/c", "@id": "a:a"}', "remote contexts are not fetched"),
        ("application/rdf+xml", "<a/>", "XML namespaces are required in RDF/XML"),
    ],
)
def test_of_a_body_that_is_no_graph_it_is_said_what_is_wrong(
    client: TestClient, syntax: str, body: str, said: str
) -> None:
    response = client.put("/graphs", params=ONE, content=body, headers={"Content-Type": syntax})
    assert_problem(response, 400)
    assert response.json()["detail"].startswith(said)


@pytest.mark.parametrize("query", ["", "?graph=relative", "?graph=", "?default&graph=http://ex/", "?default&default"])
def test_a_request_names_one_graph(client: TestClient, query: str) -> None:
    expected = 200 if query == "?default&default" else 400
    assert client.get(f"/graphs{query}").status_code == expected
    assert client.delete("/graphs").status_code == 400


def test_a_post_without_a_graph_makes_one_at_an_address_of_its_own(client: TestClient) -> None:
    response = client.post("/graphs", content="<> <http://ex/p> 1 .", headers=TURTLE)
    assert response.status_code == 201
    location = response.headers["location"]
    assert location.startswith("http://ex/graphs/")
    assert f"<{location}>" in client.get(location, headers={"Accept": "application/n-triples"}).text
    assert lines(client, {"graph": location})
    assert client.delete(location).status_code == 204
    assert client.get(location).status_code == 404


def test_graphs_are_written_as_asked(client: TestClient) -> None:
    client.put("/graphs", params=ONE, content=TRIPLE, headers=TURTLE)
    assert client.get("/graphs", params=ONE).headers["content-type"] == "text/turtle; charset=utf-8"
    assert client.get("/graphs", params=ONE, headers={"Accept": "application/rdf+xml"}).text.startswith("<?xml")
    assert_problem(client.get("/graphs", params=ONE, headers={"Accept": "text/csv"}), 406)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_json_ld_cannot_say_is_refused_by_name(client: TestClient, method: str) -> None:
    body = "<http://ex/s> <http://ex/p> <<( <http://ex/s> <http://ex/p> 1 )>> ."
    assert client.put("/graphs", params=ONE, content=body, headers=TURTLE).status_code == 201
    response = client.request(method, "/graphs", params=ONE, headers={"Accept": "application/ld+json"})
    assert response.status_code == 406
    either = {"Accept": "application/ld+json, text/turtle;q=0.5"}
    written = client.request(method, "/graphs", params=ONE, headers=either)
    assert (written.status_code, written.headers["content-type"]) == (200, "text/turtle; charset=utf-8")
    assert method == "HEAD" or "triple terms" in assert_problem(response, 406)["detail"]


@pytest.mark.parametrize("media_type", ["application/trig", "application/n-quads"])
@pytest.mark.parametrize("graph", [ONE, {"default": ""}])
def test_in_the_syntax_of_a_dataset_a_graph_is_its_default_graph(
    client: TestClient, graph: dict[str, str], media_type: str
) -> None:
    client.put("/graphs", params=graph, content=TRIPLE, headers=TURTLE)
    response = client.get("/graphs", params=graph, headers={"Accept": media_type})
    assert response.headers["content-type"] == media_type
    [quad] = ox.parse(response.content, ox.RdfFormat.from_media_type(media_type))
    assert quad.graph_name == ox.DefaultGraph()
    again = client.put("/graphs", params=graph, content=response.content, headers={"Content-Type": media_type})
    assert again.status_code == 204


def test_patch_is_not_allowed(client: TestClient) -> None:
    response = client.patch("/graphs", params=ONE)
    assert_problem(response, 405)
    assert response.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, POST, PUT"


BOUNDARY = (
    '--part\r\nContent-Disposition: form-data; name="{0}"; filename="{0}.ttl"\r\nContent-Type: {1}\r\n\r\n{2}\r\n'
)
MULTIPART = {"Content-Type": "multipart/form-data; boundary=part"}


def multipart(*parts: tuple[str, str]) -> bytes:
    written = (BOUNDARY.format(number, media_type, text) for number, (media_type, text) in enumerate(parts))
    return ("".join(written) + "--part--\r\n").encode()


def test_the_documents_of_a_multipart_post_are_merged_each_in_its_own_syntax(client: TestClient) -> None:
    body = multipart(
        ("text/turtle; charset=utf-8", "<http://ex/s> <http://ex/p> 1, _:b ."),
        ("application/n-triples", "<http://ex/s> <http://ex/p> _:b ."),
    )
    assert client.post("/graphs", params=ONE, content=body, headers=MULTIPART).status_code == 201
    assert len(lines(client, ONE)) == 3
    assert (
        client.post("/graphs", params=ONE, content=multipart(("text/turtle", "")), headers=MULTIPART).status_code == 204
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (multipart(("text/turtle", TRIPLE), ("image/png", "x")), 415),
        (multipart(("text/turtle", TRIPLE), ("text/turtle", "<a> <b>")), 400),
        (multipart(("text/turtle", TRIPLE))[:-9], 400),
        (b"", 400),
        (b"--part--\r\n", 400),
    ],
)
def test_a_multipart_post_with_a_part_that_is_no_graph_changes_nothing(
    client: TestClient, body: bytes, status: int
) -> None:
    assert_problem(client.post("/graphs", params=ONE, content=body, headers=MULTIPART), status)
    assert client.get("/graphs", params=ONE).status_code == 404


def test_multipart_is_for_post_and_needs_a_boundary(client: TestClient) -> None:
    body = multipart(("text/turtle", TRIPLE))
    assert_problem(client.put("/graphs", params=ONE, content=body, headers=MULTIPART), 415)
    assert_problem(
        client.post("/graphs", params=ONE, content=body, headers={"Content-Type": "multipart/form-data"}), 400
    )


def test_other_encodings_than_utf_8_are_refused(client: TestClient) -> None:
    headers = {"Content-Type": "text/turtle; charset=UTF-16"}
    assert_problem(client.put("/graphs", params=ONE, content=TRIPLE.encode("utf-16"), headers=headers), 415)
    quoted = {"Content-Type": 'text/turtle; charset="utf-8"'}
    assert client.put("/graphs", params=ONE, content=TRIPLE, headers=quoted).status_code == 201


@pytest.mark.parametrize("path", ["a/graphs/b", "a%2Fb", "a%20b%25", "graphs/"])
def test_a_graph_named_by_its_path_is_the_one_of_the_whole_path_as_it_was_sent(client: TestClient, path: str) -> None:
    assert client.put(f"/graphs/{path}", content=TRIPLE, headers=TURTLE).status_code == 201
    assert len(lines(client, {"graph": f"http://ex/graphs/{path}"})) == 1
    assert client.get(f"/graphs/{path}").status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "POST", "DELETE"])
@pytest.mark.parametrize("target", ["/graphs?graph=http://ex/%252", "/graphs/%2", "/graphs?graph=http://ex/%25zz"])
def test_a_graph_whose_name_is_no_iri_is_refused(client: TestClient, method: str, target: str) -> None:
    response = client.request(method, target, content=TRIPLE if method in ("PUT", "POST") else None, headers=TURTLE)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha ha ha">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 100}">' for before, name in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("content_type", "body", "said"),
    [
        ("application/ld+json", '{"@graph":[' * 30_000 + "]}" * 30_000, "nested deeper"),
        ("application/ld+json", '{"http://ex/a":{"@list":[' * 4000 + "]}}" * 4000, "nested deeper"),
        ("application/rdf+xml", "<a>" * 30_000 + "</a>" * 30_000, "nested deeper"),
        ("application/rdf+xml", f"{LAUGHS}]><r>&g;</r>", "expand too far"),
        (
            "application/rdf+xml",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
            "no element found",
        ),
        *(
            ("application/rdf+xml", f'<?xml version="1.0" encoding="{encoding}"?><a/>', "send UTF-8")
            for encoding in ("klingon", "shift_jis", "hex", "idna")
        ),
        *(
            (kind, f"<x:s> <x:p> {'<<( <x:s> <x:p> ' * 51}1{')>>' * 51} .", "to a depth of 50")
            for kind in ("application/n-triples", "text/turtle", "application/trig")
        ),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_document_that_a_parser_would_not_get_done_with_is_refused(
    client: TestClient, method: str, content_type: str, body: str, said: str
) -> None:
    response = client.request(method, "/graphs?default", content=body, headers={"Content-Type": content_type})
    document = assert_problem(response, 400)
    assert said in document["detail"]
    assert document["line"] == 1
    assert lines(client, DEFAULT) == []
