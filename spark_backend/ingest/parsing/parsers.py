"""Processes that parse long documents, so that all cores do, and no thread of the server waits for the parser's lock.

Oxigraph's parser hands each statement to Python and takes the interpreter's lock again for every one of them: two
threads that parse take more time than one after the other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from protocol.errors import InvalidMessage, Unavailable
from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG, allowed_seconds, said_of_excess, take_long
from protocol.processes.standstill import LOOK_SECONDS, Standstill
from spark_backend.ingest.parsing.documents import IN_PROCESS, Parsed, WrongDocument
from spark_backend.ingest.parsing.exchange import Answered, Asked, decode_quads
from spark_backend.ingest.parsing.pieces import PIECE, cut
from spark_backend.ingest.terms.quads import Quads, joined

LONG_JELLY = LONG // 8
"""Documents in Jelly of as many bytes are long: it says as much in fewer bytes, and is decoded with the interpreter's
lock held."""

_PROGRAM = "spark_backend.ingest.parsing.program"
_PACKAGES = Path(__file__).resolve().parents[3]

_log = logging.getLogger(__name__)


class Parsers:
    """Parses long documents in processes, one a core for each of two requests; the rest in this one. Thread-safe.

    Processes are started when they are needed, and kept. One that is stopped (SIGSTOP) is ended after
    ``frozen_after`` seconds, if somebody has them looked at (``look``); one that takes more than ``allowed`` seconds
    of processor time for documents of so many bytes at once.
    """

    def __init__(
        self,
        frozen_after: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        allowed: Callable[[int], float] = allowed_seconds,
    ) -> None:
        self._cores = os.cpu_count() or 1
        self._most = 2 * max(2, self._cores)
        self._idle: list[_Process] = []
        self._lent: set[_Process] = set()
        self._free = threading.Condition()
        self._closed = False
        self._frozen_after = frozen_after
        self._allowed = allowed
        self._clock = clock
        self._looked = clock()
        self._standstill: Standstill[_Process] = Standstill(clock)

    def statements(self, document: bytes, format: RdfSyntax, base: str) -> Quads:
        """As ``Parser.statements``.

        Raises Unavailable where the process is lost, InvalidMessage where it takes too long.
        """
        if not take_long([document], format):
            return IN_PROCESS.statements(document, format, base)
        pieces = cut(document, format, base, self._cores)
        if pieces is not None:
            with contextlib.suppress(WrongDocument):
                parsed = self._parsed([[piece] for piece in pieces.documents], format, base)
                if pieces.are_whole([part.end for part in parsed]):
                    return joined([part.quads for part in parsed])
            # What is wrong with it, and where, is said of the whole.
        try:
            (whole,) = self._parsed([[document]], format, base)
        except WrongDocument as wrong:
            raise wrong.error from None
        return whole.quads

    def all_statements(self, documents: Sequence[bytes], format: RdfSyntax, base: str) -> tuple[Quads, list[int]]:
        """As ``Parser.all_statements``. Raises as ``statements``, of a process, does."""
        if not take_long(documents, format):
            return IN_PROCESS.all_statements(documents, format, base)
        size = sum(map(len, documents))
        share = -(-len(documents) // max(1, min(self._cores, size // PIECE)))
        parsed = self._parsed([documents[at : at + share] for at in range(0, len(documents), share)], format, base)
        return joined([part.quads for part in parsed]), [count for part in parsed for count in part.counts]

    def frames(self, document: bytes) -> tuple[Quads, list[int]]:
        """As ``Parser.frames``. Raises as ``statements``, of a process, does."""
        if len(document) < LONG_JELLY:
            return IN_PROCESS.frames(document)
        (whole,) = self._parsed([[document]], None, "")
        return whole.quads, list(whole.counts)

    def look(self) -> None:
        """End processes that have stood still for too long; their requests fail. Called often, looks once a second."""
        with self._free:
            now = self._clock()
            if now - self._looked < LOOK_SECONDS:
                return
            self._looked = now
            there = [*self._idle, *self._lent]
        for process, seconds in self._standstill.look([one for one in there if one.frozen]).items():
            if seconds >= self._frozen_after:
                _log.error("a process that parses (%d) has stood still for %.0f s: it is ended", process.pid, seconds)
                process.kill()

    def close(self) -> None:
        """End all processes, whatever they do."""
        with self._free:
            self._closed = True
            for process in self._lent:
                process.kill()
            for process in self._idle:
                process.end()
            self._idle.clear()
            self._free.notify_all()

    def _parsed(self, parts: Sequence[Sequence[bytes]], format: RdfSyntax | None, base: str) -> list[Parsed]:
        """The statements of the documents of each part.

        Parts are parsed at the same time, by as many processes as are free. Raises WrongDocument for the first
        document of all that is wrong.
        """
        parsed: list[Parsed] = []
        before = 0
        while len(parsed) < len(parts):
            with self._borrowed(len(parts) - len(parsed)) as processes:
                asked = parts[len(parsed) : len(parsed) + len(processes)]
                for process, documents in zip(processes, asked, strict=True):
                    process.ask(documents, format, base, self._allowed(sum(map(len, documents))))
                # All of them, so that each is ready for the next request.
                answers = [process.answer() for process in processes]
            for answer, documents in zip(answers, asked, strict=True):
                if isinstance(answer, WrongDocument):
                    raise WrongDocument(before + answer.number, answer.error)
                parsed.append(answer)
                before += len(documents)
        return parsed

    @contextmanager
    def _borrowed(self, wanted: int) -> Iterator[list[_Process]]:
        """At least one process, and at most so many, of those that are free now; waits for the one."""
        borrowed: list[_Process] = []
        try:
            with self._free:
                self._free.wait_for(lambda: self._closed or len(self._lent) < self._most)
                if self._closed:
                    raise Unavailable("the server is stopping")
                while len(borrowed) < wanted and len(self._lent) < self._most:
                    borrowed.append(self._taken())
                    self._lent.add(borrowed[-1])
            yield borrowed
        finally:
            with self._free:
                for process in borrowed:
                    self._lent.discard(process)
                    if process.ready and not self._closed:
                        self._idle.append(process)
                    else:
                        process.end()
                self._free.notify_all()

    def _taken(self) -> _Process:
        """One that is idle, or a new one."""
        while self._idle:
            process = self._idle.pop()
            if process.alive:
                return process
            process.end()
        try:
            return _Process()
        except OSError as error:
            raise Unavailable(f"no process could be started to parse the body ({error}): send it again") from error


class _Process:
    """A process that parses. Used by one thread at a time, but for ``frozen`` and ``kill``.

    ``ready``: whether every question was answered.
    """

    def __init__(self) -> None:
        """Start it; does not wait until it is there. OSError if that cannot be."""
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
        with theirs:
            self._connection = Connection(ours.detach())
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", _PROGRAM],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": path},
                    # Ctrl-C in a terminal is the server's affair, which ends its children.
                    process_group=0,
                )
            except BaseException:
                self._connection.close()
                raise
        self.end = weakref.finalize(self, _end, self._process, self._connection)
        self.pid = self._process.pid
        self.ready = True
        self._seconds = 0.0

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP), which it never does by itself."""
        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)
        return False

    def kill(self) -> None:
        """Have it end; whoever waits for its answer learns of that."""
        self._process.kill()

    def ask(self, documents: Sequence[bytes], format: RdfSyntax | None, base: str, seconds: float) -> None:
        self.ready = False
        self._seconds = seconds
        with self._lost_is_unavailable():
            self._connection.send(Asked(format, base, [len(document) for document in documents], seconds))
            self._connection.send_bytes(documents[0] if len(documents) == 1 else b"".join(documents))

    def answer(self) -> Parsed | WrongDocument:
        """The statements of the documents; or which of these is wrong."""
        with self._lost_is_unavailable():
            answer: Answered | WrongDocument = self._connection.recv()
            statements = b"" if isinstance(answer, WrongDocument) else self._connection.recv_bytes()
        self.ready = True
        return answer if isinstance(answer, WrongDocument) else Parsed(decode_quads(statements), *answer)

    @contextmanager
    def _lost_is_unavailable(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError):
            self._process.kill()
            if self._process.wait() == -signal.SIGPROF:
                raise InvalidMessage(f"the body {said_of_excess(self._seconds)}") from None
            raise Unavailable("the process that parsed the body has ended: nothing was stored, send it again") from None


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    process.kill()
    process.wait()
    connection.close()
