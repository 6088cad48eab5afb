"""The program of the process that owns the store (``endpoint.processes``).

Oxigraph cannot be interrupted, but this process can be ended, and its transaction with it. One socket is for changes
(``endpoint.processes.frames``): ``READY`` (JSON: what the store has lost) when it is open; then for each ``QUESTION``
(a ``Change``) ``EVALUATED`` when all is done but the commit, for which it waits until the server says ``COMMIT`` (the
version that the store then has), and at the end ``LAST`` (JSON: whether the graph that was asked about was there).
``CLOSE`` has what is in memory written to the directory.

The others are for what does not wait for changes. One is for snapshots: ``QUESTION`` (a directory), ``LAST``. One is
for what the graphs have: ``QUESTION`` (a ``QuadPattern``), ``DATA`` (N-Quads, some at once), ``LAST``; or ``NAMES``,
``LAST`` (JSON: the names of the graphs). Instead of ``READY`` or ``LAST`` it may be ``PROBLEM`` (JSON: a problem
document) or ``FAILED`` (text for the log).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import traceback
import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

import pyoxigraph as ox

from endpoint.graphs.change import Change
from endpoint.graphs.committed import CommittedFiles
from endpoint.graphs.opening import opened
from endpoint.graphs.pattern import QuadPattern, graph_names
from endpoint.processes.frames import Connection, Frame, Kind, frame
from endpoint.processes.relayed_error import problem_frame
from protocol.errors import NotFound, ProtocolError, StorageDamaged, StorageFull, UpdateFailed
from protocol.functions.aggregates import CUSTOM_AGGREGATES
from protocol.functions.python_functions import callables
from protocol.preconditions import Precondition
from protocol.processes.bounds import bound_memory, lift_memory_bound
from protocol.processes.stack import start_with_stack
from protocol.sparql.corrections import readable
from protocol.sparql.prologue import after_prologue
from protocol.sparql.syntax import update_error
from protocol.sparql.tokens import tokens

P = ParamSpec("P")

_TRUE = ox.Literal(True)


class Writer:
    """The store, changed by one thread, of which another makes snapshots and a third finds quads."""

    def __init__(
        self,
        directory: str,
        changes: Connection,
        snapshots: Connection,
        quads: Connection,
        memory: int | None,
        version: int,
        functions: str,
    ) -> None:
        """``memory`` bounds what this process takes for changes until they are committed, in bytes; ``version`` is the
        store's.
        """
        self._directory = Path(directory)
        self._committed = CommittedFiles(self._directory)
        self._memory = memory
        self._version = version
        self._functions = functions
        self._changes = changes
        self._snapshots = snapshots
        self._quads = quads
        self._bound: Callable[[], None] = lambda: None
        """Has the kernel hold this process to its memory from then on."""
        # A name that no update knows, so that none can call the function before its end.
        self._last = ox.NamedNode(f"urn:uuid:{uuid.uuid4()}")

    def serve_changes(self) -> None:
        """Open the store, then do what the server says until it closes the socket."""
        if not _answer(self._changes, self._open):
            return
        for connection, work in ((self._snapshots, self._backup), (self._quads, self._asked)):
            thread = threading.Thread(target=_serve, args=(connection, work), daemon=True)
            start_with_stack(thread)
        if self._memory is not None:
            # Not before: the stacks of the store's threads and ours are hardly used.
            bound_memory(self._memory)
            # What is read between changes is not held to it.
            self._bound = lift_memory_bound()
        _serve(self._changes, lambda asked: self._flush() if asked.kind is Kind.CLOSE else self._change(asked))

    def _open(self) -> Frame:
        self._oxigraph, lost = opened(self._directory)
        self._committed.sync(self._version)
        return Frame(Kind.READY, json.dumps(lost).encode("ascii"))

    def _flush(self) -> Frame:
        self._oxigraph.flush()
        self._committed.sync(self._version)
        return Frame(Kind.LAST, b"")

    def _backup(self, asked: Frame) -> Frame:
        self._oxigraph.backup(asked.content.decode())
        return Frame(Kind.LAST, b"")

    def _asked(self, asked: Frame) -> Frame:
        if asked.kind is Kind.NAMES:
            return Frame(Kind.LAST, json.dumps(graph_names(self._oxigraph)).encode("ascii"))
        for some in QuadPattern.decoded(asked).n_quads(self._oxigraph):
            self._quads.send(frame(Kind.DATA, some))
        return Frame(Kind.LAST, b"")

    def _change(self, asked: Frame) -> Frame:
        change = Change.decoded(asked)
        there = change.graph is None or self._oxigraph.contains_named_graph(ox.NamedNode(change.graph))
        Precondition(change.there).require(there, f"the graph <{change.graph}>")
        if change.required and not there:
            raise NotFound(f"there is no graph <{change.graph}>")
        last = f"INSERT {{}} WHERE {{ FILTER({self._last}()) }}"
        try:
            try:
                self._update(f"{change.text}\n; {last}", change.base)
            except SyntaxError:
                if not _awaits_operation(change.text):
                    raise
                self._update(f"{change.text}\n{last}", change.base)
        except SyntaxError:
            raise update_error(change.text, change.base) from None
        except RuntimeError as error:
            raise StorageDamaged.of(error) or UpdateFailed(str(error)) from error
        self._sync()
        return Frame(Kind.LAST, b"true" if there else b"false")

    def _update(self, text: str, base: str | None) -> None:
        functions = {**callables(self._functions), self._last: self._evaluated}
        self._bound()
        try:
            self._oxigraph.update(
                readable(text), base_iri=base, custom_functions=functions, custom_aggregate_functions=CUSTOM_AGGREGATES
            )
        finally:
            lift_memory_bound()

    def _sync(self) -> None:
        try:
            self._committed.sync(self._version)
        except OSError as error:
            # It is done, and may yet be lost: neither is what another OSError says.
            raise RuntimeError("what was committed is not on the disk") from error

    def _evaluated(self, *_: object) -> ox.Literal:
        """Called by the last operation: what follows is the commit."""
        try:
            self._changes.send(frame(Kind.EVALUATED))
            self._version = json.loads(self._changes.receive().content)
        except (EOFError, ConnectionError):
            # The server is gone. To Oxigraph what is raised here is no reason not to commit.
            os._exit(0)
        # Ended in a commit, nobody would know whether it was done; and that takes no more than the change has already.
        lift_memory_bound()
        return _TRUE


def _awaits_operation(update: str) -> bool:
    """Whether another operation may follow without a semicolon before it."""
    last, *end = deque(tokens(update), maxlen=2)
    return not end or last.text == ";" or after_prologue(update) >= last.end


def _serve(connection: Connection, work: Callable[[Frame], Frame]) -> None:
    """Do what the server asks for until it closes the socket."""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            _answer(connection, work, connection.receive())


def _answer(connection: Connection, work: Callable[P, Frame], *asked: P.args, **named: P.kwargs) -> bool:
    """Say what came of it; False if it was an error."""
    try:
        answer = work(*asked, **named)
    except ProtocolError as error:
        answer = problem_frame(error)
    except MemoryError:
        # As Oxigraph does where it allocates in vain: by this the server knows what it was.
        os.abort()
    except BaseException as error:  # a panic in Oxigraph is no Exception
        full = StorageFull.of(error, "the store") if isinstance(error, OSError) else None
        problem = full or StorageDamaged.of(error)
        failed = Frame(Kind.FAILED, traceback.format_exc().encode("utf-8", "backslashreplace"))
        answer = failed if problem is None else problem_frame(problem)
    connection.send(frame(answer.kind, answer.content))
    return answer.kind not in (Kind.PROBLEM, Kind.FAILED)


def main(
    changes: socket.socket,
    snapshots: socket.socket,
    quads: socket.socket,
    directory: str,
    memory: int | None,
    version: int,
    functions: str = "",
) -> None:
    """Serve the sockets until the server closes them; ``memory`` bounds what changes take, in bytes.

    ``functions`` are the application's own (``PythonFunctions.to_json``).
    """
    connections = Connection(changes), Connection(snapshots), Connection(quads)
    writer = Writer(directory, *connections, memory, version, functions)
    thread = threading.Thread(target=writer.serve_changes, name="changes")
    start_with_stack(thread)
    thread.join()
