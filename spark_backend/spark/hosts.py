"""The worker hosts of a cluster: what each has to have, who lacks what, and how many cores they are.

A host may lack everything but Python and Spark, so this imports nothing that is not Python's own or Spark's.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from protocol.errors import Unavailable
from protocol.processes.durable_files import Content, write_atomically
from spark_backend.layout import Layout

log = logging.getLogger(__name__)

PACKAGES = ("duckdb", "numpy", "pandas", "psutil", "pyarrow", "pyoxigraph", "sqlglot")
"""What tasks import that is not ours. Answers are to be the same wherever they are computed: so are the versions."""

LATE = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"})
"""File systems on which a host's memory maps and open files may be behind what another host wrote (close-to-open)."""

Task = Callable[..., Iterator[Any]]
"""What a worker of Spark's runs."""

_LOOK, _ASK_AGAIN, _ASK_FIT = 1.0, 10.0, 60.0
"""Seconds until it is looked whether there are other hosts, until those that are new or were not fit are asked once
more, and until those that were fit are: what is mounted may go."""


@dataclass(frozen=True)
class HostRequirements:
    """What a host has to have.

    ``data``: the data directory. ``root``: the same directory by a link in it that one start of a server has made: a
    host where ``data`` is another directory, or a copy, does not have it. ``packages``: names and versions.
    """

    data: str
    root: str
    packages: tuple[tuple[str, str], ...]

    @classmethod
    def publish(cls, layout: Layout) -> HostRequirements:
        """Those of this process and a data directory, where what earlier starts have left goes. Raises OSError."""
        for old in layout.spark.glob("shared-*"):
            old.unlink()
        link = layout.spark / f"shared-{uuid.uuid4().hex}"
        link.symlink_to("..", target_is_directory=True)
        return cls(str(layout.root), str(link), tuple((name, metadata.version(name)) for name in PACKAGES))

    def withdraw(self) -> None:
        """Let no task begin that is still on its way."""
        Path(self.root).unlink(missing_ok=True)

    def problem(self) -> str | None:
        """What this host lacks, as a sentence; None if it is fit. Cheap, once it was: each task asks."""
        host = f"the worker host {socket.gethostname()}"
        if not os.path.isdir(self.root):
            return f"{host} does not see the server's data directory {self.data}: mount it there, at the same path"
        if self in _fit:
            return None
        kind = file_system(self.root)
        if kind in LATE:
            return (
                f"{host} has the server's data directory {self.data} on {kind}, which shows what another host wrote "
                "late, and evaluations would miss it: use a file system that shows it at once"
            )
        wrong = [said for name, version in self.packages if (said := _difference(name, version)) is not None]
        if wrong:
            return f"{host} has other packages than the server ({'; '.join(wrong)}): install there what the server has"
        _fit.add(self)
        return None


_fit: set[HostRequirements] = set()
"""Those that this process is known to meet: packages and file systems do not change under it."""


def file_system(path: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The kind of file system that a path is on, as Linux calls it; None where there is no such list."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return None
    path, found = os.path.realpath(path), ("", "")
    for line in lines:
        of_mount, _, of_system = line.partition(" - ")
        # Spaces and the like are written as octal numbers.
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), of_mount.split(" ")[4])
        # The last of those at one point is the one that is seen.
        if os.path.commonpath([point, path]) == point and len(point) >= len(found[0]):
            found = (point, of_system.split(" ")[0])
    return found[1] or None


def _difference(name: str, version: str) -> str | None:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"no {name}, which has to be {version}"
    return None if found == version else f"{name} {found}, which has to be {version}"


def on_fit_hosts(requirements: HostRequirements, task: Task) -> Task:
    """The task, which fails on a host that is not fit before it has read anything: Spark runs it on another one."""
    return partial(_on_fit_host, requirements, task)


def _on_fit_host(requirements: HostRequirements, task: Task, *given: Any) -> Iterator[Any]:
    problem = requirements.problem()
    if problem is not None:
        raise Unavailable(problem)
    yield from task(*given)


def _tell(requirements: HostRequirements, _: Iterable[int]) -> Iterator[str | None]:
    yield requirements.problem()


