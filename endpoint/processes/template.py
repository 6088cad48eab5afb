"""The program that the server's processes are forked from, ``python -m endpoint.processes.template MODULE…``.

It has imported what they need, so that one is there within milliseconds. Standard input is the socket to the server,
which asks for one after another: ``QUESTION`` (JSON: ``program``, a module whose ``main`` it is to run, ``name``,
working ``directory`` and ``arguments``), with the descriptors of a pipe and of the sockets that ``main`` is given
before these arguments. ``LAST`` (its process id) or ``FAILED`` (why there is none) answers. Its exit code comes through
the pipe, in decimal digits.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

from endpoint.processes.frames import FrameDecoder, Kind, frame
from protocol.processes.bounds import be_first_killed_for_memory

_MOST_DESCRIPTORS = 8
_RECEIVED_BYTES = 64 * 1024


class Template:
    """Forks children until the server closes the socket. It has one thread: a fork copies no other."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        # The pipe of each child that has not ended.
        self._children: dict[int, int] = {}
        self._ended, self._signalled = os.pipe()
        for end in (self._ended, self._signalled):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)

    def serve(self) -> None:
        events = select.poll()
        events.register(self._connection, select.POLLIN)
        events.register(self._ended, select.POLLIN)
        self._connection.sendall(frame(Kind.READY))
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                for descriptor, _ in events.poll():
                    if descriptor == self._ended:
                        self._reap()
                    else:
                        self._start(*self._receive())

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        decoder, descriptors = FrameDecoder(), list[int]()
        while (asked := decoder.next()) is None:
            data, more, _, _ = socket.recv_fds(self._connection, _RECEIVED_BYTES, _MOST_DESCRIPTORS)
            if not data:
                raise EOFError("the server is gone")
            descriptors += more
            decoder.feed(data)
        return asked.json(), descriptors

    def _start(self, asked: dict[str, Any], descriptors: list[int]) -> None:
        pipe, *sockets = descriptors
        try:
            pid = os.fork()
        except OSError as error:
            os.close(pipe)
            self._connection.sendall(frame(Kind.FAILED, str(error).encode()))
        else:
            if pid == 0:
                self._be_child(pipe)
                _run(asked, sockets)
            self._children[pid] = pipe
            self._connection.sendall(frame(Kind.LAST, str(pid).encode()))
        for descriptor in sockets:
            os.close(descriptor)

    def _be_child(self, pipe: int) -> None:
        """Let go of what is the template's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._connection.close()
        for descriptor in (self._ended, self._signalled, pipe, *self._children.values()):
            os.close(descriptor)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._ended, _RECEIVED_BYTES):
                pass
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                pipe = self._children.pop(pid)
                # Nobody may be there any more to read it.
                with contextlib.suppress(BrokenPipeError):
                    os.write(pipe, b"%d" % os.waitstatus_to_exitcode(status))
                os.close(pipe)


def _run(asked: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Be the program that was asked for. Never returns."""
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(asked["directory"])
        _take_name(asked["name"])
        be_first_killed_for_memory()
        connections = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        _end_with_the_server(connections[0])
        importlib.import_module(asked["program"]).main(*connections, *asked["arguments"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _take_name(name: str) -> None:
    """Be known by this name in lists of processes (Linux, of which 15 bytes are shown)."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as comm:
        comm.write(name)


def _end_with_the_server(connection: socket.socket) -> None:
    """Start a thread that ends this process as soon as the other end of the socket is closed."""

    def watch() -> None:
        hangup = select.poll()
        # Only what is reported unasked: that the other end is gone.
        hangup.register(connection, 0)
        hangup.poll()
        os._exit(0)

    threading.Thread(target=watch, name="server-gone", daemon=True).start()


def main() -> None:
    """Import the modules that are the arguments, and serve the socket that is standard input."""
    _take_name("sparql-template")
    connection = socket.socket(fileno=os.dup(0))
    # No child shall hold this end of it.
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    # What is there now is shared by all children for as long as nobody writes to it.
    gc.collect()
    gc.freeze()
    Template(connection).serve()


if __name__ == "__main__":
    main()
