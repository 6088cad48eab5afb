"""Endpoints that the runner starts itself: a child process, on a free port of the loopback interface."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from conformance.engines.endpoints import Endpoint
from conformance.engines.services import ADDRESS

WITH_SPARK = "spark"
"""The host whose endpoint answers continuous queries; it is an ``asgi`` one."""
_FLASK_PREFIX = "/sparql-streams"
_START_SECONDS = 60.0
_READY_SECONDS = 180.0


@contextmanager
def running_endpoint(host: str, allow_fetch: Sequence[str], site: str = "auto") -> Iterator[Endpoint]:
    """The endpoint under uvicorn (``asgi``), or as a Flask extension under waitress (``flask``).

    ``allow_fetch``: prefixes of addresses it may fetch. ``site``: where continuous queries are evaluated. OSError, with
    what it wrote, if it does not start.
    """
    if host == "flask" and find_spec("waitress") is None:
        raise OSError(
            "flask runs under waitress here, which is not installed: pip install 'sparql-streams[conformance]'"
        )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARQL_STREAMS_")}
    environment["SPARQL_STREAMS_ALLOW_FETCH"] = ",".join(allow_fetch)
    environment["SPARQL_STREAMS_SITE"] = site
    process = subprocess.Popen(
        [sys.executable, "-m", "conformance.engines.hosts", host],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    watch = threading.Timer(_START_SECONDS, process.kill)
    watch.start()
    try:
        url = process.stdout.readline().strip()
        watch.cancel()
        if not url:
            raise OSError(f"the endpoint under {host} did not start; see above")
        endpoint = Endpoint(url)
        if host == WITH_SPARK:
            _wait_until_ready(endpoint)
        yield endpoint
    finally:
        watch.cancel()
        # The child ends when its input does, so that it also ends with a runner that is killed.
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _wait_until_ready(endpoint: Endpoint) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not json.loads(endpoint.exchange("GET", endpoint.path("/health")).body)["ready"]:
        if time.monotonic() > deadline:
            raise OSError(f"Spark did not come up within {_READY_SECONDS:g} s")
        time.sleep(0.2)


def _serve_asgi(*, with_spark: bool = False) -> None:
    from conformance.engines.no_streams import NoStreams
    from endpoint.app import create_app
    from endpoint.server.server import Server
    from endpoint.server.sockets import close, listen, with_port
    from endpoint.settings import Settings

    sockets = listen(ADDRESS, 0)
    settings = with_port(Settings.from_environment(host=ADDRESS, port=0), sockets)
    app = create_app(settings, backend=None if with_spark else NoStreams())
    server = Server(app, settings, on_ready=lambda: print(settings.base_url, flush=True))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    try:
        asyncio.run(server.serve_until_stopped(sockets))
    finally:
        close(sockets)


def _serve_flask() -> None:
    import waitress
    from flask import Flask

    from conformance.engines.no_streams import NoStreams
    from endpoint.flask import SparqlStreams
    from endpoint.server.sockets import close, listen

    sockets = listen(ADDRESS, 0)
    base_url = f"http://{ADDRESS}:{sockets[0].getsockname()[1]}{_FLASK_PREFIX}"
    app = Flask("conformance")
    SparqlStreams(app, url_prefix=_FLASK_PREFIX, base_url=base_url, backend=NoStreams())
    server = waitress.create_server(app, sockets=sockets, threads=4)

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        server.trigger.pull_trigger(server.close)

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    print(base_url, flush=True)
    try:
        server.run()
    finally:
        close(sockets)


if __name__ == "__main__":
    if sys.argv[1] == "flask":
        _serve_flask()
    else:
        _serve_asgi(with_spark=sys.argv[1] == WITH_SPARK)
