"""Contexts by their IRIs are fetched once, when a stream is made with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from endpoint import create_app
from endpoint.graphs.fetching import Fetching, LoadFailed
from endpoint.resources.streams.context_documents import MAXIMUM_BYTES, fetched_context
from endpoint.settings import Settings
from protocol.formats.allow_list import AllowList
from protocol.settings.stream import InvalidSettings
from protocol.sparql.guard import FetchRefused
from protocol.streams import JsonContext
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.served import served

Documents = dict[str, Any]
LONG = "a" * (MAXIMUM_BYTES // 2)


def document(context: object, documents: Documents) -> Any:
    """What is made of a context where there are these documents, by their paths."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = documents.get(request.url.path)
        if found is None:
            return httpx.Response(404)
        if isinstance(found, str):
            return httpx.Response(302, headers={"Location": found})
        content = found if isinstance(found, bytes) else json.dumps(found).encode()
        return httpx.Response(200, stream=httpx.ByteStream(content), headers={"Content-Type": "application/ld+json"})

    fetching = Fetching(AllowList.of(["http://ex/open"]), transport=httpx.MockTransport(answer))
    given = json.dumps(context)
    found = fetched_context(JsonContext(given, None), fetching)
    assert found.given == given
    return json.loads(found.document or "")


def test_documents_are_in_the_place_of_their_iris() -> None:
    documents = {
        "/open/a": {"@context": [{"a": "x:a"}, "b"], "ignored": 1},
        "/open/b": "sub/c",
        "/open/sub/c": {"@context": "../d"},
        "/open/d": {"@context": {"d": "x:d"}},
    }
    assert document(["http://ex/open/a", {"own": "x:own"}], documents) == [{"a": "x:a"}, {"d": "x:d"}, {"own": "x:own"}]


@pytest.mark.parametrize(
    ("context", "documents", "error", "said"),
    [
        ("http://ex/closed", {}, FetchRefused, "may not fetch <http://ex/closed>"),
        ("open/a", {}, InvalidSettings, "'open/a' is not the absolute IRI"),
        ("http://ex/open/a", {}, LoadFailed, "404"),
        ("http://ex/open/a", {"/open/a": "/closed"}, LoadFailed, "leads to <http://ex/closed>, which"),
        ("http://ex/open/a", {"/open/a": {"@context": "/closed"}}, FetchRefused, "may not fetch <http://ex/closed>"),
        ("http://ex/open/a", {"/open/a": {"@context": ["a"]}}, InvalidSettings, "or back to itself"),
        ("http://ex/open/a", {"/open/a": b"<html>"}, LoadFailed, r"is not JSON \(it is application/ld\+json\)"),
        ("http://ex/open/a", {"/open/a": b"[" * 300}, LoadFailed, "nested deeper"),
        ("http://ex/open/a", {"/open/a": {"a": "x:a"}}, LoadFailed, 'with the member "@context"'),
        ("http://ex/open/a", {"/open/a": [{"@context": {}}]}, LoadFailed, 'with the member "@context"'),
        ("http://ex/open/a", {"/open/a": {"@context": {"a": 5}}}, InvalidSettings, "refers to: Term definition"),
        ("http://ex/open/a", {"/open/a": b" " * (MAXIMUM_BYTES + 1)}, LoadFailed, "is larger than"),
        (["http://ex/open/a"] * 2, {"/open/a": {"@context": {"a": "x:" + LONG}}}, InvalidSettings, "longer than"),
        ({"@import": "http://ex/open/a"}, {"/open/a": {"@context": []}}, InvalidSettings, "with what it refers to"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_told(context: object, documents: Documents, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        document(context, documents)


@contextmanager
def site_of(document: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything with a document, and notes what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", asked


def test_a_context_is_fetched_when_the_stream_is_made_and_not_again() -> None:
    backend = FakeBackend()
    with site_of({"@context": {"a": "x:a"}}) as (address, asked):
        settings = Settings(threads=2, allow_fetch=AllowList.of([address]))
        with TestClient(create_app(settings, backend=backend)) as client:
            for status in (201, 200):
                answer = client.put("/streams/s", json={"context": f"{address}/c"})
                assert (answer.status_code, answer.json()["context"]) == (status, f"{address}/c")
            assert client.put("/streams/s", json={"context": f"{address}/d"}).status_code == 409
            assert client.put("/streams/t", json={"context": "http://elsewhere/"}).status_code == 403
            assert client.get("/streams/t").status_code == 404
        assert asked == ["/c", "/d"]
    assert backend.stream("s").settings.context == JsonContext(f'"{address}/c"', '{"a": "x:a"}')
