"""The server's end of the process that owns the store."""

from __future__ import annotations

import logging
import socket
import weakref
from pathlib import Path

from endpoint.graphs.change import Change
from endpoint.processes.child import ChildProcess
from endpoint.processes.frames import Connection, Frame, Kind, frame
from endpoint.processes.relayed_error import RelayedError
from protocol.errors import ProtocolError, StorageFull

logger = logging.getLogger(__name__)

_PROGRAM = "endpoint.graphs.writer"
_START_SECONDS = 60.0
_BACKUP_SECONDS = 60.0
_COMMIT_SECONDS = 600.0
"""What takes longer than these stands still."""


class WriterEnded(ProtocolError):
    """The process that changes the store ended by itself, or an error that nobody foresaw left it in unknown state."""

    status = 500
    title = "The update could not be done"


class WriterProcess:
    """A running writer. Its methods block; changes are one thread's at a time, snapshots another's."""

    def __init__(self, directory: Path) -> None:
        """Start the process and have it open the store. Raises StorageFull, or WriterEnded if that cannot be done."""
        (changes, their_changes), (snapshots, their_snapshots) = socket.socketpair(), socket.socketpair()
        self._changes, self._snapshots = Connection(changes), Connection(snapshots)
        try:
            with their_changes, their_snapshots:
                connections = [their_changes, their_snapshots]
                self._process = ChildProcess(_PROGRAM, "sparql-writer", connections, str(directory))
        except BaseException:
            changes.close()
            snapshots.close()
            raise
        # Also when whoever owns it has forgotten it, and at the end of the interpreter.
        self.end = weakref.finalize(self, _end, self._process, self._changes, self._snapshots)
        """End the process, whatever it is doing, and wait for that."""
        try:
            self._expect_soon(self._changes, Kind.READY, _START_SECONDS)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def change(self, change: Change, seconds: float) -> bool:
        """Do it; whether the graph it names was there before. Raises ProtocolError; TimeoutError, with nothing changed.

        ``seconds`` bound the evaluation: what has been evaluated is committed.
        """
        self._say(self._changes, frame(Kind.QUESTION, change.encoded()))
        self._expect(self._changes, Kind.EVALUATED, seconds)
        self._say(self._changes, frame(Kind.COMMIT))
        return bool(self._expect_soon(self._changes, Kind.LAST, _COMMIT_SECONDS).json())

    def backup(self, directory: Path) -> None:
        """Make a snapshot, at once, in a directory that is not there yet. Raises ProtocolError."""
        self._say(self._snapshots, frame(Kind.QUESTION, str(directory).encode()))
        self._expect_soon(self._snapshots, Kind.LAST, _BACKUP_SECONDS)

    def flush(self) -> None:
        """Write what is in memory to the directory. Raises ProtocolError."""
        self._say(self._changes, frame(Kind.CLOSE))
        self._expect_soon(self._changes, Kind.LAST, _COMMIT_SECONDS)

    def _say(self, connection: Connection, data: bytes) -> None:
        try:
            connection.send(data)
        except OSError:
            raise self._ended() from None

    def _expect_soon(self, connection: Connection, kind: Kind, seconds: float) -> Frame:
        try:
            return self._expect(connection, kind, seconds)
        except TimeoutError:
            raise WriterEnded(f"the process that changes the store stood still for {seconds:g} s") from None

    def _expect(self, connection: Connection, kind: Kind, seconds: float) -> Frame:
        try:
            received = connection.receive(seconds)
        except TimeoutError:
            raise
        except (EOFError, OSError):  # it has ended, or was ended while somebody waited for it
            raise self._ended() from None
        if received.kind is kind:
            return received
        if received.kind is Kind.PROBLEM:
            problem = received.json()
            raise (StorageFull(problem["detail"]) if problem["status"] == StorageFull.status else RelayedError(problem))
        logger.error("a change of the store failed:\n%s", received.content.decode("utf-8", "replace"))
        raise WriterEnded("an unexpected error in the update; the server's log has more")

    def _ended(self) -> WriterEnded:
        return WriterEnded(
            f"the process that changes the store {self._process.how_it_ended()}: the update may be nested too deeply, "
            "or need more memory than there is; others are not affected"
        )


def _end(process: ChildProcess, *connections: Connection) -> None:
    process.kill()
    process.wait()
    for connection in connections:
        connection.close()
