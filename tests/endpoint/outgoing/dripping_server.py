"""A server that never ends what it has begun to say, byte by byte."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ENDLESS = {
    "header": b"HTTP/1.1 200 OK\r\nX: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n\r\n",
    "body with a length": b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\nContent-Length: 1000000\r\n\r\n",
}
"""Beginnings, by what it is that has no end."""

_SECONDS = 0.02


@contextmanager
def drips(beginning: bytes, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Gives an address that answers with this and then with white space, until the client goes away, or for 30 s."""
    over = threading.Event()

    def answer() -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection if tls is None else tls.wrap_socket(connection, server_side=True) as connected:
                connected.recv(65536)
                connected.sendall(beginning)
                for _ in range(int(30 / _SECONDS)):
                    if over.wait(_SECONDS):
                        break
                    connected.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.getsockname()[1]}/x"
        finally:
            over.set()
            server.close()
            thread.join()
