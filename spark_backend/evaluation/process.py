"""An evaluator in a process of its own, which is ended where an evaluation takes more than its budget.

DuckDB can be interrupted, a call of the prelude into Oxigraph cannot, and neither gives back all of its memory; a
process can be ended whatever it does. It is forked, so that another is there in some 0.1 s: what is lost are caches.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeVar

from protocol.processes.bounds import (
    be_first_killed_for_memory,
    bound_memory,
    bound_processor_time,
    end_with_the_parent,
)
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.spill import remove_orphaned_spill, spill_of
from spark_backend.evaluation.step import Due, EvaluationError, MeasuredStatement, OutOfMemory, Planned, Step, Stopped
from spark_backend.layout import Layout

T = TypeVar("T")

_GRACE_SECONDS = 10.0
_PLANNING_SECONDS = 20.0
_SHARED_SECONDS = 1.0
_TOGETHER = 4
"""In the common lane several evaluations may take so many times as long as one."""
_BUSY = 4
"""In the common lane time is the processor's: on a busy machine it may take so many times as long, and no longer."""
_NICE = 10
_PROCESS_MEMORY = 2**28
"""Bytes of a process beside its budget: what it has when it starts, and does not touch."""


class ProcessEnd(Protocol):
    """A process that makes evaluations, for whoever has it to talk to."""

    @property
    def connection(self) -> Connection: ...

    def renew(self) -> int:
        """End the process, whatever it is doing, and have another in its place; ``connection`` is that one's then.

        Returns the exit code of the one that ended: less than zero if a signal has ended it, that of SIGSTOP if it had
        been stopped by that.
        """


class _StoodStill(Stopped):
    """Somebody has stopped the process (SIGSTOP): that is no fault of the evaluation."""


class EvaluatorProcess:
    """Makes evaluations as an ``Evaluator`` does, each within a budget. Not for use by several threads at once."""

    def __init__(self, process: ProcessEnd, lane: Lane, budget: Budget, at_once: float = 2.0**16) -> None:
        self.at_once = at_once
        self._process = process
        self._lane = lane
        self._budget = budget
        self._is_new = False
        """Whether nothing else was evaluated in the process."""

    def refresh(self) -> None:
        """See what has been appended to the logs since."""
        self._ask(_PLANNING_SECONDS, "refresh")

    def plan(self, due: Sequence[Due]) -> Planned:
        planned: Planned = self._of_another_if_still(lambda: self._ask(_PLANNING_SECONDS, "plan", list(due)))
        return planned

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        try:
            answers = self._of_another_if_still(lambda: self._run(step))
        except OutOfMemory:
            if self._is_new:
                raise
            # What is kept of other evaluations may be what was too much.
            self._process.renew()
            self._is_new = True
            answers = self._run(step)
        self._is_new = False
        return answers

    def operators(self, due: Due) -> MeasuredStatement:
        seconds = self._budget.seconds
        measured: MeasuredStatement = self._of_another_if_still(lambda: self._ask(seconds, "operators", due))
        return measured

    def _of_another_if_still(self, ask: Callable[[], T]) -> T:
        """What is asked, once more where the process stood still, in whose place there is another by then."""
        try:
            return ask()
        except _StoodStill:
            return ask()

    def _run(self, step: Step) -> list[tuple[str, Answer]]:
        seconds = self._budget.seconds
        if self._lane is Lane.COMMON:
            # What others read as well is not put down to this one.
            self._ask(_SHARED_SECONDS, "prepare", step)
            seconds *= min(step.size, _TOGETHER)
        else:
            began = time.monotonic()
            self._ask(seconds, "prepare", step)
            seconds = max(0.0, seconds - (time.monotonic() - began))
        answers: list[tuple[str, Answer]] = self._ask(seconds, "answers", step)
        return answers

    def _ask(self, seconds: float, method: str, *arguments: object) -> Any:
        connection = self._process.connection
        try:
            # In the common lane time is the process's own, and the kernel ends it then: others wait.
            processor = seconds if self._lane is Lane.COMMON else seconds + _GRACE_SECONDS
            connection.send((processor, method, arguments))
            there = connection.poll(seconds * _BUSY if self._lane is Lane.COMMON else seconds)
            answer = connection.recv() if there else Stopped(self._out_of_time)
        except (EOFError, ConnectionError):
            ended = self._process.renew()
            if ended == -signal.SIGPROF:
                raise Stopped(self._out_of_time) from None
            how = signal.Signals(-ended).name if ended < 0 else f"code {ended}"
            raise OutOfMemory(
                f"its process ended ({how}): it needs more memory than its budget of {self._budget.memory} bytes, "
                "or is nested too deeply"
            ) from None
        except BaseException:
            # Whoever asked was interrupted: there is an answer on its way that nobody waits for.
            self._process.renew()
            raise
        if not there and self._process.renew() == -signal.SIGSTOP:
            answer = _StoodStill(self._out_of_time)
        if isinstance(answer, EvaluationError):
            raise answer
        return answer

    @property
    def _out_of_time(self) -> str:
        return f"it was stopped after {self._budget.seconds:g} s, the time that one evaluation has"


