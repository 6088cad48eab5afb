from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from typing import Any

import click
import pytest
from rich.console import Console

from endpoint.app import create_app
from endpoint.demo.run import run_demo
from endpoint.server.sockets import close, listen, with_port
from endpoint.settings import Settings
from protocol.errors import UnsupportedFeature
from tests.endpoint.fake_backend import FakeBackend

pytestmark = pytest.mark.server

ANSWER = {
    "head": {"vars": ["core", "average"]},
    "results": {"bindings": [{"core": {"type": "literal", "value": "CPU 0"}}]},
    "evaluation": {"time": "1970-01-01T00:00:08Z", "operator": "RSTREAM", "windows": {}},
}


def run(backend: FakeBackend, meanwhile: Callable[[str], None]) -> str:
    """Run the demonstration, and beside it ``meanwhile`` (with the URL), after which Ctrl-C comes; what was printed."""
    sockets = listen("127.0.0.1", 0)
    settings = with_port(Settings(port=0), sockets)
    console = Console(file=io.StringIO(), force_terminal=False)

    def beside() -> None:
        try:
            meanwhile(settings.base_url)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=beside)
    handler = signal.getsignal(signal.SIGINT)
    try:
        app = create_app(settings, backend=backend)
        thread.start()
        asyncio.run(run_demo(settings, sockets, 75, app=app, console=console))
    finally:
        thread.join()
        close(sockets)
    assert signal.getsignal(signal.SIGINT) is handler
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    waited = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        waited.wait(0.02)
    raise AssertionError("it did not come about in time")


def test_the_demonstration_publishes_registers_prints_and_ends_at_ctrl_c() -> None:
    backend = FakeBackend()

    def meanwhile(url: str) -> None:
        until(lambda: len(backend.queries()) == 3 and len(backend.appended) >= 2)
        backend.evaluate("cpu-by-core", 8000, json.dumps(ANSWER).encode())
        until(lambda: backend.calls.count("advance") >= 3)

    printed = run(backend, meanwhile)
    assert re.match(r"The page is at http://127\.0\.0\.1:\d+/#follow=cpu-by-core ", printed.splitlines()[0])
    assert "1970-01-01T00:00:08Z  CPU load by core, percent, over the last 10 s: core CPU 0\n" in printed
    assert printed.splitlines()[-1] == "stopping"
    assert {one.content_type for one in backend.appended} == {"text/turtle"}
    assert backend.calls[-1] == "stop"
    watermark = backend.stream("machine").watermark
    assert watermark is not None
    assert watermark % 1000 == 0


def test_a_demonstration_whose_queries_are_refused_ends_with_the_reason() -> None:
    backend = FakeBackend(failures={"register": UnsupportedFeature("no aggregates yet")})
    with pytest.raises(click.ClickException, match="no aggregates yet"):
        run_until_it_ends(backend)
    assert backend.calls[-1] == "stop"


def test_a_demonstration_whose_listeners_are_refused_ends_with_the_reason() -> None:
    with pytest.raises(click.ClickException, match=r"2 are listening already.*max_listeners"):
        run_until_it_ends(FakeBackend(), max_listeners=2)


def test_a_demonstration_whose_endpoint_does_not_start_ends_with_the_reason() -> None:
    backend = FakeBackend(failures={"start": UnsupportedFeature("no Spark here")})
    with pytest.raises(click.ClickException, match="could not be started: no Spark here"):
        run_until_it_ends(backend)


def run_until_it_ends(backend: FakeBackend, **given: Any) -> None:
    """Run the demonstration of an endpoint with these settings until it ends by itself."""
    sockets = listen("127.0.0.1", 0)
    settings = with_port(Settings(port=0, **given), sockets)
    try:
        console = Console(file=io.StringIO())
        asyncio.run(run_demo(settings, sockets, 75, app=create_app(settings, backend=backend), console=console))
    finally:
        close(sockets)
