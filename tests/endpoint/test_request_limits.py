"""The limit on a request's body, at every resource that takes one, however the body is sent."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from endpoint import create_app
from endpoint.resources import sparql
from endpoint.settings import Settings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

LIMIT = 4096
COMMENT = b"# nothing\n" * 410
UPDATE = {"Content-Type": "application/sparql-update"}
QUERY = {"Content-Type": "application/sparql-query"}
TURTLE = {"Content-Type": "text/turtle"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = Settings(threads=2, max_request_bytes=LIMIT)
    with TestClient(create_app(settings, backend=FakeBackend())) as client:
        assert client.put("/streams/s").status_code == 201
        yield client


RESOURCES: list[tuple[str, str, dict[str, str], bytes]] = [
    ("POST", "/sparql", UPDATE, b"CLEAR ALL "),
    ("POST", "/sparql", QUERY, b"ASK {} "),
    ("POST", "/sparql", FORM, b"query=ASK+%7B%7D&x="),
    ("PUT", "/graphs?default", TURTLE, b""),
    ("POST", "/streams/s", TURTLE, b""),
    ("PUT", "/queries/q", QUERY, b""),
    ("PUT", "/streams/t", {"Content-Type": "application/json"}, b""),
]


@pytest.mark.parametrize(("method", "path", "headers", "start"), RESOURCES)
def test_a_body_beyond_the_limit_is_refused(
    client: TestClient, method: str, path: str, headers: dict[str, str], start: bytes
) -> None:
    filler = b"a" if headers is FORM else COMMENT
    content = start + (filler * LIMIT if headers is FORM else filler)
    limit = 64 * 1024 if path == "/streams/t" else LIMIT
    content = content if limit == LIMIT else b" " * (limit + 1)

    def chunks() -> Iterator[bytes]:
        yield content[:100]
        yield content[100:]

    ways: list[dict[str, Any]] = [
        {"content": content, "headers": headers},
        {"content": chunks(), "headers": headers},
        {"content": gzip.compress(content), "headers": {**headers, "Content-Encoding": "gzip"}},
    ]
    for way in ways:
        response = client.request(method, path, **way)
        assert response.status_code == 413, (way["headers"], response.text)
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["limit"] == limit


def test_a_body_up_to_the_limit_is_taken_coded_or_not(client: TestClient) -> None:
    update = b"CLEAR ALL".ljust(LIMIT)
    assert client.post("/sparql", content=update, headers=UPDATE).status_code == 204
    coded = {**UPDATE, "Content-Encoding": "gzip"}
    assert client.post("/sparql", content=gzip.compress(update), headers=coded).status_code == 204
    graph = gzip.compress(b"<a:a> <a:b> 1 .")
    assert (
        client.put("/graphs?default", content=graph, headers={**TURTLE, "Content-Encoding": "gzip"}).status_code < 300
    )


def test_a_query_is_bounded_more_tightly_than_an_update(monkeypatch: pytest.MonkeyPatch, client: TestClient) -> None:
    monkeypatch.setattr(sparql, "MAXIMUM_TEXT", 100)
    query, update = b"ASK {}".ljust(101), b"CLEAR ALL".ljust(101)
    assert client.post("/sparql", content=update, headers=UPDATE).status_code == 204
    assert client.post("/sparql", content=query, headers=QUERY).status_code == 413
    assert client.post("/sparql", data={"query": query.decode()}).status_code == 413
    assert client.get("/sparql", params={"query": query.decode()}).status_code == 413
    assert client.post("/sparql", data={"query": "ASK {}", "padding": "x" * 200}).status_code == 200
