"""An HTTP server for a program that is one side."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """The other side is killed as the test likes."""


def serve(handler: type[BaseHTTPRequestHandler], port: int) -> None:
    """Serve on this port of the machine until the process ends."""
    _Server(("127.0.0.1", port), handler).serve_forever()
