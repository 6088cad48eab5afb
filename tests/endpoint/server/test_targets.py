from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from endpoint.server.targets import AbsoluteTargets


def told(raw_path: bytes) -> tuple[str, bytes, list[tuple[bytes, bytes]]]:
    """Path, raw path and headers that the application is told, where these and another host were sent."""
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        raise AssertionError("nothing is sent")

    headers = [(b"accept", b"*/*"), (b"host", b"elsewhere.example")]
    scope: Scope = {"type": "http", "path": raw_path.decode(), "raw_path": raw_path, "headers": headers}
    asyncio.run(AbsoluteTargets(app)(scope, receive, send))
    return seen[0]["path"], seen[0]["raw_path"], sorted(seen[0]["headers"])


@pytest.mark.parametrize(
    ("target", "host", "path", "raw_path"),
    [
        (b"http://localhost:8000/sparql", b"localhost:8000", "/sparql", b"/sparql"),
        (b"HTTPS://a:b@[::1]/graphs/a%20b", b"[::1]", "/graphs/a b", b"/graphs/a%20b"),
        (b"http://localhost", b"localhost", "/", b"/"),
        (b"http://localhost/http://other/", b"localhost", "/http://other/", b"/http://other/"),
    ],
)
def test_a_whole_url_is_a_path_of_its_host(target: bytes, host: bytes, path: str, raw_path: bytes) -> None:
    assert told(target) == (path, raw_path, [(b"accept", b"*/*"), (b"host", host)])


@pytest.mark.parametrize(
    "target", [b"/sparql", b"/http://localhost/", b"*", b"localhost:80", b"ftp://localhost/x", b"http://"]
)
def test_all_else_stays_as_it_is(target: bytes) -> None:
    assert told(target) == (target.decode(), target, [(b"accept", b"*/*"), (b"host", b"elsewhere.example")])
