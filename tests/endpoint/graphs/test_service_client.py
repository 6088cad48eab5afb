"""Requests to other endpoints, to a transport in memory: what is asked, and whatever may go wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from endpoint.graphs.fetching import Fetching
from endpoint.graphs.service_client import ServiceClient
from protocol.errors import ServiceFailed
from protocol.formats.allow_list import AllowList

OTHER = "http://other.example/sparql"
JSON = "application/sparql-results+json"
QUERY = "SELECT ?a ?b WHERE { ?a ?p ?b }"
ROWS: list[tuple[str | None, ...]] = [
    ("<http://ex/a>", '"x"@de'),
    (None, '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'),
]
ANSWER = json.dumps(
    {
        "head": {"vars": ["b", "a"]},
        "results": {
            "bindings": [
                {
                    "a": {"type": "uri", "value": "http://ex/a"},
                    "b": {"type": "literal", "value": "x", "xml:lang": "de"},
                },
                {"b": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}},
            ]
        },
    }
).encode()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(
    answer: Callable[[httpx.Request], httpx.Response], clock: Clock | None = None, **given: Any
) -> ServiceClient:
    transport, clock = httpx.MockTransport(answer), clock or Clock()
    allowed = AllowList.of([OTHER, "http://other.example/moved"])
    fetching = Fetching(allowed, given.pop("size", 1000), given.pop("seconds", 10.0), transport, clock)
    return ServiceClient(fetching, clock=clock, **given)


def response(content: bytes = ANSWER, status: int = 200, **headers: str) -> httpx.Response:
    names = {"content-type": JSON} | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, stream=httpx.ByteStream(content), headers=names)


def test_it_asks_by_post_and_reads_terms_in_the_order_asked_for() -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return response()

    asked = client(answer)
    assert asked.session().solutions(OTHER, QUERY, ("a", "b")) == ROWS
    (request,) = requests
    assert request.method == "POST"
    assert parse_qs(request.content.decode()) == {"query": [QUERY]}
    assert request.headers["accept"] == JSON
    assert not {"authorization", "cookie"} & set(request.headers)
    assert (asked.counts.requests, asked.counts.failures) == (1, 0)


def test_a_redirect_is_followed_where_it_is_allowed() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/sparql":
            return response(b"", 307, location="/moved")
        assert parse_qs(request.content.decode()) == {"query": [QUERY]}
        return response()

    assert client(answer).session().solutions(OTHER, QUERY, ("a", "b")) == ROWS


def interrupted(request: httpx.Request) -> httpx.Response:
    def body() -> Iterator[bytes]:
        yield ANSWER[:50]
        raise httpx.ReadError("connection reset", request=request)

    return httpx.Response(200, content=body(), headers={"content-type": JSON})


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def too_late(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("timed out", request=request)


TRIPLE = {
    "type": "triple",
    "value": {key: {"type": "uri", "value": "a:b"} for key in ("subject", "predicate", "object")},
}


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (lambda _: response(b"no", 500), "answers with 500"),
        (lambda _: response(b"", 302, location="http://forbidden.example/"), "may not fetch"),
        (lambda _: response(b"<html/>", content_type="text/html"), "answers with text/html"),
        (lambda _: response(ANSWER[:-10]), "is no answer to a SELECT"),
        (lambda _: response(b'{"head":{},"boolean":true}'), "the answer to an ASK"),
        (lambda _: response(b"[" * 900), "nested deeper"),
        (
            lambda _: response(
                b'{"head":{"vars":["a"]},"results":{"bindings":[{"a":{"type":"uri","value":"no iri"}}]}}'
            ),
            "is no answer",
        ),
        (
            lambda _: response(
                json.dumps({"head": {"vars": ["a"]}, "results": {"bindings": [{"a": TRIPLE}]}}).encode()
            ),
            "is no answer",
        ),
        (lambda _: response(b"\xff" * 10), "is no answer"),
        (lambda _: response(ANSWER + b" " * 1000), "larger than 1000 bytes"),
        (interrupted, "connection reset"),
        (refused, "connection refused"),
        (too_late, "did not answer in time"),
    ],
)
def test_whatever_goes_wrong_is_a_failure(answer: Callable[[httpx.Request], httpx.Response], detail: str) -> None:
    asked = client(answer, cache_seconds=10)
    for failures in (1, 2):
        with pytest.raises(ServiceFailed, match=detail):
            asked.session().solutions(OTHER, QUERY, ("a", "b"))
        assert (asked.counts.requests, asked.counts.failures) == (failures, failures), "a failure is not kept"


def test_the_limits_hold_for_all_requests_of_a_session_together() -> None:
    clock = Clock()

    def slow(request: httpx.Request) -> httpx.Response:
        clock.now += 4
        return response()

    session = client(slow, clock).session()
    session.solutions(OTHER, QUERY, ("a", "b"))
    session.solutions(OTHER, QUERY, ("a", "b"))
    with pytest.raises(ServiceFailed, match="was not there whole within 2 s"):
        session.solutions(OTHER, QUERY, ("a", "b"))
    with pytest.raises(ServiceFailed, match="more than 10 s together"):
        session.solutions(OTHER, QUERY, ("a", "b"))
    session = client(lambda _: response(), size=len(ANSWER) + 10).session()
    session.solutions(OTHER, QUERY, ("a", "b"))
    with pytest.raises(ServiceFailed, match="larger than 10 bytes"):
        session.solutions(OTHER, QUERY, ("a", "b"))


def test_what_was_given_is_given_again_for_as_long_as_it_is_said() -> None:
    clock = Clock()
    asked = client(lambda _: response(), clock, cache_seconds=10)
    for now, requests in ((0, 1), (9, 1), (10, 2), (11, 2)):
        clock.now = now
        assert asked.session().solutions(OTHER, QUERY, ("a", "b")) == ROWS
        assert asked.counts.requests == requests
    asked.session().solutions(OTHER, QUERY + " LIMIT 1", ("a", "b"))
    assert asked.counts.requests == 3


@pytest.mark.parametrize("fails", [False, True])
def test_who_asks_the_same_meanwhile_waits_for_what_it_gives(fails: bool) -> None:
    begun, over = threading.Event(), threading.Event()
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if len(requests) == 1:
            begun.set()
            assert over.wait(20)
            return response(status=500 if fails else 200)
        return response()

    asked = client(answer, cache_seconds=5)

    def ask() -> list[tuple[str | None, ...]]:
        return asked.session().solutions(OTHER, QUERY, ("a", "b"))

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(ask)
        assert begun.wait(20)
        others = [threads.submit(ask) for _ in range(2)]
        over.set()
        if fails:
            with pytest.raises(ServiceFailed):
                first.result()
        assert all(other.result() == ROWS for other in others)
    assert len(requests) == (2 if fails else 1)


def test_what_is_not_given_again_is_not_kept() -> None:
    clock = Clock()
    asked = client(lambda _: response(), clock, cache_seconds=10)
    one, large = len(QUERY) + 100, 20 * 2**20
    for now, query, size, cached in (
        (0, QUERY, 100, one),
        (4, QUERY, 100, one),
        (8, QUERY + " ", 99, 2 * one),
        (14, QUERY + "  ", 98, 2 * one),
        (20, "ASK {}", large, one + len("ASK {}") + large),
        (30, QUERY, 100, one),
    ):
        clock.now = now
        asked.keep(OTHER, query, ROWS, size)
        assert asked.cached_bytes == cached
    for number in range(10):
        asked.keep(OTHER, f"{number}", ROWS, large)
    assert asked.cached_bytes == 3 * (large + 1)
    assert [asked.cached(OTHER, query, 0) is not None for query in (QUERY, "6", "7", "9")] == [False, False, True, True]
    asked.keep(OTHER, "too large", ROWS, 10 * large)
    assert asked.cached_bytes == 0


def test_only_allowed_addresses_are_asked() -> None:
    asked = client(lambda _: response())
    assert asked.permits(OTHER)
    assert not asked.permits("http://forbidden.example/sparql")
    with pytest.raises(ServiceFailed, match="may not fetch"):
        asked.session().solutions("http://forbidden.example/sparql", QUERY, ("a", "b"))
