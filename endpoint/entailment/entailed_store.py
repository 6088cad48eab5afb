"""The server's end of what follows from the store under one regime: snapshots of it, as of the store itself."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from endpoint.graphs.store import GraphStore
from endpoint.processes.child import ChildProcess
from endpoint.processes.ending import ended_for_memory
from endpoint.processes.forks import only_here
from endpoint.processes.frames import Connection, Kind, json_frame
from endpoint.processes.relayed_error import RelayedError
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, size_text

logger = logging.getLogger(__name__)

_PROGRAM = "endpoint.entailment.entailer"
_DOES = "infers what follows from the graphs"
_LOOK_SECONDS = 1.0
_END_SECONDS = 1.0
_SHOWN = 10

CLOSURE_SECONDS = 600.0
"""What follows from the whole store is inferred in so many."""


class ClosureFailed(ProtocolError):
    """What follows from the graphs could not be inferred."""

    status = 500
    title = "What follows from the graphs could not be inferred"


class ClosureTooLarge(ClosureFailed):
    """It takes more memory, or longer, than the endpoint gives it."""

    status = 422
    refusal = "closure"


class EntailedStore:
    """What readers are given instead of the store, where they are to answer under a regime. Thread-safe.

    It is made when a snapshot is asked for first, and brought up to date when one is asked for after a change: who does
    not ask under the regime does not wait for it.
    """

    def __init__(
        self,
        graphs: GraphStore,
        regime: Regime,
        schema: Sequence[str],
        directory: Path,
        *,
        memory: int | None = None,
        seconds: float = CLOSURE_SECONDS,
        frozen_after: float = 10.0,
    ) -> None:
        """``directory`` is for this alone, on the store's file system; what an earlier process left is removed.

        ``memory`` bounds what the process takes, in bytes, ``seconds`` how long it infers after a change; one that
        stands still (SIGSTOP) is ended after ``frozen_after``.
        """
        self._graphs = graphs
        self._regime = regime
        self._schema = tuple(schema)
        self._directory = directory
        self._memory = memory
        self._seconds = seconds
        self._frozen_after = frozen_after
        self._asking = threading.Lock()
        self._process: tuple[ChildProcess, Connection] | None = None
        self._end: Callable[[], object] = lambda: None
        self._contradictions: dict[str, list[str]] = {}
        shutil.rmtree(directory, ignore_errors=True)

    @property
    def version(self) -> int:
        """That of the store."""
        return self._graphs.version

    def report(self, error: ProtocolError) -> None:
        """As of the store."""
        self._graphs.report(error)

    @property
    def process(self) -> int | None:
        """The process that infers, if there is one."""
        process = self._process
        return None if process is None else process[0].pid

    @property
    def warnings(self) -> list[str]:
        """Which graphs contradict themselves, a sentence each, as it was when a query was answered last."""
        return [
            f"{f'the graph {graph}' if graph else 'the default graph'} contradicts itself under {self._regime} "
            f"({', '.join(rules)}): queries are answered with what the rules infer, and no more"
            for graph, rules in list(self._contradictions.items())[:_SHOWN]
        ]

    def backup(self, directory: Path) -> int:
        """Make a snapshot in a directory that is not there yet: of the store's version that is returned, or a later.

        Raises ProtocolError: ClosureTooLarge, ClosureFailed, or that of the store.
        """
        with self._asking:
            self._directory.mkdir(parents=True, exist_ok=True)
            graphs = self._directory / "graphs"
            version = self._graphs.backup(graphs)
            try:
                self._ask(graphs, directory)
            except BaseException:
                self._end_process()
                raise
            finally:
                shutil.rmtree(graphs, ignore_errors=True)
            return version

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._end_process()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _ask(self, graphs: Path, snapshot: Path) -> None:
        process, connection = self._started()
        left, stood = self._seconds, 0.0
        try:
            connection.send(json_frame(Kind.QUESTION, {"graphs": str(graphs), "snapshot": str(snapshot)}))
            while True:
                try:
                    received = connection.receive(_LOOK_SECONDS)
                    break
                except TimeoutError:
                    left -= _LOOK_SECONDS
                    stood = stood + _LOOK_SECONDS if process.stopped else 0.0
                if left <= 0:
                    raise ClosureTooLarge(
                        f"what follows from the graphs under {self._regime} was not inferred within {self._seconds:g} s"
                    )
                if stood >= self._frozen_after:
                    raise ClosureFailed(f"the process that {_DOES} stood still and was ended: ask again")
        except (EOFError, OSError):
            raise self._ended(process) from None
        if received.kind is Kind.PROBLEM:
            raise RelayedError(received.json())
        if received.kind is Kind.FAILED:
            logger.error("inferring what follows failed:\n%s", received.content.decode("utf-8", "replace"))
            raise ClosureFailed("an unexpected error while inferring; the server's log has more")
        contradictions: dict[str, list[str]] = received.json()
        if contradictions != self._contradictions:
            self._contradictions = contradictions
            for warning in self.warnings:
                logger.warning("%s", warning)

    def _started(self) -> tuple[ChildProcess, Connection]:
        if self._process is not None and self._process[0].alive:
            return self._process
        self._end_process()
        store = self._directory / "store"
        shutil.rmtree(store, ignore_errors=True)
        ours, theirs = socket.socketpair()
        with theirs:
            said = str(self._regime), json.dumps(self._schema), str(store), self._memory
            process = ChildProcess(_PROGRAM, "sparql-entailer", [theirs], *said)
        self._process = process, Connection(ours)
        # Also when whoever owns it has forgotten it, and at the end of the interpreter.
        self._end = weakref.finalize(self, only_here(_end), *self._process)
        return self._process

    def _end_process(self) -> None:
        self._process = None
        self._end()

    def _ended(self, process: ChildProcess) -> ProtocolError:
        how = process.how_it_ended(_END_SECONDS)
        exceeded = None
        if self._memory is not None:
            exceeded = ClosureTooLarge(
                f"what follows from the graphs under {self._regime} needs more than {size_text(self._memory)} of "
                "memory: ask with entailment=none, or, if you run this endpoint, allow more with --update-memory",
                extra={"limit": self._memory},
            )
        return ended_for_memory(process, _DOES, "ask again", exceeded) or ClosureFailed(
            f"the process that {_DOES} {how}: ask again"
        )


def _end(process: ChildProcess, connection: Connection) -> None:
    process.kill()
    process.wait()
    connection.close()
