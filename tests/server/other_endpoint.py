"""Another endpoint, which answers, fails, hangs and changes when a test says so."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph as ox

TIMEOUT = 3.0
"""Seconds that a SERVICE of the server has, twice of which are waited for: much longer than any answer takes."""
JSON = "application/sparql-results+json"


class OtherEndpoint:
    """Another endpoint. ``mode``: ``answer``, ``fail``, ``hang`` until ``release``, ``half``, ``wrong``, ``drip``."""

    def __init__(self) -> None:
        self.store = ox.Store()
        self.mode = "answer"
        self.release = threading.Event()
        self.requests: list[str] = []
        other = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                query = parse_qs(body)["query"][0]
                other.requests.append(query)
                other.answer(self, query)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/sparql"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, to: BaseHTTPRequestHandler, query: str) -> None:
        found = self.store.query(query)
        assert isinstance(found, ox.QuerySolutions)
        document = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        mode = self.mode
        if mode == "hang":
            self.release.wait(60)
        to.send_response(500 if mode == "fail" else 200)
        to.send_header("Content-Type", "text/html" if mode == "wrong" else JSON)
        to.send_header("Content-Length", str(len(document)))
        to.end_headers()
        if mode == "drip":
            for byte in document[:-1]:
                to.wfile.write(bytes([byte]))
                time.sleep(TIMEOUT / 10)
        to.wfile.write(document[: len(document) // 2] if mode == "half" else document)

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
