"""A webhook that notes what it takes, a line each, before it answers: `python sink_receiver.py PORT FILE`."""

from __future__ import annotations

import hashlib
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

notes = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        digest = hashlib.sha256(self.rfile.read(int(self.headers["Content-Length"]))).hexdigest()
        os.write(notes, f"{self.headers['Idempotency-Key']} {digest}\n".encode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
