"""Prints what is posted to it: `python3 receiver.py PORT`."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    """Takes every POST; one that comes twice has the same Idempotency-Key, and is printed once."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers["Idempotency-Key"] not in seen:
            print(text, end="", flush=True)
            seen.add(self.headers["Idempotency-Key"])
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
