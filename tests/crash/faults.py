"""The processes of a running server by what they are, and what may happen to one of them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil

from spark_backend.spark.processes import DAEMON_MODULE

KINDS = ("server", "jvm", "source", "daemon", "worker", "evaluator", "template", "reader", "writer")
"""What is hit, in each round one of them."""


@dataclass(frozen=True)
class Fault:
    """One process of a kind is killed, or stopped; a stopped one wakes after ``wakes`` seconds, or never (None).

    ``first``: a process of this kind is stopped before, for good.
    """

    kind: str
    signal: signal.Signals
    wakes: float | None = None
    first: str | None = None

    def __str__(self) -> str:
        if self.signal is signal.SIGKILL:
            return f"{self.kind} killed" + ("" if self.first is None else f" while the {self.first} is frozen")
        return f"{self.kind} frozen" + ("" if self.wakes is None else f", wakes after {self.wakes:.1f} s")


def faults(chance: random.Random, frozen_after: float, kinds: Sequence[str] = KINDS) -> Iterator[Fault]:
    """Faults without end: the kinds in an order of their own each time, all as often as any other."""
    while True:
        for kind in chance.sample(kinds, len(kinds)):
            how = chance.choice(("kill", "freeze", "wake"))
            wakes = round(chance.uniform(0.2, 2) * frozen_after, 1)
            if how == "kill" and kind == "server":
                # What is frozen does not see the end of its server.
                yield Fault(kind, signal.SIGKILL, first=chance.choice((None, "jvm")))
            elif how == "kill":
                yield Fault(kind, signal.SIGKILL)
            # Nobody but who started it could end a server that is frozen, and a template is missed only when the next
            # process is due: they always wake.
            elif how == "wake" or kind in ("server", "template"):
                yield Fault(kind, signal.SIGSTOP, wakes)
            else:
                yield Fault(kind, signal.SIGSTOP)


def processes(server: int) -> dict[psutil.Process, str]:
    """The server's process and all that it has started, directly or not, and the kind of each; "other" is not hit."""
    children = psutil.Process(server).children(recursive=True)
    sessions = {_session(one.pid) for one in children} - {_session(server)}
    # Workers whose daemon has ended are nobody's children.
    of_spark = []
    for pid in psutil.pids():
        if _session(pid) in sessions - {None}:
            with contextlib.suppress(psutil.NoSuchProcess):  # ended since it was listed
                of_spark.append(psutil.Process(pid))
    return {psutil.Process(server): "server"} | {one: _kind(one) for one in {*children, *of_spark}}


def _session(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return None


def _kind(process: psutil.Process) -> str:
    try:
        name, command = process.name(), " ".join(process.cmdline())
        group, parent = os.getpgid(process.pid), process.ppid()
        leads, child_of_worker = group == process.pid, parent != group and os.getpgid(parent) == group
    except (OSError, psutil.Error):
        return "other"
    if name.startswith("sparql-"):
        return str(name.removeprefix("sparql-"))
    if "org.apache.spark.deploy.SparkSubmit" in command:
        return "jvm" if leads else "other"  # what it starts has its command for a moment
    if "python_streaming_source_runner" in command:
        return "source"
    if command.endswith(f"{DAEMON_MODULE} pyspark.worker"):
        return "daemon" if leads else "evaluator" if child_of_worker else "worker"
    return "other"
