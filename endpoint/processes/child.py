"""The server's end of one of its processes: started within milliseconds, by a fork of a template."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import psutil

from endpoint.processes.frames import Connection, Frame, Kind, json_frame

logger = logging.getLogger(__name__)

_PACKAGES = Path(__file__).resolve().parents[2]
_PRELOADED = ("endpoint.readers.reader", "endpoint.graphs.writer", "endpoint.graphs.documents")
"""What the template imports; it would run other programs as well, only later."""

_START_SECONDS = 60.0
_FORK_SECONDS = 10.0
"""A template that takes longer stands still."""

_LOOK_SECONDS = 0.05

_CODE_SECONDS = 1.0
"""So long the template may take to say with what code a process has ended."""

_FROM_OUTSIDE = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM)
"""What ends a process and was never its own doing."""


class ChildProcess:
    """A process that runs the function ``main`` of a module. Thread-safe.

    It has this process's working directory, and ends as soon as the other end of its first connection is closed: with
    this process, at the latest.
    """

    def __init__(
        self, program: str, name: str, connections: Sequence[socket.socket], *arguments: str | int | None
    ) -> None:
        """Start it: ``main`` gets the connections, of which there is at least one, and these arguments.

        Whoever started it closes its own copies of the connections. Lists of processes show the ``name``, of at most
        15 bytes. OSError if there can be none; that there is no such program, it says to nobody but the log.
        """
        asked = {"program": program, "name": name, "directory": os.getcwd(), "arguments": arguments}
        pipe, theirs = os.pipe()
        self._pipe = pipe
        weakref.finalize(self, os.close, pipe)
        os.set_blocking(pipe, False)
        try:
            descriptors = [theirs, *(one.fileno() for one in connections)]
            self.pid = _fork(json_frame(Kind.QUESTION, asked), descriptors)
        finally:
            os.close(theirs)
        self._looking = threading.Lock()
        self._ended = False
        self._code: int | None = None
        try:
            self._process: psutil.Process | None = psutil.Process(self.pid)
        except psutil.NoSuchProcess:
            self._process = None

    @property
    def alive(self) -> bool:
        with self._looking:
            self._look()
            # Who would say its end may be gone, or stand still.
            self._ended = self._ended or self._process is None or not _runs(self._process)
            return not self._ended

    @property
    def stopped(self) -> bool:
        """Whether it stands still (SIGSTOP), which it never does by itself."""
        with contextlib.suppress(psutil.Error):
            return self._process is not None and bool(self._process.status() == psutil.STATUS_STOPPED)
        return False

    @property
    def exit_code(self) -> int | None:
        """Of a process that has ended, -N for signal N; None if the template ended before it, which knows it."""
        with self._looking:
            self._look()
            return self._code

    @property
    def ended_from_outside(self) -> bool:
        """Whether others ended it, asked after ``how_it_ended``. So it is taken where the template has ended too."""
        code = self.exit_code
        return code is None or -code in _FROM_OUTSIDE

    def kill(self) -> None:
        """End it at once. Not another one that has its number since."""
        with contextlib.suppress(psutil.NoSuchProcess):
            if self._process is not None and self.alive:
                self._process.kill()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, for at most so many seconds."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.alive:
            left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return
            if self._await_code(left) and self.alive:
                # The template is gone, and with it who would have said the end.
                time.sleep(left)
        self._await_code(_CODE_SECONDS)

    def how_it_ended(self, seconds: float) -> str:
        """What became of it, after its end of a socket was closed: a moment before it ended, or when it did.

        Waits for so many seconds until that is known, where the template has much to do.
        """
        self.wait(seconds)
        self._await_code(seconds)
        if (code := self.exit_code) is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return "ended" if code is None else f"ended with code {code}"

    def _await_code(self, seconds: float) -> bool:
        """Wait until the pipe has the exit code, or never will; False if it still may then."""
        code = select.poll()
        code.register(self._pipe, select.POLLIN)
        return bool(code.poll(1000 * seconds))

    def _look(self) -> None:
        with contextlib.suppress(BlockingIOError):
            if self._code is None and (said := os.read(self._pipe, 16)):
                self._code, self._ended = int(said), True


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


class _Template:
    """The process that this interpreter's children are forked from."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._connection = Connection(self._socket)
        path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "endpoint.processes.template", *_PRELOADED],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": path},
                    # Ctrl-C in a terminal is the server's affair, which ends its children.
                    process_group=0,
                )
            except BaseException:
                self._socket.close()
                raise
        self.end = weakref.finalize(self, _end, os.getpid(), self._process, self._connection)
        self._receive(Kind.READY, _START_SECONDS)

    def fork(self, asked: bytes, descriptors: Sequence[int]) -> int:
        """The process id of a child. OSError if there can be none; EOFError, TimeoutError if it is of no use."""
        try:
            socket.send_fds(self._socket, [asked], descriptors)
        except ConnectionError:
            raise EOFError("the template has ended") from None
        return int(self._receive(Kind.LAST, _FORK_SECONDS).content)

    def _receive(self, kind: Kind, seconds: float) -> Frame:
        received = self._connection.receive(seconds)
        if received.kind is not kind:
            raise OSError(received.content.decode())
        return received


def _end(owner: int, process: subprocess.Popen[bytes], connection: Connection) -> None:
    # A fork of whoever started the template has got it in memory, too.
    if os.getpid() == owner:
        process.kill()
        process.wait()
    connection.close()


_starting = threading.Lock()
_template: _Template | None = None


def _fork(asked: bytes, descriptors: Sequence[int]) -> int:
    with _starting:
        try:
            return _fork_of_template(asked, descriptors)
        except (EOFError, TimeoutError) as error:
            logger.warning("the process that others are forked from is replaced: %s", error)
        try:
            return _fork_of_template(asked, descriptors)
        except (EOFError, TimeoutError) as error:
            raise OSError(f"no process can be started: {error}") from error


def _fork_of_template(asked: bytes, descriptors: Sequence[int]) -> int:
    global _template
    if _template is None:
        _template = _Template()
    try:
        return _template.fork(asked, descriptors)
    except (EOFError, TimeoutError):
        _template.end()
        _template = None
        raise


def _forget() -> None:
    """In a fork of this process, the template is the other one's."""
    global _starting, _template
    _starting, _template = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)
