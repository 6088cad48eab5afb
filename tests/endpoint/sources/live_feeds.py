"""Small servers for sources to read from, which can be taken away and come back, and a log for what they read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from endpoint.back_off import BackOff
from endpoint.sources.connection import Connect, Surroundings
from endpoint.sources.run import SourceRun
from protocol.formats.allow_list import AllowList
from protocol.sources import SourceBatch, SourceReceipt, SourceSettings
from tests.served import served

PATIENCE = 30.0


@dataclass
class Log:
    """Our side: what was received, and the positions after it."""

    bodies: list[bytes] = field(default_factory=list)
    at: dict[str, bytes] = field(default_factory=dict)
    content_types: set[str | None] = field(default_factory=set)
    keys: list[bytes] = field(default_factory=list)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        self.bodies += [message.body for message in batch.messages]
        self.content_types |= {message.content_type for message in batch.messages}
        self.keys += [message.key for message in batch.messages]
        self.at = {name: at for name, at in {**self.at, **batch.positions}.items() if at}
        return SourceReceipt(len(batch.messages), 0)

    def positions(self, name: str) -> dict[str, bytes]:
        return dict(self.at)


class Hasty(BackOff):
    def failed(self) -> float:
        return 0.02


def surroundings(settings: SourceSettings, *allowed: str, largest: int = 10**6) -> Callable[..., Surroundings]:
    """What a connection works with; without addresses that of the settings is allowed."""
    permitted = AllowList.of(allowed or [settings.url.partition("?")[0]])
    return lambda wait=lambda seconds: True: Surroundings("s", settings, permitted, "id", largest, wait)


@contextmanager
def running(connect: Connect, settings: SourceSettings, log: Log, *allowed: str) -> Iterator[SourceRun]:
    """A source that is kept going into the log."""
    run = SourceRun(surroundings(settings, *allowed), connect, log, back_off=Hasty())
    run.start()
    try:
        yield run
    finally:
        run.stop()
        run.join(PATIENCE)


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], port: int = 0) -> Iterator[int]:
    """A server of HTTP; gives its port."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients go away as they like."""

    with served(Server(("127.0.0.1", port), handler)) as server:
        yield server.server_port
