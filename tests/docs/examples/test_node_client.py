"""The client in Node of the examples, where its connection is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs.examples.example_run import EXAMPLES, needs, run_commands
from tests.served import served


class FlakyEndpoint(ThreadingHTTPServer):
    """An endpoint that breaks off each result stream after an event; ``asked`` are the ids it was to go on from."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), BrokenStream)
        self.asked: list[str | None] = []


class BrokenStream(BaseHTTPRequestHandler):
    server: FlakyEndpoint

    def do_POST(self) -> None:
        self._answer("application/sparql-results+json", '{"results": {"bindings": []}}')

    def do_GET(self) -> None:
        self.server.asked.append(self.headers["Last-Event-ID"])
        number = len(self.server.asked)
        data = json.dumps({"results": {"bindings": [{"n": {"value": f"row {number}"}}]}})
        end = 'event: end\r\ndata: {"reason": "removed"}\r\n\r\n' if number == 3 else "id: 9\ndata: half of an ev"
        self._answer("text/event-stream", f": heartbeat\n\nid: {number}\r\ndata: {data}\r\n\r\n{end}")

    def _answer(self, media_type: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def flaky() -> Iterator[FlakyEndpoint]:
    with served(FlakyEndpoint()) as server:
        yield server


@needs("node")
def test_the_client_in_node_goes_on_behind_the_last_whole_event(flaky: FlakyEndpoint, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "node" / "rooms.mjs", tmp_path)
    run_commands(f"node rooms.mjs http://127.0.0.1:{flaky.server_port} > rows.txt", tmp_path, 60)
    assert (tmp_path / "rows.txt").read_text("utf-8").splitlines() == ["row 1", "row 2", "row 3"]
    assert flaky.asked == [None, "1", "2"]
