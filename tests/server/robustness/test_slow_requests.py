"""Clients that begin requests and do not go on: a real server ends them, and answers others meanwhile."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import httpx
import pytest

from tests.server.one_shot_server import one_shot_server

HEAD = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-update\r\nContent-Length: 100\r\n"


def last_words(connection: socket.socket) -> bytes:
    """The beginning of what the server said before it closed the connection."""
    try:
        said = connection.recv(12)
        while connection.recv(65536):
            pass
    except ConnectionError:
        return b""
    return said


@pytest.mark.server
def test_half_sent_requests_are_ended_and_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("SPARQL_STREAMS_MAX_CONNECTIONS", "200")
    with one_shot_server("asgi") as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        half_sent = [socket.create_connection(address, 20) for _ in range(400)]
        try:
            for number, one in enumerate(half_sent):
                with suppress(ConnectionError):  # it gave way already
                    one.sendall(HEAD + (b"\r\nINSERT" if number % 2 else b""))
            # Those that are just being ended may take up all places for a moment: then it is told to come again.
            asked = (httpx.get(f"{url}/sparql?query=ASK{{}}", timeout=20).status_code for _ in range(3))
            assert next(status for status in asked if status != 503) == 200
            began = time.monotonic()
            said = [last_words(one) for one in half_sent]
            assert set(said[:200]) <= {b"", b"HTTP/1.1 408"}
            assert said.count(b"HTTP/1.1 408") >= 150
            assert time.monotonic() - began < 15
        finally:
            for one in half_sent:
                one.close()
        assert httpx.get(f"{url}/sparql?query=ASK{{}}").status_code == 200
