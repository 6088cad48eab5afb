"""The Flask extension under real WSGI servers: result streams, large and chunked bodies, clients that hang up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
from flask import Flask

from endpoint.backend import Ended
from endpoint.flask import SparqlStreams
from endpoint.services import services_of
from endpoint.wsgi import bridge as wsgi_bridge
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.flask.wsgi_server import SERVERS
from tests.endpoint.live.live_side import STREAM, answer, continuous

PREFIX = "/sparql-streams"
RESULTS = f"{PREFIX}/queries/q/results"
EVENTS = {"Accept": "text/event-stream"}


@dataclass
class Site:
    """A Flask application that is being served, with one standing query ``q``."""

    server: str
    port: int
    backend: FakeBackend
    endpoint: SparqlStreams
    client: httpx.Client

    def listeners(self) -> int:
        hub = services_of(self.endpoint.mounted.asgi).hub
        return sum(hub.listeners().values())


@pytest.fixture(params=SERVERS)
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(wsgi_bridge, "LOOK_SECONDS", 0.05)
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    backend.register("q", continuous(), standing=True)
    app = Flask(__name__)
    app.add_url_rule("/", "home", lambda: "the application's own")
    endpoint = SparqlStreams(app, backend=backend, threads=2, readers=1)
    endpoint.start()
    try:
        with (
            SERVERS[request.param](app) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client,
        ):
            yield Site(request.param, port, backend, endpoint, client)
            endpoint.stop()
    finally:
        endpoint.stop()


def eventually(condition: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never came about")


def data_lines(lines: Iterator[str], count: int) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line.startswith('data: {"head"'):
            found.append(line.removeprefix("data: "))
            if len(found) == count:
                return found
    raise AssertionError(f"the stream ended after {found}")


def test_answers_come_as_they_are_given_out_and_the_end_closes_the_connection(site: Site) -> None:
    with site.client.stream("GET", RESULTS, headers=EVENTS) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        for number in (1, 2, 3):
            site.backend.evaluate("q", number * 1000, answer(number))
            assert data_lines(lines, 1) == [answer(number).decode()]
        site.backend.push(Ended("q", "over"))
        assert "event: end" in list(lines)
    eventually(lambda: site.listeners() == 0)


def test_many_listen_at_once_while_others_are_answered(site: Site) -> None:
    together = threading.Barrier(21, timeout=20)
    got: list[list[str]] = []

    def listen() -> None:
        with httpx.Client(base_url=site.client.base_url, timeout=20) as client:  # noqa: SIM117
            with client.stream("GET", RESULTS, headers=EVENTS) as response:
                together.wait()
                got.append(data_lines(response.iter_lines(), 5))

    threads = [threading.Thread(target=listen) for _ in range(20)]
    for thread in threads:
        thread.start()
    together.wait()
    assert site.listeners() == 20
    assert site.client.get("/").text == "the application's own"
    assert site.client.get(f"{PREFIX}/sparql", params={"query": "ASK {}"}).json()["boolean"] is True
    for number in range(5):
        site.backend.evaluate("q", (number + 1) * 1000, answer(number))
    for thread in threads:
        thread.join(20)
    assert got == [[answer(number).decode() for number in range(5)]] * 20
    eventually(lambda: site.listeners() == 0)


def test_a_listener_that_hangs_up_is_let_go_of_though_nothing_is_written(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
        connection.sendall(f"GET {RESULTS} HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        eventually(lambda: site.listeners() == 1)
    eventually(lambda: site.listeners() == 0)


def test_a_query_that_nobody_waits_for_any_more_is_let_go_of(site: Site) -> None:
    """The next answer of a continuous query: no byte of the response is there to fail on."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
        query = "SELECT%20*%20FROM%20NAMED%20STREAM%20%3Cstreams/s%3E%20%5BRANGE%201s%5D%20%7B%7D"
        site.backend.create_stream("t", StreamSettings(f"{site.endpoint.settings.base_url}/streams/s"))
        connection.sendall(f"GET {PREFIX}/sparql?query={query} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        eventually(lambda: site.listeners() == 1)
    eventually(lambda: site.listeners() == 0)


def test_a_body_of_ten_megabytes_arrives_whole(site: Site) -> None:
    body = b"".join(b"<http://ex/s> <http://ex/p> %d .\n" % number for number in range(330_000))
    assert len(body) > 10_000_000
    headers = {"Content-Type": "application/n-triples"}
    posted = site.client.post(f"{PREFIX}/streams/s?at=1", content=body, headers=headers)
    assert (posted.status_code, posted.json()["triples"]) == (200, 330_000)
    assert site.backend.appended[0].body == body


def test_a_chunked_upload_arrives_whole(site: Site) -> None:
    parts = [b"<http://ex/s> <http://ex/p> %d .\n" % number for number in range(5000)]
    headers = {"Content-Type": "text/turtle"}
    put = site.client.put(f"{PREFIX}/graphs?graph=http://ex/g", content=iter(parts), headers=headers)
    assert put.status_code == 201
    count = {"query": "SELECT (COUNT(*) AS ?n) FROM <http://ex/g> { ?s ?p ?o }"}
    answered = site.client.get(f"{PREFIX}/sparql", params=count, headers={"Accept": "text/csv"})
    assert answered.text.split() == ["n", "5000"]


def test_an_upload_that_breaks_off_changes_nothing(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
        head = f"PUT {PREFIX}/graphs?graph=http://ex/g HTTP/1.1\r\nHost: h\r\nContent-Type: text/turtle\r\n"
        connection.sendall(f"{head}Content-Length: 1000\r\n\r\n<http://ex/s> <http://ex/p> 1 .".encode())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1000):
            pass
    assert site.client.get(f"{PREFIX}/graphs", params={"graph": "http://ex/g"}).status_code == 404


def test_names_of_graphs_keep_their_percent_encoding(site: Site) -> None:
    for name in ("a%2Fb", "a/b", "a//b", "%C3%A9"):
        path = f"{PREFIX}/graphs/{name}"
        put = site.client.put(path, content="<> <http://ex/p> 1 .", headers={"Content-Type": "text/turtle"})
        assert (put.status_code, put.headers["location"]) == (201, f"{site.endpoint.settings.base_url}/graphs/{name}")
        assert site.client.get(path, headers={"Accept": "application/n-triples"}).text.count(f"/graphs/{name}>") == 1
    assert site.client.get(f"{PREFIX}/graphs/a%252Fb").status_code == 404


def test_a_head_request_has_headers_only(site: Site) -> None:
    head = site.client.head(f"{PREFIX}/sparql", params={"query": "ASK {}"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == "application/sparql-results+json"
    assert site.client.get("/").status_code == 200  # and the connection can be used again


def test_a_stop_ends_the_streams_and_is_told_to_who_comes_later(site: Site) -> None:
    with site.client.stream("GET", RESULTS, headers=EVENTS) as response:
        lines = response.iter_lines()
        next(lines)
        site.endpoint.stop()
        assert not any(line.startswith("event: end") for line in lines)
    assert site.client.get(RESULTS).status_code == 503
