"""The Spark settings of a session, as a pure function of the master and the directories.

Numbers are from micro-batches of one row, read in Python and answered by ``mapInArrow``, on two busy cores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from spark_backend.spark.processes import DAEMON_MODULE, trace_option

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1}: %m%n%ex
"""
"""Errors only; Spark's own default writes warnings nobody can act on to the terminal at every start."""

_ATTEMPTS = 4
"""How often a task is tried: Spark's own default of a cluster's."""

_OTHER_SLOTS = 6
"""Tasks beside those of the common lane and of Spark SQL, each of which has as many as there are cores: none waits for
another one's to end."""

_LONGEST_SOCKET_DIRECTORY = 61
"""Bytes: with more than that Spark refuses a directory for its Unix sockets, whose names the kernel bounds."""

_LOCAL = re.compile(r"local(?:\[(?P<cores>\d+|\*)(?:,\s*\d+)?\])?\Z")
_QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


def spark_settings(master: str, scratch: Path, logging_file: Path, java_options: Sequence[str] = ()) -> dict[str, str]:
    """The settings to launch Spark with; ``scratch`` takes everything that need not survive the process;
    ``java_options`` are further ones of the driver's.
    """
    cores = local_cores(master)
    settings = {
        # A task whose worker has ended is run again at once; without that, Spark's local master fails the whole query.
        "spark.master": master if cores is None else f"local[{2 * cores + _OTHER_SLOTS},{_ATTEMPTS}]",
        "spark.app.name": "sparql-streams",
        "spark.submit.deployMode": "client",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.local.dir": str(scratch / "local"),
        # No more than it needs: only an evaluation by Spark SQL takes more than a few hundred MB.
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": _java_options(scratch, logging_file, java_options),
        "spark.python.worker.reuse": "true",
        # A query that was deleted is evaluated no more a moment later.
        "spark.python.task.killTimeout": "100ms",
        "spark.scheduler.mode": "FAIR",
        "spark.locality.wait": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        # No page and no bar of Spark's own; and what they would show is not kept for days on end.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "10",
        "spark.ui.retainedStages": "10",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.sql.streaming.ui.enabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "10",
        "spark.sql.streaming.metricsEnabled": "false",
        # A micro-batch only where an instant is due, noticed at once.
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.sql.streaming.minBatchesToRetain": "10",
        **_QUICK_CHECKPOINTS,
    }
    if cores is None:
        return settings | _CLUSTER
    return settings | {
        # On a cluster, the daemon runs before our code is there.
        "spark.python.daemon.module": DAEMON_MODULE,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.default.parallelism": str(cores),
        "spark.sql.shuffle.partitions": str(cores),
        **_unix_sockets(scratch),
    }


_QUICK_CHECKPOINTS = {
    # On a cluster too: the data directory is a directory of this machine's, whatever file system it is on.
    # Hadoop's checksummed local file system writes each file twice (the other is .crc) and forks
    # `chmod` for both, here 40 to 60 ms for each of the two checkpoint files of a micro-batch; the raw one
    # through FileSystem.create forks nothing (4 to 16 ms). Files still appear by an atomic rename; one
    # query has one writer, so nothing needs the FileContext's refusal to overwrite.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def _unix_sockets(scratch: Path) -> dict[str, str]:
    """Have Spark talk to its Python processes by Unix sockets, in a directory that is nobody else's.

    Over TCP its small messages wait for each other's acknowledgement: 40 ms of each micro-batch.
    """
    if len(os.fsencode(scratch)) > _LONGEST_SOCKET_DIRECTORY:
        return {}
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": str(scratch)}


_CLUSTER = {
    "spark.executor.extraJavaOptions": " ".join(_QUICK_JVM),
    # A task that failed is run again on another executor: a host that is not fit fails at once and would take it again.
    # No executor is left alone for what it failed in an earlier batch, so that what was mended there is noticed.
    "spark.excludeOnFailure.taskAndStage.enabled": "true",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": str(_ATTEMPTS - 1),
    "spark.excludeOnFailure.stage.maxFailedExecutorsPerNode": "1000",
    # Executors end and others come for as long as the server runs: ten of them are no reason to end it.
    "spark.deploy.maxExecutorRetries": "-1",
    # A host that is gone without a word holds up what it was given for so long.
    "spark.network.timeout": "60s",
}


def local_cores(master: str) -> int | None:
    """The cores of a ``local``, ``local[N]`` or ``local[*]`` master; None for a cluster's."""
    match = _LOCAL.match(master.strip())
    if match is None:
        return None
    cores = match["cores"] or "1"
    return _own_cores() if cores == "*" else max(1, int(cores))


def launcher_options() -> str:
    """Java options of the short-lived process in which spark-submit puts the real command line together."""
    return " ".join(_QUICK_JVM)


def _own_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _java_options(scratch: Path, logging_file: Path, more: Sequence[str]) -> str:
    # Evaluation runs in the workers' DuckDB, so Java needs no second compiler to compete with them for
    # the cores: with the first one alone, a start took 4.6 s instead of 7.2 s and a micro-batch 134 ms
    # instead of 173 ms (single runs of 14 s). What it costs a long Spark SQL job is not measured.
    options = [
        *_QUICK_JVM,
        f"-Dlog4j2.configurationFile={logging_file.as_uri()}",
        trace_option(scratch),
        *more,
    ]
    return " ".join(f'"{option}"' if " " in option else option for option in options)
