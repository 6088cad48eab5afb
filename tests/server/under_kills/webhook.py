"""A webhook that notes what it takes before it answers: ``python -m tests.server.under_kills.webhook PORT FILE``."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.server.under_kills.http_server import serve
from tests.server.under_kills.notes import Notes

notes = Notes(Path(sys.argv[2]))


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the sender was killed in the middle: this is no request (RFC 9110, 6.1)
            self.close_connection = True
            return
        notes.append(self.headers["Idempotency-Key"], body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


serve(Receiver, int(sys.argv[1]))
