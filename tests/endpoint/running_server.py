"""A real server of the application, in a thread of the test, over a backend that needs no Spark."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette

from endpoint.app import create_app
from endpoint.server.server import Server
from endpoint.server.sockets import close, listen, with_port
from endpoint.settings import Settings
from tests.endpoint.fake_backend import FakeBackend


@dataclass
class Running:
    url: str
    backend: FakeBackend
    app: Starlette


@contextmanager
def running_server(**given: Any) -> Iterator[Running]:
    sockets = listen("127.0.0.1", 0)
    settings = with_port(Settings(port=0, **given), sockets)
    backend = FakeBackend()
    ready = threading.Event()
    app = create_app(settings, backend=backend)
    server = Server(app, settings, on_ready=ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve_until_stopped(sockets)))
    thread.start()
    try:
        assert ready.wait(20)
        yield Running(settings.base_url, backend, app)
    finally:
        server.should_exit = True
        thread.join(20)
        close(sockets)
        assert not thread.is_alive()
