from __future__ import annotations

import socket
from collections import Counter

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount

from endpoint import create_app
from endpoint.hosts import KnownHosts, with_own_names
from endpoint.settings import Settings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

LOCAL = Settings(threads=2)
GIVEN = Settings(threads=2, host="0.0.0.0", hosts=("sparql.example.org", "*.lab.example"))
PUBLIC = Settings(threads=2, host="inner.example", base_url="https://Public.Example:8443/rdf")


@pytest.mark.parametrize(
    ("settings", "host", "status"),
    [
        *((LOCAL, host, 200) for host in (
            "localhost", "localhost:8000", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:8000", "[::1]:8000",
            "[::1]", "192.168.1.7", "10.0.0.1:80", "[2001:db8::7]:8000", socket.gethostname(), "",
        )),
        *((LOCAL, host, 421) for host in (
            "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost",
            "sparql.example.org", "1.2.3.4.5", "[evil.example]", ":8000", "*",
        )),
        *((LOCAL, host, 400) for host in ("a b", "localhost/x", "a@localhost", "localhost:x", "[::1", "a:1:2", "a#")),
        *((GIVEN, host, 200) for host in (
            "sparql.example.org:80", "Sparql.Example.Org", "a.lab.example", "a.b.lab.example:1", "10.0.0.1",
        )),
        *((GIVEN, host, 421) for host in ("example.org", "a.sparql.example.org", "lab.example", "xlab.example")),
        *((PUBLIC, host, 200) for host in ("inner.example:8000", "public.example:8443", "127.0.0.1")),
        (PUBLIC, "other.example", 421),
    ],
)  # fmt: skip
def test_only_requests_for_a_host_that_it_is_known_as_are_answered(settings: Settings, host: str, status: int) -> None:
    refusals: Counter[str] = Counter()
    client = TestClient(KnownHosts(Response(), with_own_names(settings).hosts, refusals))
    response = client.get("/sparql?query=ASK{}", headers={"Host": host})
    assert response.status_code == status, response.text
    assert refusals["unknown_host"] == (status == 421)
    if status != 200:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == status
    if status == 421:
        assert "--hosts" in response.json()["detail"]


def test_a_rebound_name_neither_reads_nor_writes_although_the_browser_takes_it_for_the_same_site() -> None:
    settings = Settings(threads=2, cors_origins=())
    page = {"Host": "rebound.example:8000", "Origin": "http://rebound.example:8000", "Sec-Fetch-Site": "same-origin"}
    with TestClient(create_app(with_own_names(settings), backend=FakeBackend())) as client:
        assert client.post("/sparql", data={"update": "CLEAR ALL"}, headers=page).status_code == 421
        assert client.get("/streams", headers=page).status_code == 421
        assert client.get("/", headers=page).status_code == 421
        assert 'refused_total{reason="unknown_host"} 3.0' in client.get("/metrics", headers={"Host": "[::1]"}).text


def test_an_application_that_embeds_the_endpoint_decides_itself_unless_it_names_hosts() -> None:
    for hosts, status in (((), 200), (("app.example",), 421), (("*",), 200)):
        inner = create_app(Settings(threads=2, base_url="http://ex/rdf", hosts=hosts), backend=FakeBackend())
        with TestClient(Starlette(routes=[Mount("/rdf", inner)])) as client:
            assert client.get("/rdf/health", headers={"Host": "other.example"}).status_code == status
            assert client.get("/rdf/health", headers={"Host": "app.example"}).status_code == 200


def test_a_machine_whose_name_is_none_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "my laptop")
    assert with_own_names(Settings(host="::1")).hosts == ()


@pytest.mark.parametrize("given", ["http://example.org", "example.org:8000", "*example.org", "a.*.org", "é.org", "::1"])
def test_a_host_that_is_no_name_is_refused_at_the_start(given: str) -> None:
    with pytest.raises(ValueError, match=r"hosts: .* without a port"):
        Settings(hosts=given)  # type: ignore[arg-type]  # as the environment has it
    assert Settings(hosts="A.example, *.B.example.,").hosts == (  # type: ignore[arg-type]
        "a.example", "*.b.example",
    )  # fmt: skip
