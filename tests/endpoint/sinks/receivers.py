"""Receivers of answers, for tests of sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from endpoint.sinks.target import Answer, DeliveryFailed
from tests.served import served


@dataclass
class FakeTarget:
    """Keeps what it takes; while ``failing`` says something, it takes nothing, and asks for ``retry_in`` or
    ``retry_after``.
    """

    at_once: int = 1
    failing: str = ""
    retry_in: float | None = None
    retry_after: float = 0
    taken: list[Answer] = field(default_factory=list)
    attempts: int = 0
    closed: int = 0

    async def deliver(self, answers: Sequence[Answer]) -> None:
        self.attempts += 1
        if self.failing:
            raise DeliveryFailed(self.failing, retry_in=self.retry_in, retry_after=self.retry_after)
        assert len(answers) <= self.at_once
        self.taken += answers

    async def close(self) -> None:
        self.closed += 1

    @property
    def instants(self) -> list[int]:
        return [answer.instant for answer in self.taken]


@dataclass
class Post:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpReceiver:
    """A server that answers every POST with ``status``, and keeps those that it answers with 2xx."""

    url: str
    posts: list[Post] = field(default_factory=list)
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    refused: int = 0


@contextmanager
def http_receiver() -> Iterator[HttpReceiver]:
    """A receiver at a free port of this machine, in threads of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if 200 <= receiver.status < 300:
                receiver.posts.append(Post(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            else:
                receiver.refused += 1
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            if receiver.status != 204:
                self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with served(Server(("127.0.0.1", 0), Handler)) as server:
        receiver = HttpReceiver(f"http://127.0.0.1:{server.server_port}")
        yield receiver
