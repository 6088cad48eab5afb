"""Evaluators that stay, whichever of Spark's workers asks: one for each part of a batch that is evaluated at once.

Spark gives a part of a batch to any worker that is idle. If each worker had an evaluator of its own, each of these
would have to keep what the others keep as well. So they belong to a process beside the workers, a fork of the same
daemon (``open_pool``), and the first part of every batch is evaluated where the first part of the last one was. Where
there is no such process, in a cluster whose daemons are Spark's own, the pool is the worker's (``pool``).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import Protocol

from protocol.processes.bounds import end_with_the_parent, name_process
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.process import EvaluatorProcess, ForkedEvaluator
from spark_backend.site import SiteChoice

_IDLE_SECONDS = 120.0
"""So long an evaluator stays that nobody asks."""
_MANY = 2.0**16


@dataclass(frozen=True)
class EvaluatorKind:
    """What tells evaluators apart: the data directory, what they are to evaluate, and what that may take.

    ``functions`` are the application's own (``PythonFunctions.to_json``).
    """

    root: str
    sites: SiteChoice
    lane: Lane
    budget: Budget
    functions: str = ""


Start = Callable[[EvaluatorKind], ForkedEvaluator]


class TakenEvaluator(Protocol):
    """An evaluator that is nobody else's until it is given back."""

    at_once: float
    """So many evaluations are one step at the most (``StepEvaluator``), as the last one who had it found."""

    @property
    def connection(self) -> Connection: ...

    def renew(self) -> int:
        """As ``ProcessEnd.renew``."""

    def give_back(self) -> None: ...


class Pool(Protocol):
    def take(self, kind: EvaluatorKind, place: int) -> TakenEvaluator:
        """An evaluator: the one that was at this place before, if nobody has it."""


@contextmanager
def evaluator(pool: Pool, kind: EvaluatorKind, place: int) -> Iterator[EvaluatorProcess]:
    """An evaluator of the pool, as long as the context lasts."""
    taken = pool.take(kind, place)
    process = EvaluatorProcess(taken, kind.lane, kind.budget, taken.at_once)
    try:
        yield process
    finally:
        taken.at_once = process.at_once
        taken.give_back()


class _Kept:
    """An evaluator of an ``EvaluatorPool``, taken or idle."""

    def __init__(self, forked: ForkedEvaluator, clock: Callable[[], float]) -> None:
        self.forked = forked
        self.taken = False
        self.idle_since = 0.0
        self.at_once = _MANY
        self._clock = clock

    @property
    def connection(self) -> Connection:
        return self.forked.connection

    def renew(self) -> int:
        return self.forked.renew()

    def give_back(self) -> None:
        self.taken, self.idle_since = False, self._clock()


class EvaluatorPool:
    """Evaluators that are children of this process. Not for use by several threads at once."""

    def __init__(self, start: Start, clock: Callable[[], float] = time.monotonic) -> None:
        self._start = start
        self._clock = clock
        self._kept: dict[tuple[EvaluatorKind, int], _Kept] = {}

    def take(self, kind: EvaluatorKind, place: int) -> _Kept:
        """See ``Pool``. Where another one has it, this is the first idle one, or a new one."""
        known = {number: kept for (of, number), kept in self._kept.items() if of == kind}
        if place in known and known[place].taken:
            place = next(number for number in range(len(known) + 1) if number not in known or not known[number].taken)
        kept = known.get(place)
        if kept is not None and kept.forked.ended:
            kept.renew()
        if kept is None:
            kept = self._kept[kind, place] = _Kept(self._start(kind), self._clock)
        kept.taken = True
        return kept

    def end_idle(self) -> None:
        """End those that nobody has asked for a while."""
        before = self._clock() - _IDLE_SECONDS
        for place, kept in list(self._kept.items()):
            if not kept.taken and kept.idle_since < before:
                del self._kept[place]
                kept.forked.end()

    def close(self) -> None:
        """End all of them."""
        while self._kept:
            self._kept.popitem()[1].forked.end()


