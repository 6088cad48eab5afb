from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from endpoint import create_app
from endpoint.access import warn_if_open
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.access import AccessToken, Scope, Tokens
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, Exchange, run, until

NAMES = {"read": "reader-0123456789", "write": "writer-0123456789", "stream": "streamer-0123456789"}
UNKNOWN = "unknown-0123456789"
CONTINUOUS = (
    f"SELECT * FROM NAMED WINDOW <http://ex/w> ON <{STREAM}> [RANGE 10s] {{ WINDOW <http://ex/w> {{ ?s ?p ?o }} }}"
)
QUERY = {"Content-Type": "application/sparql-query"}
UPDATE = {"Content-Type": "application/sparql-update"}
TURTLE = {"Content-Type": "text/turtle"}


def tokens(*anonymous: Scope) -> Tokens:
    entries = tuple(AccessToken.of(name, frozenset({Scope(name)}), token) for name, token in NAMES.items())
    return Tokens(entries, frozenset(anonymous))


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {NAMES.get(name, name)}"} if name else {}


@pytest.fixture
def client(backend: FakeBackend) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(threads=2, tokens=tokens()), backend=backend)) as client:
        yield client


REQUESTS: list[tuple[str, dict[str, Any], str]] = [
    ("GET /sparql?query=ASK{}", {}, "read"),
    ("GET /sparql", {}, "read"),
    ("POST /sparql", {"data": {"query": "ASK {}"}}, "read"),
    ("POST /sparql", {"content": "ASK {}", "headers": QUERY}, "read"),
    ("POST /sparql", {"data": {"update": "CLEAR ALL"}}, "write"),
    ("POST /sparql", {"content": "CLEAR ALL", "headers": UPDATE}, "write"),
    ("POST /sparql", {"content": f"REGISTER QUERY q AS {CONTINUOUS}", "headers": QUERY}, "stream"),
    ("GET /graphs?default", {}, "read"),
    ("PUT /graphs?default", {"content": "<a:a> <a:b> 1 .", "headers": TURTLE}, "write"),
    ("DELETE /graphs?default", {}, "write"),
    ("GET /streams", {}, "read"),
    ("GET /streams/s", {}, "read"),
    ("PUT /streams/new", {}, "stream"),
    ("POST /streams/s", {"content": "<a:a> <a:b> 1 .", "headers": TURTLE}, "stream"),
    ("PUT /streams/s/watermark", {"content": "1000"}, "stream"),
    ("DELETE /streams/s", {}, "stream"),
    ("GET /queries", {}, "read"),
    ("PUT /queries/q", {"content": CONTINUOUS, "headers": QUERY}, "stream"),
    ("GET /metrics", {}, "read"),
]


def ask(client: TestClient, what: str, options: dict[str, Any], name: str) -> Any:
    method, _, path = what.partition(" ")
    options = {**options, "headers": {**options.get("headers", {}), **bearer(name)}}
    return client.request(method, path, **options)


@pytest.mark.parametrize(("what", "options", "scope"), REQUESTS, ids=[f"{what} {scope}" for what, _, scope in REQUESTS])
def test_a_request_needs_a_token_with_its_scope(
    client: TestClient, backend: FakeBackend, what: str, options: dict[str, Any], scope: str
) -> None:
    calls = list(backend.calls)
    for name in ("", UNKNOWN, "not a token!", *(other for other in NAMES if other != scope)):
        response = ask(client, what, options, name)
        expected = 401 if name in ("", UNKNOWN) else 403 if name in NAMES else 400
        assert response.status_code == expected, response.text
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == expected
        challenge = response.headers["www-authenticate"]
        assert challenge.startswith('Bearer realm="')
        assert ("invalid_token" in challenge) is (name == UNKNOWN)
        assert ("insufficient_scope" in challenge) is (name in NAMES)
        if expected == 403:
            assert response.json()["scope"] == scope
    assert backend.calls == calls
    assert ask(client, what, options, scope).status_code < 300


def test_health_and_the_page_are_open(client: TestClient) -> None:
    for path in ("/health", "/", "/page/main.js"):
        assert client.get(path).status_code == 200
        assert client.get(path, headers=bearer(UNKNOWN)).status_code == 200
    assert client.options("/sparql").status_code == 204


def test_without_tokens_everything_is_open_and_a_token_is_no_harm(backend: FakeBackend) -> None:
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        for what, options, _ in REQUESTS:
            assert ask(client, what, options, "").status_code not in (400, 401, 403)
        assert client.get("/streams", headers=bearer(UNKNOWN)).status_code == 200


def test_what_everybody_may_needs_no_token(backend: FakeBackend) -> None:
    settings = Settings(threads=2, tokens=tokens(Scope.READ))
    with TestClient(create_app(settings, backend=backend)) as client:
        assert client.get("/sparql?query=ASK{}").status_code == 200
        assert client.get("/sparql?query=ASK{}", headers=bearer("write")).status_code == 200
        assert client.get("/sparql?query=ASK{}", headers=bearer(UNKNOWN)).status_code == 401
        assert client.post("/sparql", data={"update": "CLEAR ALL"}).status_code == 401


def test_who_may_do_nothing_is_refused_before_the_body_is_read(client: TestClient) -> None:
    received: list[str] = []

    async def receive() -> dict[str, Any]:
        received.append("something")
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def check() -> None:
        exchange = Exchange(
            client.app, "/sparql", method="POST", receive=receive, content_type="application/sparql-update"
        )
        await until(lambda: exchange.complete)
        assert (exchange.status, received) == (401, [])

    run(check())


