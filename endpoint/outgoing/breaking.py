"""A connection that is to end while a thread waits for it."""

from __future__ import annotations

import socket
from contextlib import suppress


def break_off(connection: socket.socket) -> None:
    """Have whoever reads from the connection, or writes to it, be told at once. It is theirs to close."""
    with suppress(OSError):  # the other side was faster
        connection.shutdown(socket.SHUT_RDWR)