_door: socket.socket | None = None
"""Where a worker knocks: it gives the pool's process one end of a line."""
_pool: Pool | None = None


def open_pool(start: Start, name: str) -> None:
    """Have the evaluators of all future forks of this process in one other fork of it, of that name (Linux)."""
    global _door
    if sys.platform != "linux":
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        try:
            end_with_the_parent()
            name_process(name)
            _serve(theirs, EvaluatorPool(start))
        finally:
            os._exit(1)
    theirs.close()
    _door = ours


def pool(start: Start) -> Pool:
    """The pool of this worker: ``open_pool``'s, if there is one, or its own, made with ``start``."""
    global _pool
    if _pool is None:
        _pool = EvaluatorPool(start) if _door is None else _Shared(_door, EvaluatorPool(start))
    return _pool


class _Shared:
    """The pool of another process, by a line to it; where that process has ended, this one's own."""

    def __init__(self, door: socket.socket, own: EvaluatorPool) -> None:
        self._door = door
        self._own = own
        self._line: Connection | None = None

    def take(self, kind: EvaluatorKind, place: int) -> TakenEvaluator:
        try:
            if self._line is None:
                self._line, theirs = Pipe()
                with theirs:
                    socket.send_fds(self._door, [b"\0"], [theirs.fileno()])
            return _Lent(self._line, kind, place)
        except (EOFError, OSError):
            self._line = None  # a line ends also where no process was to be had: the next one may be
            return self._own.take(kind, place)


class _Lent:
    """An evaluator of another process's pool. One at a time is taken by a line."""

    def __init__(self, line: Connection, kind: EvaluatorKind, place: int) -> None:
        self._line = line
        line.send(("take", kind, place))
        self.at_once: float = line.recv()
        self.connection = Connection(recv_handle(line))

    def renew(self) -> int:
        """Raises EOFError or OSError where the pool has ended, and its evaluators with it."""
        self.connection.close()
        self._line.send(("renew",))
        ended: int = self._line.recv()
        self.connection = Connection(recv_handle(self._line))
        return ended

    def give_back(self) -> None:
        self.connection.close()
        with contextlib.suppress(OSError):  # the pool has ended: whoever takes the next one will see that
            self._line.send(("give back", self.at_once))


def _serve(door: socket.socket, pool: EvaluatorPool) -> None:
    """The program of the pool's process: it answers workers one after another until the daemon has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines: dict[Connection, _Kept | None] = {}
    while True:
        for ready in wait([door, *lines], _IDLE_SECONDS / 4):
            if isinstance(ready, Connection):
                try:
                    lines[ready] = _answered(pool, ready, lines[ready])
                except (EOFError, OSError):
                    _hang_up(ready)
                    _end(lines.pop(ready))
            else:
                _, knocked, _, _ = socket.recv_fds(door, 1, 1)
                if not knocked:
                    return
                lines[Connection(knocked[0])] = None
        pool.end_idle()


def _answered(pool: EvaluatorPool, line: Connection, taken: _Kept | None) -> _Kept | None:
    """Answer a worker; returns what it has taken then. Raises EOFError or OSError where it has ended."""
    match line.recv():
        case "take", kind, place:
            _end(taken)
            taken = pool.take(kind, place)
            line.send(taken.at_once)
            send_handle(line, taken.connection.fileno(), None)
        case ("renew",) if taken is not None:
            line.send(taken.renew())
            send_handle(line, taken.connection.fileno(), None)
        case "give back", at_once if taken is not None:
            taken.at_once = at_once
            taken.give_back()
            taken = None
    return taken


def _hang_up(line: Connection) -> None:
    """Close a line for whoever has it: the evaluators do that were forked meanwhile."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(line.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)
    line.close()


def _end(taken: _Kept | None) -> None:
    """Have another one in place of an evaluator that was not given back: nobody knows what it is at."""
    if taken is not None:
        with contextlib.suppress(OSError):  # there is none then; whoever takes it next has it renewed
            taken.renew()
        taken.give_back()