class ForkedEvaluator:
    """A process of ours that makes evaluations; ``make(spill)`` makes its ``Evaluator``, there."""

    def __init__(self, layout: Layout, lane: Lane, budget: Budget, make: Callable[[Path], Evaluator]) -> None:
        self.connection: Connection
        self._process: Any = None
        self._layout = layout
        self._lane = lane
        self._budget = budget
        self._make = make
        self._start()

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def ended(self) -> bool:
        """Whether the process has ended by itself, or could not be renewed."""
        return self._process is None or not self._process.is_alive()

    def renew(self) -> int:
        """As ``ProcessEnd.renew``. Raises OSError where no process is to be had: then there is none until there is."""
        still = self._stands_still
        ended = self.end()
        self._start()
        return -signal.SIGSTOP if still else ended

    @property
    def _stands_still(self) -> bool:
        """Whether the process is stopped, which it never does by itself."""
        import psutil  # seldom needed, where processes are to be there at once

        with suppress(psutil.Error):
            return self._process is not None and psutil.Process(self.pid).status() == psutil.STATUS_STOPPED
        return False

    def end(self) -> int:
        """End the process, whatever it is doing, and remove what it has spilt. Returns its exit code; 0 if there is
        none.
        """
        if self._process is None:
            return 0
        self._process.kill()
        self._process.join()
        ended = int(self._process.exitcode)
        self._process.close()
        self._process = None
        self.connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)
        return ended

    def _start(self) -> None:
        remove_orphaned_spill(self._layout)
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        context: Any = multiprocessing.get_context(method)
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self.connection, self._layout, self._lane, self._budget, self._make)
        process = context.Process(target=_serve, args=arguments, name="evaluator", daemon=True)
        # Not even by chance is garbage of this process collected in the other one, where its threads are not.
        collects = gc.isenabled()
        gc.disable()
        try:
            process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
            if collects:
                gc.enable()
        self._process = process
        self._spill = spill_of(self._layout, self._process.pid)


def _serve(
    connection: Connection,
    theirs: Connection,
    layout: Layout,
    lane: Lane,
    budget: Budget,
    make: Callable[[Path], Evaluator],
) -> None:
    """The program of the process: answers one question after another until nobody is there to ask."""
    gc.freeze()
    gc.enable()
    theirs.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_the_parent()
    be_first_killed_for_memory()
    if lane is Lane.OWN:
        os.nice(_NICE)
    evaluator = make(spill_of(layout, os.getpid()))
    bound_memory(budget.memory + _PROCESS_MEMORY)
    while True:
        try:
            processor_seconds, method, arguments = connection.recv()
        except EOFError:
            return
        bound_processor_time(processor_seconds if processor_seconds < 1e6 else 0)
        try:
            answer = getattr(evaluator, method)(*arguments)
        except EvaluationError as error:
            answer = error
        bound_processor_time(0)
        try:
            connection.send(answer)
        except MemoryError:
            connection.send(Stopped(f"its answer needs more memory than its budget of {budget.memory} bytes"))
