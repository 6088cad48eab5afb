"""What sources read over the web, in a process that may be killed: ``python -m tests.server.under_kills.web_feeds
KIND PORT``, and for a WebSocket the file in which it keeps how many messages it has sent.

All that they say follows from the number of a message, so that they go on as if nothing had been.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.server.under_kills import http_server
from tests.server.under_kills.messages import MESSAGES, body, timed_body

_A_SECOND = 2_000
_AT_ONCE = 50
_PAGE = 1_000


class Events(BaseHTTPRequestHandler):
    """Server-Sent Events, from the one after ``Last-Event-ID`` on."""

    def do_GET(self) -> None:
        number = int(self.headers.get("Last-Event-ID", -1)) + 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while number < MESSAGES:
            upto = min(number + _AT_ONCE, MESSAGES)
            events = "".join(f"id: {one}\ndata: {body(one)}\n\n" for one in range(number, upto))
            self.wfile.write(events.encode())
            time.sleep(_AT_ONCE / _A_SECOND)
            number = upto
        while True:
            self.wfile.write(b": nothing more comes\n\n")
            time.sleep(1)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Pages(BaseHTTPRequestHandler):
    """A Linked Data Event Stream that has had so many members a second since ``?began=``; full pages never change."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        began = parse_qs(address.query)["began"][0]
        there = min(MESSAGES, int((time.time() - float(began)) * _A_SECOND))
        page = int(address.path.strip("/"))
        first, upto = page * _PAGE, min((page + 1) * _PAGE, there)
        here = f"http://{self.headers['Host']}"
        lines = [f"<{here}/feed> <https://w3id.org/tree#view> <{here}{self.path}> ."]
        if upto == first + _PAGE:
            lines += [
                f"<{here}{self.path}> <https://w3id.org/tree#relation> _:r .",
                f"_:r <https://w3id.org/tree#node> <{here}/{page + 1}?began={began}> .",
            ]
        for number in range(first, upto):
            lines += [f"<{here}/feed> <https://w3id.org/tree#member> <http://ex/o/{number}> .", timed_body(number)]
        document = "\n".join(lines).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/n-triples")
        self.send_header("Content-Length", str(len(document)))
        self.send_header("Cache-Control", "immutable" if upto == first + _PAGE else "max-age=1")
        self.end_headers()
        self.wfile.write(document)

    def log_message(self, format: str, *args: object) -> None:
        pass


def sent_once(count: Path) -> Callable[[ServerConnection], None]:
    """Sends each message of a WebSocket once, to whoever is there."""
    lock = threading.Lock()

    def send(connection: ServerConnection) -> None:
        try:
            while True:
                with lock:
                    number = int(count.read_text())
                    upto = min(number + _AT_ONCE, MESSAGES)
                    count.with_suffix(".new").write_text(str(upto))
                    count.with_suffix(".new").replace(count)
                if number == MESSAGES:
                    break
                for one in range(number, upto):
                    connection.send(body(one))
                time.sleep(_AT_ONCE / _A_SECOND)
            connection.recv()
        except ConnectionClosed:
            return

    return send


def main(kind: str, port: int, *rest: str) -> None:
    if kind == "websocket":
        with serve(sent_once(Path(rest[0])), "127.0.0.1", port, compression=None) as server:
            server.serve_forever()
    http_server.serve({"sse": Events, "ldes": Pages}[kind], port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
