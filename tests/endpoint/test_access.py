from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from endpoint import create_app
from endpoint.access import AccessControl, require, warn_if_open
from endpoint.problems import exception_handlers
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
        backend.await_start()
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


def test_an_update_without_a_token_is_told_which_scope_it_needs(client: TestClient) -> None:
    refused = ask(client, "POST /sparql", {"content": "CLEAR ALL", "headers": UPDATE}, "")
    assert (refused.status_code, refused.json()["scope"]) == (401, "write")
    assert 'scope="write"' in refused.headers["www-authenticate"]


def test_a_query_is_led_to_the_path_without_its_slash_by_whoever_may_read(client: TestClient) -> None:
    for holder, status in (("", 401), ("read", 307)):
        query = {"content": "ASK {}", "headers": {**QUERY, **bearer(holder)}}
        assert client.post("/sparql/", **query, follow_redirects=False).status_code == status


def test_a_browser_is_sent_to_the_page_which_asks_for_the_token(client: TestClient) -> None:
    page = client.get("/sparql", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/")
    assert client.get("/sparql", headers={"Accept": "text/turtle"}).status_code == 401
    assert client.get("/sparql?query=ASK{}", headers={"Accept": "text/html"}).status_code == 401


def test_health_and_the_page_are_open(client: TestClient) -> None:
    for path in ("/health", "/health/live", "/health/ready", "/", "/page/main.js"):
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
    ("origin", "method", "refused"),
    [
        ("https://other.example", "GET", "origin"),
        ("https://page.example", "BREW", "method"),
        ("https://other.example", "BREW", "origin, method"),
    ],
)
@pytest.mark.parametrize("path", ["/sparql", "/queries/q", "/nothing"])
def test_a_preflight_that_is_refused_is_told_why_in_a_problem_document(
    backend: FakeBackend, path: str, origin: str, method: str, refused: str
) -> None:
    settings = Settings(threads=2, tokens=tokens(), cors_origins=("https://page.example",))
    with TestClient(create_app(settings, backend=backend)) as client:
        response = client.options(path, headers={"Origin": origin, "Access-Control-Request-Method": method})
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")
    assert int(response.headers["content-length"]) == len(response.content)
    assert response.headers["cache-control"] == "no-store"
    assert "Origin" in response.headers["vary"]
    problem = response.json()
    assert (problem["type"], problem["status"]) == ("about:blank", 400)
    assert problem["detail"] == f"a page of {origin} may not ask with {method} here: not allowed is its {refused}"
    allowed = response.headers.get("access-control-allow-origin")
    assert allowed == (origin if origin == "https://page.example" else None)


PAGE = "https://page.example"
OTHER = "https://other.example"


