"""The server's end of the process that owns the store."""

from __future__ import annotations

import json
import logging
import socket
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

from endpoint.graphs.change import Change
from endpoint.graphs.pattern import QuadPattern
from endpoint.processes.child import ChildProcess
from endpoint.processes.ending import ended_for_memory, said_of_end
from endpoint.processes.forks import only_here
from endpoint.processes.frames import Connection, Frame, Kind, frame
from endpoint.processes.relayed_error import RelayedError
from protocol.errors import ProtocolError, StorageFull, Unavailable, size_text

logger = logging.getLogger(__name__)

_PROGRAM = "endpoint.graphs.writer"
_START_SECONDS = 60.0
_BACKUP_SECONDS = 60.0
_QUADS_SECONDS = 60.0
_COMMIT_SECONDS = 600.0
"""What takes longer than these stands still."""

_END_SECONDS = 5.0
_DOES = "changes the store"
_UNCHANGED = "nothing was changed; send it again"


class WriterEnded(ProtocolError):
    """The process that changes the store ended by itself, or an error that nobody foresaw left it in unknown state."""

    status = 500
    title = "The update could not be done"


class WriterLost(WriterEnded):
    """The process that changes the store has ended, while it was waited for."""


class WriterGone(Unavailable):
    """The process that changes the store ended before it was asked: nothing has changed."""


class UpdateMemoryExceeded(ProtocolError):
    """The update needs more memory than the endpoint gives one; it has changed nothing."""

    status = 422
    title = "The update needs too much memory"
    refusal = "update_memory"


