"""Processes that the server starts: each runs one module, ends with the server, and may be ended at any moment."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[1]


def start_child(program: str, connection: socket.socket, *others: socket.socket | str) -> subprocess.Popen[bytes]:
    """Start a process that runs this module; the connection is its standard input.

    ``others`` are its arguments; a socket among them becomes its descriptor there. OSError if that cannot be done.
    """
    passed = [one.fileno() for one in others if isinstance(one, socket.socket)]
    arguments = [one if isinstance(one, str) else str(one.fileno()) for one in others]
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", program, *arguments],
        stdin=connection.fileno(),
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        pass_fds=passed,
        # Ctrl-C in a terminal is the server's affair, which ends its children.
        process_group=0,
    )


def how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """What became of a process whose end of the socket was closed: a moment before it ended, or when it did."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.1)
    code = process.poll()
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return "ended" if code is None else f"ended with code {code}"


def end_with_the_server(connection: socket.socket) -> None:
    """Start a thread that ends this process as soon as the other end of the socket is closed."""

    def watch() -> None:
        hangup = select.poll()
        # Only what is reported unasked: that the other end is gone.
        hangup.register(connection, 0)
        hangup.poll()
        os._exit(0)

    threading.Thread(target=watch, name="server-gone", daemon=True).start()
