"""A limit of time for a whole exchange by HTTP: the timeouts of httpx are for each wait, and none is ever over while
bytes come one by one.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from typing import Any, Self

from endpoint.outgoing.breaking import break_off

_CONNECTED = "connect_tcp.complete"


class TimeLimit:
    """Breaks the connections that it knows of, whatever is awaited of them, when so many seconds are over since it was
    entered. Then it is left with TimeoutError. Entered once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._is_over = False
        self._timer = threading.Timer(seconds, self.end)
        self._timer.daemon = True

    @property
    def extensions(self) -> dict[str, Any]:
        """Of a request, whose connections are known by them (httpcore's ``trace``)."""
        return {"trace": self._hear}

    def watch(self, stream: Any) -> None:
        """Know of a connection from now on, by httpcore's stream of it."""
        # Another descriptor of the same connection: whoever begins TLS with it lets go of the first.
        connection = socket.socket(fileno=os.dup(stream.get_extra_info("socket").fileno()))
        with self._lock:
            self._connections.append(connection)
            if self._is_over:
                self._break()

    def end(self) -> None:
        """The time is over, now. Waits for nothing."""
        with self._lock:
            self._is_over = True
            self._break()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._timer.cancel()
        with self._lock:
            while self._connections:
                self._connections.pop().close()
            # What is broken off may look whole, such as a body whose length nobody has told.
            if self._is_over and (error is None or isinstance(error, Exception)):
                raise TimeoutError(f"not there within {self._seconds:g} s") from None

    def _hear(self, event: str, told: Mapping[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            self.watch(told["return_value"])

    def _break(self) -> None:
        for connection in self._connections:
            break_off(connection)