def test_a_mounted_application_asks_for_the_same_tokens(backend: FakeBackend) -> None:
    inner = create_app(Settings(threads=2, base_url="http://ex/rdf", tokens=tokens()), backend=backend)
    with TestClient(Starlette(routes=[Mount("/rdf", inner)])) as client:
        assert client.get("/rdf/health").status_code == 200
        assert client.get("/rdf/streams").status_code == 401
        assert client.get("/rdf/streams", headers=bearer("read")).status_code == 200
        assert client.put("/rdf/streams/x", headers=bearer("read")).status_code == 403
    services_of(inner).readers.end()
    services_of(inner).store.close()


def test_an_event_stream_may_have_its_token_in_the_url_where_nobody_sees_it(backend: FakeBackend) -> None:
    async def check() -> None:
        with TestClient(create_app(Settings(threads=2, tokens=tokens()), backend=backend)) as client:
            assert (
                client.put("/queries/q", content=CONTINUOUS, headers={**QUERY, **bearer("stream")}).status_code == 201
            )
        app = create_app(Settings(threads=2, tokens=tokens()), backend=backend)
        path = f"/queries/q/results?access_token={NAMES['read']}&since=beginning"
        exchange = Exchange(app, path, accept="text/event-stream")
        await until(lambda: exchange.status is not None)
        assert exchange.status == 200
        assert exchange.scope["query_string"] == b"since=beginning"
        await exchange.leave()
        services_of(app).readers.end()
        services_of(app).store.close()

    run(check())


@pytest.mark.parametrize(
    ("parameters", "headers", "status"),
    [
        (NAMES["read"], {"Accept": "application/json"}, 400),
        (UNKNOWN, {"Accept": "text/event-stream"}, 401),
        (NAMES["read"], {"Accept": "text/event-stream", **bearer("read")}, 400),
        (NAMES["read"] + "&access_token=" + NAMES["read"], {"Accept": "text/event-stream"}, 400),
        (NAMES["write"], {"Accept": "text/event-stream"}, 403),
        ("%22%3E", {"Accept": "text/event-stream"}, 400),
    ],
)
def test_any_other_token_in_the_url_is_refused(
    client: TestClient, parameters: str, headers: dict[str, str], status: int
) -> None:
    response = client.get(f"/queries?access%5Ftoken={parameters}", headers=headers)
    assert response.status_code == status
    assert parameters not in response.text


def test_a_page_from_elsewhere_is_told_why_it_is_refused_and_may_send_its_token(backend: FakeBackend) -> None:
    settings = Settings(threads=2, tokens=tokens(), cors_origins=("https://page.example",))
    with TestClient(create_app(settings, backend=backend)) as client:
        origin = {"Origin": "https://page.example"}
        preflight = client.options(
            "/queries/q/results",
            headers={
                **origin,
                "Access-Control-Request-Method": "GET",
                "Access-Control-Request-Headers": "authorization, last-event-id",
            },
        )
        assert preflight.status_code == 200
        allowed = preflight.headers["access-control-allow-headers"].lower()
        assert "authorization" in allowed
        assert "last-event-id" in allowed
        assert "access-control-allow-credentials" not in preflight.headers
        refused = client.get("/queries", headers=origin)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "https://page.example"
        assert "WWW-Authenticate" in refused.headers["access-control-expose-headers"]
        elsewhere = client.get("/queries", headers={"Origin": "https://other.example", **bearer("read")})
        assert "access-control-allow-origin" not in elsewhere.headers


@pytest.mark.parametrize(
    ("origins", "origin", "status"),
    [
        ((), "https://other.example", 403), ((), "null", 403), ((), "http://testserver", 204), ((), None, 204),
        (("https://page.example",), "https://page.example", 204),
        (("https://page.example",), "http://page.example", 403),
        (("*",), "https://other.example", 204),
    ],
)  # fmt: skip
def test_a_form_on_another_sites_page_changes_nothing_unless_that_site_may_ask(
    backend: FakeBackend, origins: tuple[str, ...], origin: str | None, status: int
) -> None:
    headers = {} if origin is None else {"Origin": origin}
    with TestClient(create_app(Settings(threads=2, cors_origins=origins), backend=backend)) as client:
        assert client.post("/sparql", data={"update": "CLEAR ALL"}, headers=headers).status_code == status
        assert client.get("/sparql?query=ASK{}", headers=headers).status_code == 200


def test_refusals_are_counted_by_reason(client: TestClient) -> None:
    client.get("/streams")
    client.get("/streams", headers=bearer(UNKNOWN))
    client.get("/streams", headers=bearer("write"))
    client.post("/sparql", data={"update": "LOAD <http://ex/>"}, headers=bearer("write"))
    metrics = client.get("/metrics", headers=bearer("read")).text.splitlines()
    for reason, count in (
        ("no_token", 1), ("invalid_token", 1), ("insufficient_scope", 1), ("fetch", 1),
        ("too_large", 0), ("listeners", 0),
    ):  # fmt: skip
        assert f'sparql_streams_refused_total{{reason="{reason}"}} {count:.1f}' in metrics


@pytest.mark.parametrize(
    ("host", "given", "warned"),
    [
        ("127.0.0.1", Tokens(), False), ("::1", Tokens(), False), ("localhost", Tokens(), False),
        ("0.0.0.0", Tokens(), True), ("::", Tokens(), True), ("example.org", Tokens(), True),
        ("0.0.0.0", tokens(), False),
    ],
)  # fmt: skip
def test_listening_to_others_without_tokens_is_warned_of(
    host: str, given: Tokens, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_if_open(Settings(host=host, tokens=given))
    assert bool(caplog.records) is warned
