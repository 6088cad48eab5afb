"""A port for a server that is told which one to take."""

from __future__ import annotations

import random
import socket

_PORTS = range(20_000, 32_000)
"""Below those that the system gives to whoever asks for any: nobody has one of them between two starts of a server."""


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    # Not those of a seed: tests in other processes ask, too.
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