class WriterProcess:
    """A running writer. Its methods block; changes are one thread's at a time, as are snapshots and questions."""

    def __init__(self, directory: Path, memory: int | None, version: int, functions: str = "") -> None:
        """Start the process and have it open the store, with so many bytes of memory for changes (None: any number).
        ``version`` is the one that the store has.

        ``functions`` are the application's own (``PythonFunctions.to_json``).
        ``used`` says whether it was asked for one, ``warnings`` what the store was found to have lost. Raises
        StorageFull, or WriterEnded if that cannot be done; Unavailable if somebody else ended the process.
        """
        self._memory = memory
        self._stood_still = False
        self.used = False
        ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
        self._changes, self._snapshots, self._questions = connections = [Connection(one) for one in ours]
        try:
            self._process = ChildProcess(_PROGRAM, "sparql-writer", theirs, str(directory), memory, version, functions)
        except BaseException:
            _close(connections)
            raise
        finally:
            _close(theirs)
        # Also when whoever owns it has forgotten it, and at the end of the interpreter.
        self.end = weakref.finalize(self, only_here(_end), self._process, connections)
        """End the process, whatever it is doing, and wait for that."""
        try:
            ready = self._expect_soon(self._changes, Kind.READY, _START_SECONDS)
            self.warnings: list[str] = json.loads(ready.content)
        except WriterLost as lost:
            error = self._interrupted() or lost
            self.end()
            raise error from None
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP), which it never does by itself."""
        return self._process.stopped

    def kill_frozen(self) -> None:
        """End it because it stands still; who waits for it is told so."""
        self._stood_still = True
        self._process.kill()

    def evaluate(self, change: Change, seconds: float) -> None:
        """Do all of it but the commit, within so many ``seconds``; whatever it raises, nothing has changed.

        Raises TimeoutError, and ProtocolError: WriterGone, UpdateMemoryExceeded, Unavailable if somebody else ended the
        process; WriterEnded for what nobody foresaw.
        """
        self.used = True
        try:
            self._changes.send(frame(Kind.QUESTION, change.encoded()))
        except OSError:
            if self._stood_still:
                raise _replaced() from None
            raise WriterGone(f"{self._how_it_ended()}: {_UNCHANGED}") from None
        try:
            self._expect(self._changes, Kind.EVALUATED, seconds)
        except TimeoutError:
            if self.frozen:
                raise _replaced() from None
            raise
        except WriterLost as lost:
            raise self._unchanged(lost) from None

    def commit(self, version: int) -> bool:
        """Commit what was evaluated, as this ``version``; whether the graph that it names was there before.

        Raises ProtocolError; WriterEnded where nobody knows whether it was done.
        """
        try:
            self._say(self._changes, frame(Kind.COMMIT, json.dumps(version).encode()))
        except WriterLost as lost:
            raise self._unchanged(lost) from None
        try:
            return bool(self._expect_soon(self._changes, Kind.LAST, _COMMIT_SECONDS).json())
        except WriterLost:
            raise WriterLost(
                f"{self._how_it_ended()} while it committed the update, which was done as a whole or not at all: look "
                "which, before you send it again"
            ) from None

    def backup(self, directory: Path) -> None:
        """Make a snapshot, at once, in a directory that is not there yet. Raises ProtocolError."""
        self._say(self._snapshots, frame(Kind.QUESTION, str(directory).encode()))
        self._expect_soon(self._snapshots, Kind.LAST, _BACKUP_SECONDS)

    def n_quads(self, pattern: QuadPattern) -> list[bytes]:
        """What matches, in one state of the store, as canonical N-Quads in parts. Raises ProtocolError."""
        answer = self._answer(frame(Kind.QUESTION, pattern.encoded()))
        return [received.content for received in answer if received.kind is Kind.DATA]

    def named_graphs(self) -> list[str]:
        """Names of the named graphs, in order. Raises ProtocolError."""
        *_, last = self._answer(frame(Kind.NAMES))
        names: list[str] = json.loads(last.content)
        return names

    def _answer(self, question: bytes) -> Iterator[Frame]:
        self._say(self._questions, question)
        kind = Kind.DATA
        while kind is not Kind.LAST:
            try:
                received = self._received(self._questions, _QUADS_SECONDS)
            except TimeoutError:
                raise _stood_still(_QUADS_SECONDS) from None
            kind = received.kind
            yield received

    def flush(self) -> None:
        """Write what is in memory to the directory. Raises ProtocolError."""
        self._say(self._changes, frame(Kind.CLOSE))
        self._expect_soon(self._changes, Kind.LAST, _COMMIT_SECONDS)

    def _say(self, connection: Connection, data: bytes) -> None:
        try:
            connection.send(data)
        except OSError:
            raise self._lost() from None

    def _expect(self, connection: Connection, kind: Kind, seconds: float) -> Frame:
        received = self._received(connection, seconds)
        assert received.kind is kind
        return received

    def _expect_soon(self, connection: Connection, kind: Kind, seconds: float) -> Frame:
        try:
            return self._expect(connection, kind, seconds)
        except TimeoutError:
            raise _stood_still(seconds) from None

    def _received(self, connection: Connection, seconds: float) -> Frame:
        try:
            received = connection.receive(seconds)
        except TimeoutError:
            raise
        except (EOFError, OSError):  # it has ended, or was ended while somebody waited for it
            raise self._lost() from None
        if received.kind is Kind.PROBLEM:
            problem = received.json()
            raise (StorageFull(problem["detail"]) if problem["status"] == StorageFull.status else RelayedError(problem))
        if received.kind is Kind.FAILED:
            logger.error("a change of the store failed:\n%s", received.content.decode("utf-8", "replace"))
            raise WriterEnded("an unexpected error in the update; the server's log has more")
        return received

    def _unchanged(self, lost: WriterLost) -> ProtocolError:
        """What the end of the process is to whoever waited for an evaluation there."""
        exceeded = None
        if self._memory is not None:
            exceeded = UpdateMemoryExceeded(
                f"the update was stopped because it needs more than {size_text(self._memory)} of memory, and has "
                "changed nothing: do it in smaller steps, or, if you run this endpoint, allow more with "
                "--update-memory",
                extra={"limit": self._memory},
            )
        return self._interrupted(exceeded) or lost

    def _interrupted(self, exceeded: UpdateMemoryExceeded | None = None) -> ProtocolError | None:
        """What its end is to whoever has changed nothing, if that was not the process's own doing or ``exceeded``."""
        if self._stood_still:
            return _replaced()
        return ended_for_memory(self._process, _DOES, _UNCHANGED, exceeded)

    def _how_it_ended(self) -> str:
        how = "stood still and was ended" if self._stood_still else self._process.how_it_ended(_END_SECONDS)
        return f"the process that {_DOES} {how}"

    def _lost(self) -> WriterLost:
        return WriterLost(said_of_end(self._process, _DOES, "update", _END_SECONDS))


def _replaced() -> Unavailable:
    return Unavailable(f"the process that {_DOES} stood still and is replaced: {_UNCHANGED}")


def _stood_still(seconds: float) -> WriterEnded:
    return WriterEnded(f"the process that changes the store stood still for {seconds:g} s")


def _end(process: ChildProcess, connections: Iterable[Connection]) -> None:
    process.kill()
    process.wait()
    _close(connections)


def _close(ends: Iterable[Connection | socket.socket]) -> None:
    for end in ends:
        end.close()
