"""Programs that the tests of processes run."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pyoxigraph as ox

from protocol.processes.stack import start_with_stack


def main(connection: socket.socket, what: str, *arguments: str) -> None:
    if what == "echo":
        while data := connection.recv(100):
            connection.sendall(data)
    elif what == "abort":
        os.abort()
    elif what == "fail":
        raise ValueError(arguments)
    elif what == "sleep":
        time.sleep(3600)
    elif what == "directory":
        connection.sendall(os.getcwd().encode())
    elif what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "chance":
        # As all of our programs, in a thread of their own.
        thread = threading.Thread(target=lambda: connection.sendall(_chance()))
        start_with_stack(thread)
        thread.join()


def _chance() -> bytes:
    rows = ox.Store().query("SELECT (BNODE() AS ?b) (UUID() AS ?u) (RAND() AS ?r) {}")
    assert isinstance(rows, ox.QuerySolutions)
    return " ".join(str(term) for term in next(rows)).encode()
