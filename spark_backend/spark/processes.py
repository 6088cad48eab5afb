"""The processes of a Spark that this server has started: the JVM, and all that is in its session (setsid)."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from spark_backend.spark.turns import answering

log = logging.getLogger(__name__)

DAEMON_MODULE = "spark_backend.spark.daemon"
"""The program that Spark's workers are forked from on this machine; those of a cluster have Spark's own."""
POOL_NAME = "evaluator-pool"
"""How the kernel shows the process among them that keeps the evaluators."""
_LOOK_SECONDS = 0.01
_TRACE = "-Dderby.system.home="
"""An option of the JVM that names its scratch directory: that it is ours can be seen in its command line."""


def trace_option(scratch: Path) -> str:
    """The option of Java by which the JVM over this scratch directory is found."""
    return f"{_TRACE}{scratch}"


def find_jvm(scratch: Path, among: list[psutil.Process] | None = None) -> psutil.Process | None:
    """The JVM that was started over a scratch directory; None if there is none ``among`` these, or on this machine.

    It is found from its first moment on, when it is the script yet that Java is started by: there the option is a word
    of another one.
    """
    option = trace_option(scratch)
    for process in _all_processes() if among is None else among:
        with contextlib.suppress(psutil.Error):
            if any(option == part or option in part.split() for part in process.cmdline()):
                return process
    return None


def in_session(leader: psutil.Process) -> list[psutil.Process]:
    """The processes of the session that a process leads or has led, itself included.

    Those whose parents have ended are found like all others, and the leader itself need not be there any more.
    """
    if psutil.pid_exists(leader.pid) and not leader.is_running():
        return []  # its number is another one's: nothing of its session is left
    found = []
    for process in _all_processes():
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == leader.pid:
                found.append(process)
    return found


def _all_processes() -> Iterator[psutil.Process]:
    """Those of this machine. ``psutil.process_iter`` remembers them, and takes one that has the number of another that
    has ended for that one.
    """
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):
            yield psutil.Process(pid)


class Pulse:
    """Asks somebody for a sign of life, again and again, in a thread of its own, which hangs where no answer comes."""

    def __init__(self, ask: Callable[[], object], pause: float = 0.5) -> None:
        """``ask`` returns with the answer, and raises when there will be none any more: then that was all."""
        self.signs = 0
        self._ask = ask
        self._pause = pause
        threading.Thread(target=self._run, name="spark-pulse", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self._ask()
            except Exception:
                return
            self.signs += 1
            time.sleep(self._pause)


@dataclass(frozen=True)
class SparkProcess:
    """One of Spark's processes, as ``watchdog.Watched``.

    ``pulse``: that of the JVM, once it answers. ``turns``: where the source of instants says that it is answering.
    """

    process: psutil.Process
    leader: psutil.Process
    pulse: Pulse | None = None
    turns: Path | None = None

    @property
    def name(self) -> str:
        return f"{_role(self.process)} (process {self.process.pid})"

    @property
    def frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP), which none of ours does by itself."""
        try:
            return bool(self.process.status() == psutil.STATUS_STOPPED)
        except psutil.Error:
            return False

    @property
    def signs(self) -> int | None:
        if self.process == self.leader:
            return None if self.pulse is None else self.pulse.signs
        return None if self.turns is None else answering(self.turns, self.process.pid)

    def kill(self) -> None:
        """End it, and with the JVM all that it has started."""
        kill(in_session(self.leader) if self.process == self.leader else [self.process])


def _role(process: psutil.Process) -> str:
    """What a process of Spark's is, for a person."""
    with contextlib.suppress(OSError, psutil.Error):
        command = process.cmdline()
        if any(part.startswith(_TRACE) for part in command):
            return "Spark's JVM"
        if "pyspark.sql.streaming.python_streaming_source_runner" in command:
            return "the source of instants"
        if "pyspark.daemon" in command or DAEMON_MODULE in command:
            # It leads the process group of its workers and of the evaluators' pool, which its children are.
            group, parent = os.getpgid(process.pid), process.ppid()
            if group == process.pid:
                return "Spark's daemon of workers"
            if parent != group and os.getpgid(parent) == group:
                return "an evaluator"
            return "the pool of evaluators" if process.name() == POOL_NAME else "a worker of Spark's"
    return "a process of Spark's"


def kill(processes: list[psutil.Process], *, within: float = 2.0) -> None:
    """End processes at once, frozen ones too, and wait a little for that.

    How a child has ended is left to be asked by who has started it: pyspark, that waits for the JVM while it starts,
    waits for ever if somebody else has asked.
    """
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + within
    while not all(map(_has_ended, processes)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def end_left_over(scratch: Path) -> None:
    """End the Spark of a server that was killed, if it is still there: frozen, it did not see that server's end.

    Woken later, it would write to the same checkpoint.
    """
    jvm = find_jvm(scratch)
    if jvm is not None:
        log.warning("a Spark that another server has left behind is ended: process %d", jvm.pid)
        kill(in_session(jvm))
