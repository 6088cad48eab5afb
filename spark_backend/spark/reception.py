"""Answers that leave their tasks for the server by a connection: a task of a micro-batch ends when they are out.

Spark takes a batch for done when all of its tasks have ended. So the task that sends the last part of a batch goes on
once the answers of the whole batch were received, and fails if they could not be: then it is run again, or the batch is
planned again. What comes for a second time is received for a second time: whoever receives drops what was out.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import pickle
import secrets
import socket
import socketserver
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import BufferedRWPair
from typing import Any

from protocol.errors import Unavailable
from spark_backend.answers.answer import Answer, Answers

log = logging.getLogger(__name__)

_HERE = "127.0.0.1"
_KEY_BYTES = 32


@dataclass(frozen=True)
class Part:
    """Where some of the answers of a micro-batch belong: they are the part ``number`` of ``count``.

    ``batch`` is a text that no other plan of a batch has, of the same evaluations neither.
    """

    batch: str
    number: int
    count: int


@dataclass(frozen=True)
class Way:
    """Where answers go: a port of this machine, and the key by which whoever sends them is known."""

    port: int
    key: bytes = field(repr=False)


class Reception:
    """Listens for answers and gives those of a batch to ``receive`` together, when all of them are there.

    They come by key and instant. Where ``receive`` raises, the task that has sent the last part fails.
    """

    def __init__(self, receive: Callable[[Answers], None]) -> None:
        self._receive = receive
        self._held: OrderedDict[str, dict[int, Answers]] = OrderedDict()
        """The parts that have come, of each batch that is not out."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._server = _Server(self.take)
        self.way = Way(self._server.server_address[1], self._server.key)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, name="answers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, also if it has never been started."""
        if self._thread is not None:
            self._server.shutdown()
        self._server.server_close()

    def take(self, part: Part, answers: Answers) -> None:
        """Take a part of a batch; with the last one that was missing, all of them are received."""
        with self._lock:
            parts = self._held.setdefault(part.batch, {})
            parts[part.number] = answers
            whole = len(parts) == part.count
        if not whole:
            return
        self._receive(sorted((one for some in parts.values() for one in some), key=_by_key_and_instant))
        with self._lock:
            # Batches come one after the other: what is held of earlier ones was of some that failed.
            while part.batch in self._held:
                self._held.popitem(last=False)


def _by_key_and_instant(one: tuple[str, Answer]) -> tuple[str, int]:
    return one[0], one[1].instant


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    # Whoever is still sending when the server stops is not waited for.
    block_on_close = False

    def __init__(self, take: Callable[[Part, Answers], None]) -> None:
        self.take = take
        self.key = secrets.token_bytes(_KEY_BYTES)
        super().__init__((_HERE, 0), _Sender)


class _Sender(socketserver.StreamRequestHandler):
    """A worker that sends: the key, then again and again a part, lists of its answers, and None for the end."""

    server: _Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        # Nothing is read as a pickle of somebody who does not know the key.
        if not hmac.compare_digest(self.rfile.read(_KEY_BYTES), self.server.key):
            return
        # The worker has ended, perhaps in the middle of it.
        with contextlib.suppress(EOFError, ConnectionError, pickle.UnpicklingError):
            while True:
                part, answers = pickle.load(self.rfile), []
                while (some := pickle.load(self.rfile)) is not None:
                    answers += some
                pickle.dump(self._taken(part, answers), self.wfile)

    def _taken(self, part: Part, answers: Answers) -> str | None:
        """What keeps the answers from being out; None where nothing does."""
        try:
            self.server.take(part, answers)
        except BaseException as error:  # a panic in Oxigraph is no Exception
            log.exception("the answers of a micro-batch could not be received")
            return str(error).partition("\n")[0] or type(error).__name__
        return None


def send(way: Way, part: Part, answers: Iterable[Answers]) -> None:
    """Send a part of a batch, as its answers are made; on return it has been taken. Raises Unavailable."""
    connection = _connection(way)
    try:
        pickle.dump(part, connection)
        for some in answers:
            pickle.dump(some, connection)
        pickle.dump(None, connection)
        connection.flush()
        problem = pickle.load(connection)
    except BaseException:
        # There is half a part on its way.
        _forget(way)
        raise
    if problem is not None:
        raise Unavailable(problem)


_connections: dict[Way, BufferedRWPair[Any, Any]] = {}
"""Of this worker, which sends for one batch after another."""


def _connection(way: Way) -> BufferedRWPair[Any, Any]:
    known = _connections.get(way)
    if known is None:
        with socket.create_connection((_HERE, way.port)) as made:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            known = _connections[way] = made.makefile("rwb")
        known.write(way.key)
    return known


def _forget(way: Way) -> None:
    with contextlib.suppress(OSError):
        _connections.pop(way).close()
