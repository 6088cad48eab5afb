"""Real WSGI servers in a thread of the test: waitress, and werkzeug's with a thread a connection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import httpx
import waitress.server
import waitress.wasyncore
import werkzeug.serving
from flask import Flask

from endpoint.backend import Backend
from endpoint.flask import SparqlStreams

WsgiApp = Callable[..., Any]
Serve = Callable[[WsgiApp], AbstractContextManager[int]]


@contextmanager
def waitress_server(app: WsgiApp) -> Iterator[int]:
    """The port it listens at."""
    sockets: dict[int, Any] = {}
    server = waitress.server.create_server(
        app, map=sockets, host="127.0.0.1", port=0, threads=40, channel_request_lookahead=1
    )
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            waitress.wasyncore.poll(0.05, sockets)

    thread = threading.Thread(target=serve, name="waitress")
    thread.start()
    try:
        yield int(server.effective_port)
    finally:
        ended.set()
        thread.join(20)
        server.task_dispatcher.shutdown(timeout=20)
        waitress.wasyncore.close_all(sockets)
        assert not thread.is_alive()


@contextmanager
def werkzeug_server(app: WsgiApp) -> Iterator[int]:
    """The port it listens at. Unlike waitress it hands a request on before its body is there."""

    class Handler(werkzeug.serving.WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *arguments: Any) -> None:
            logging.getLogger(__name__).debug(message, *arguments)

    server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="werkzeug")
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()
        assert not thread.is_alive()


SERVERS: dict[str, Serve] = {"waitress": waitress_server, "werkzeug": werkzeug_server}


class _ToPort(httpx.HTTPTransport):
    """Sends every request to one port of this machine, whatever host its URL names."""

    def __init__(self, port: int) -> None:
        super().__init__(verify=False)  # no certificates are read: there is no TLS here
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return super().handle_request(request)


@contextmanager
def client_of_flask(
    backend: Backend, *, url: str = "http://testserver", follow_redirects: bool = True, **options: Any
) -> Iterator[httpx.Client]:
    """As starlette's TestClient of ``create_app``, for the extension at the root of a Flask application on waitress."""
    app = Flask(__name__, static_folder=None)
    options = {"base_url": "http://127.0.0.1:8000", "threads": 2, "readers": 1, **options}
    endpoint = SparqlStreams(app, url_prefix="", backend=backend, **options)
    endpoint.start()
    try:
        with (
            waitress_server(app) as port,
            httpx.Client(
                transport=_ToPort(port), base_url=url, follow_redirects=follow_redirects, timeout=20
            ) as client,
        ):
            yield client
    finally:
        endpoint.stop()
