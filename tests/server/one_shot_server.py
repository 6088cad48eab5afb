"""An endpoint in a process of its own that evaluates no streams, so that it needs no Spark: under uvicorn, or Flask.

Run as ``python -m tests.server.one_shot_server asgi|flask PORT``; ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from endpoint import create_app
from endpoint.hosts import with_own_names
from endpoint.server.server import Server
from endpoint.server.sockets import listen, with_port
from endpoint.settings import Settings
from tests.endpoint.fake_backend import FakeBackend

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = {"asgi": "", "flask": "/sparql-streams"}
_PATIENCE = 60.0


@contextmanager
def one_shot_server(host: str) -> Iterator[str]:
    """The URL of the endpoint."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.server.one_shot_server", host],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            _wait_for(url)
            yield url
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{url}/health").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError(f"{url} did not answer")


def _serve_asgi() -> None:
    sockets = listen("127.0.0.1", 0)
    settings = with_own_names(with_port(Settings.from_environment(port=0), sockets))
    server = Server(create_app(settings, backend=FakeBackend()), settings)

    def end_with_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(settings.base_url, flush=True)
    asyncio.run(server.serve_until_stopped(sockets))


def _serve_flask() -> None:
    from flask import Flask

    from endpoint.flask import SparqlStreams
    from tests.endpoint.flask.wsgi_server import waitress_server

    app = Flask(__name__)
    with waitress_server(app) as port:
        url = f"http://127.0.0.1:{port}{PREFIXES['flask']}"
        SparqlStreams(app, url_prefix=PREFIXES["flask"], base_url=url, backend=FakeBackend())
        print(url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    {"asgi": _serve_asgi, "flask": _serve_flask}[sys.argv[1]]()
