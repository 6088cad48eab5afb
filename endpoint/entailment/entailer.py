"""The program of the process that keeps what follows from the store under one regime (``endpoint.processes``).

For each ``QUESTION`` (JSON: the directory of a snapshot of the store, and that of the snapshot to make, which is not
there yet) it answers ``LAST`` (JSON: the rules that graphs contradict, by graph) when that is made, ``PROBLEM`` where
there is no room for it, or ``FAILED`` (text for the log).
"""

from __future__ import annotations

import json
import os
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox

from endpoint.entailment.entailed_graphs import EntailedGraphs
from endpoint.processes.frames import Connection, Kind, frame, json_frame
from endpoint.processes.relayed_error import problem_frame
from protocol.entailment.regimes import Regime
from protocol.errors import StorageFull
from protocol.processes.bounds import bound_memory
from protocol.processes.stack import start_with_stack


def serve(connection: Connection, make: Callable[[], EntailedGraphs]) -> None:
    """Answer until the server closes the socket; what follows from nothing is made when it is asked first."""
    entailed: EntailedGraphs | None = None
    while True:
        asked = json.loads(connection.receive().content)
        try:
            entailed = make() if entailed is None else entailed
            entailed.bring_up_to(ox.Store.read_only(asked["graphs"]))
            entailed.store.backup(asked["snapshot"])
        except MemoryError:
            # As where Oxigraph allocates in vain: by this the server knows what it was.
            os.abort()
        except BaseException as error:  # a panic in Oxigraph is no Exception
            full = StorageFull.of(error, "what follows from the graphs") if isinstance(error, OSError) else None
            if full is None:
                connection.send(frame(Kind.FAILED, traceback.format_exc().encode("utf-8", "backslashreplace")))
            else:
                problem = problem_frame(full)
                connection.send(frame(problem.kind, problem.content))
            return
        connection.send(json_frame(Kind.LAST, entailed.contradictions))


def main(connection: socket.socket, regime: str, schema: str, directory: str, memory: int | None) -> None:
    """Serve the socket; ``schema`` is a JSON list of graphs, ``memory`` bounds what this process takes, in bytes."""

    def make() -> EntailedGraphs:
        entailed = EntailedGraphs(Regime(regime), json.loads(schema), Path(directory))
        if memory is not None:
            bound_memory(memory)
        return entailed

    def work() -> None:
        with suppress(EOFError, ConnectionError):
            serve(Connection(connection), make)

    thread = threading.Thread(target=work, name="entailer")
    start_with_stack(thread)
    thread.join()
