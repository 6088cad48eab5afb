"""Spark's own cluster on this machine: a master and workers of the installed pyspark, as child processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import psutil
import pyspark

from spark_backend.spark.launch.java import find_java
from tests.server.server_process import ServerProcess

_SPARK_HOME = Path(pyspark.__file__).resolve().parent
_PATIENCE = 300.0
_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"


class ClusterProcess:
    """The master or a worker, which logs to a file; its executors are its children."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match in what it has logged."""
        deadline = time.monotonic() + _PATIENCE
        while (found := re.search(pattern, self.log.read_text(errors="replace"))) is None:
            assert self._process.poll() is None, self.log.read_text(errors="replace")
            assert time.monotonic() < deadline, f"{self.log.name} does not say {pattern!r}"
            time.sleep(0.05)
        return found

    def executors(self) -> list[psutil.Process]:
        """The Java processes of its executors."""
        children = psutil.Process(self._process.pid).children(recursive=True)
        return [child for child in children if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())]

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it with all that it started, at once (SIGKILL: as a host that fails)."""
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._process.pid)
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
        self._process.wait(_PATIENCE)


class StandaloneCluster:
    """A master on a free port, and the workers that ``add_worker`` starts; ``with`` it.

    The workers know nothing of the checkout: what tasks import comes with the server, or is installed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.workers: list[ClusterProcess] = []
        self._started = 0
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._environment = environment | {
            "JAVA_HOME": str(find_java(directory).home),
            "SPARK_HOME": str(_SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        }

    def __enter__(self) -> StandaloneCluster:
        self._master = self._start("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._master.wait_for(_MASTER_URL.pattern)[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.workers, self._master]:
            process.end()

    def add_worker(self, *, cores: int = 1, before: Sequence[str] = ()) -> ClusterProcess:
        """Start a worker and wait until the master knows it. ``before``: a command that starts the worker's."""
        directory = self._directory / f"worker{self._started}"
        options = ("--cores", str(cores), "--memory", "1g", "--webui-port", "0", "--work-dir", str(directory))
        worker = self._start("worker.Worker", *options, self.url, before=before)
        self.workers.append(worker)
        worker.wait_for(_REGISTERED)
        return worker

    def end_worker(self, worker: ClusterProcess) -> None:
        """End a worker and its executors as if its host failed."""
        worker.end()
        self.workers.remove(worker)

    def end_master(self) -> None:
        """End the master: nobody joins any more."""
        self._master.end()

    def _start(self, name: str, *options: str, before: Sequence[str] = ()) -> ClusterProcess:
        log = self._directory / f"{name}{self._started}.log"
        self._started += 1
        command = [*before, str(_SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
        return ClusterProcess(command, self._environment, log)


def server_on(cluster: StandaloneCluster, data: Path, **settings: str) -> ServerProcess:
    """A server over a data directory, whose Spark is the cluster. ``settings``: variables that it has besides."""
    configuration = data.with_name(data.name + "-spark")
    configuration.mkdir(exist_ok=True)
    (configuration / "spark-defaults.conf").write_text("spark.executor.memory 512m\nspark.driver.host 127.0.0.1\n")
    environment = {"SPARQL_STREAMS_SPARK_MASTER": cluster.url, "SPARK_CONF_DIR": str(configuration), **settings}
    return ServerProcess(data, environment=environment)
