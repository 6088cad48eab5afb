"""Servers of the standard library that answer in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import TypeVar

Server = TypeVar("Server", bound=BaseServer)

_LOOK_SECONDS = 0.01
"""How often it looks whether it is to end."""


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """Have it serve within, and close it."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(_LOOK_SECONDS,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