class WorkerHosts:
    """Looks every second, in a thread of its own, what hosts a cluster has given, and asks them whether they are fit.

    ``said`` is what is wrong with them, for a person; None if nothing is.
    """

    def __init__(
        self,
        master: str,
        session: Any,
        requirements: HostRequirements,
        layout: Layout,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._master = master
        self._context = session.sparkContext
        self._requirements = requirements
        self._layout = layout
        self._fit = threading.Event()
        self._closing = threading.Event()
        self._clock = clock
        self._asked, self._asked_at, self._unsure = "", 0.0, False
        self._asking: threading.Thread | None = None
        self._saying = threading.Lock()
        self._untold: str | None = None
        """Why the last look saw nothing; None where it saw what hosts there are."""
        self.said: str | None = f"{master} has given no worker hosts yet"

    @property
    def fit(self) -> bool:
        """Whether there is one on which evaluations can run."""
        return self._fit.is_set()

    def start(self) -> None:
        threading.Thread(target=self._run, name="worker-hosts", daemon=True).start()

    def wait(self, stopping: threading.Event) -> None:
        """Wait until there is one on which evaluations can run, or whoever waits is stopping.

        Raises Unavailable where Spark cannot tell what hosts there are: it may have ended, and no other is started
        before nobody waits.
        """
        while not (stopping.is_set() or self._fit.wait(_LOOK)):
            if self._untold is not None:
                raise Unavailable(f"Spark does not tell what worker hosts there are: {self._untold}")

    def close(self) -> None:
        """Look no more, and let no task begin any more."""
        self._closing.set()
        self._requirements.withdraw()

    def look(self) -> None:
        """Look whether there are any, and have those asked that there are now, or where something was wrong."""
        memory = self._context._jsc.sc().getExecutorMemoryStatus()
        # The driver has an entry of its own.
        if memory.size() == 1:
            with self._saying:
                self._asked = ""
                self._say(f"{self._master} gives no worker hosts: evaluations wait for one", fit=False)
            return
        executors, now = memory.keySet().mkString(" "), self._clock()
        if self._asking is not None and self._asking.is_alive():
            return  # for as long as none of them has a place, or those that were asked have gone
        # Spark knows an executor a moment before it gives it tasks, and one that is busy is given none: where hosts are
        # new, or were not fit, two jobs have to find nothing wrong.
        unsure = executors != self._asked or self.said is not None
        again = _ASK_AGAIN if self._unsure or unsure else _ASK_FIT
        if executors != self._asked or now - self._asked_at > again:
            self._asked, self._asked_at, self._unsure = executors, now, unsure
            self._asking = threading.Thread(target=self._ask, args=(executors,), name="worker-hosts-asked", daemon=True)
            self._asking.start()

    def _ask(self, executors: str) -> None:
        cores = self._context.defaultParallelism
        write_cores(self._layout, cores)
        try:
            # More tasks than there are places for: each host gets some.
            asked = self._context.parallelize(range(2 * cores), 2 * cores)
            told = sorted(set(asked.mapPartitions(partial(_tell, self._requirements)).collect()), key=str)
        except Exception as error:
            # What comes from Java says first where it was called, and brings its own words along.
            java = getattr(error, "java_exception", None)
            reason = str(error if java is None else java.getMessage()).partition("\n")[0]
            told = [f"the worker hosts of {self._master} cannot run a task: {reason}"]
        with self._saying:
            if self._asked == executors:  # else all have gone since, and what they told with them
                self._say("; ".join(said for said in told if said is not None) or None, fit=None in told)

    def _say(self, said: str | None, *, fit: bool) -> None:
        if self._closing.is_set():
            return
        if said is not None and said != self.said:
            log.error("%s", said)
        self.said = said
        if fit:
            self._fit.set()
        else:
            self._fit.clear()

    def _run(self) -> None:
        while not self._closing.wait(_LOOK):
            try:
                self.look()
                self._untold = None
            except Exception as error:
                self._untold = str(error).partition("\n")[0] or type(error).__name__
                if not self._closing.is_set():
                    log.exception("the worker hosts could not be looked at")


def write_cores(layout: Layout, cores: int) -> None:
    """Let whoever plans evaluations know how many can run at once."""
    write_atomically(Content(layout.cores, json.dumps(cores)))


def read_cores(layout: Layout) -> int:
    """How many evaluations can run at once, as it was written last."""
    return max(1, int(json.loads(layout.cores.read_text())))