def form(origin: str | None, site: str | None = None) -> dict[str, str]:
    """The headers of a form, as browsers send them; to this machine and by https they say Sec-Fetch-Site too."""
    headers = {"Origin": origin, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate" if site else None}
    return {name: value for name, value in headers.items() if value is not None}


@pytest.mark.parametrize(
    ("origins", "headers", "may"),
    [
        # From another site's page, whether it has a name or hides it in a sandboxed frame.
        (("*",), form(OTHER), "read"), (("*",), form(OTHER, "cross-site"), "read"), (("*",), form("null"), "read"),
        (("*",), form("null", "cross-site"), "read"), (("*",), form(None, "cross-site"), "read"),
        # Another port of this machine is another page: what a developer tries out, or somebody else's program.
        (("*",), form("http://testserver:3000", "same-site"), "read"),
        ((), form(OTHER, "cross-site"), "nothing"), ((), form("null"), "nothing"), ((PAGE,), form(OTHER), "nothing"),
        ((PAGE,), form("http://page.example"), "nothing"),
        # A page that is named, the endpoint's own (also behind a proxy that changes Host), and what is no page.
        ((PAGE,), form(PAGE, "cross-site"), "write"), (("*", PAGE), form(PAGE), "write"),
        ((), form("http://testserver"), "write"), ((), form("https://testserver"), "write"),
        ((), form("https://public.example"), "write"), ((), form("null", "same-origin"), "write"),
        (("*",), form(None, "none"), "write"), ((), {}, "write"), (("*",), {}, "write"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_page_changes_nothing_unless_it_is_the_endpoints_own_or_named(
    origins: tuple[str, ...], headers: dict[str, str], may: str, method: str
) -> None:
    settings = Settings(cors_origins=origins, base_url="https://public.example/rdf")

    async def sparql(scope: ASGIScope, receive: Receive, send: Send) -> None:
        require(Request(scope), Scope(scope["query_string"].decode()))
        await Response(status_code=204)(scope, receive, send)

    refusals: Counter[str] = Counter()
    app = AccessControl(ExceptionMiddleware(sparql, exception_handlers(refusals)), settings, refusals)
    client = TestClient(app)
    allowed = {"nothing": {Scope.READ} if method == "GET" else set(), "read": {Scope.READ}, "write": set(Scope)}[may]
    for scope in Scope:
        if method == "GET" and scope is not Scope.READ:
            continue
        response = client.request(method, f"/sparql?{scope}", headers=headers)
        assert response.status_code == (204 if scope in allowed else 403)
        if scope not in allowed:
            assert response.json()["title"] == "Not for this page"
            assert "cors_origins" in response.json()["detail"]
    assert refusals["foreign_page"] == (0 if method == "GET" else len(Scope) - len(allowed))


def test_no_form_of_another_sites_page_changes_anything(backend: FakeBackend) -> None:
    parts = (
        "--x\r\nContent-Disposition: form-data; name=f; filename=f\r\nContent-Type: text/turtle\r\n\r\n"
        "<a:a> <a:b> 1 .\r\n--x--\r\n"
    )
    requests = [
        ("/sparql", "application/x-www-form-urlencoded", "update=INSERT+DATA+%7B%3Ca%3Aa%3E+%3Ca%3Ab%3E+1%7D"),
        ("/sparql", "text/plain", "update=INSERT DATA {<a:a> <a:b> 1}"),
        ("/sparql?update=INSERT+DATA+%7B%3Ca%3Aa%3E+%3Ca%3Ab%3E+1%7D", "text/plain", ""),
        ("/graphs?default", "multipart/form-data; boundary=x", parts),
        ("/graphs?default", "text/plain", "<a:a> <a:b> 1 ."),
        ("/streams/s", "text/plain", "<a:a> <a:b> 1 ."),
        # What a page must ask the endpoint for first (a preflight), which lets every page read.
        ("/sparql", "application/sparql-update", "INSERT DATA {<a:a> <a:b> 1}"),
        ("/streams/s", "text/turtle", "<a:a> <a:b> 1 ."),
    ]
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        for headers in (form(OTHER), form("null", "cross-site"), form("http://testserver:3000", "same-site")):
            for path, content_type, body in requests:
                typed = {**headers, "Content-Type": content_type}
                assert client.post(path, content=body, headers=typed).status_code in (400, 403, 415), path
                assert client.get("/sparql?query=ASK%7B%3Fs%3Fp%3Fo%7D").json()["boolean"] is False
        assert backend.appended == []
        assert client.post("/sparql", data={"query": "ASK {}"}, headers=form(OTHER, "cross-site")).status_code == 200
        own = {**form("http://testserver", "same-origin"), "Content-Type": requests[0][1]}
        assert client.post("/sparql", content=requests[0][2], headers=own).status_code == 204


def test_a_get_changes_nothing_whatever_it_asks(client: TestClient, backend: FakeBackend) -> None:
    registration = quote(f"REGISTER QUERY q AS {CONTINUOUS}")
    everything = {name: f"Bearer {NAMES[name]}" for name in NAMES}
    for path in ("/sparql?update=CLEAR%20ALL", f"/sparql?query={registration}"):
        for method in ("GET", "HEAD"):
            for token in everything.values():
                assert client.request(method, path, headers={"Authorization": token}).status_code in (400, 403, 405)
    assert set(backend.calls) <= {"create_stream", "listen", "start", "streams"}


def test_a_page_of_another_site_may_change_what_its_token_lets_it(backend: FakeBackend) -> None:
    settings = Settings(threads=2, tokens=tokens(Scope.READ, Scope.STREAM))
    with TestClient(create_app(settings, backend=backend)) as client:
        page = form(OTHER, "cross-site")
        assert client.post("/sparql", data={"update": "CLEAR ALL"}, headers=page).status_code == 401
        assert client.put("/streams/new", headers=page).status_code == 403
        assert client.put("/streams/new").status_code == 201
        for name, update, stream in (("write", 204, 201), ("stream", 403, 201)):
            headers = {**page, **bearer(name)}
            assert client.post("/sparql", data={"update": "CLEAR ALL"}, headers=headers).status_code == update
            assert client.put(f"/streams/{name}", headers=headers).status_code == stream


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
