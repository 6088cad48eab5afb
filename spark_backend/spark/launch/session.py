"""The Spark session of this process: started for low micro-batch latency, stopped with nothing left running.

Spark allows one context a process, so endpoints in one process share it: each gets a session of its
own (its streaming queries, data sources and SQL settings), and the last one to stop ends Spark.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyspark
from py4j.protocol import Py4JError
from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from protocol.errors import Unavailable
from spark_backend.spark.launch.class_archive import is_of_packages, shared_archive, spark_classes
from spark_backend.spark.launch.java import JavaRuntime, find_java
from spark_backend.spark.launch.settings import LOG4J, launcher_options, local_cores, spark_settings
from spark_backend.spark.launch.shipped_code import write_code
from spark_backend.spark.launch.user import home_options, name_user
from spark_backend.spark.processes import Pulse, SparkProcess, end_left_over, find_jvm, in_session, kill

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
"""How long Spark gets to stop by itself before its processes are killed."""

END_SECONDS = 3.0
"""How long its processes get to end then."""


@dataclass
class _RunningSession:
    master: str
    scratch: Path
    gateway: Any
    first: SparkSession
    jvm: psutil.Process
    pulse: Pulse
    sessions: list[SparkSession] = field(default_factory=list)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = self.gateway.proc
        return process


_lock = threading.RLock()
_running: _RunningSession | None = None


def spark_processes(directory: Path, turns: Path) -> list[SparkProcess]:
    """Every process of the Spark that runs or is being started over ``directory``, dead ones' children too.

    ``turns`` is the file of the source's.
    """
    running = _running
    if running is not None:
        return [SparkProcess(one, running.jvm, running.pulse, turns) for one in in_session(running.jvm)]
    # While it starts, nobody has told its number yet.
    jvm = find_jvm(_scratch(directory), psutil.Process().children())
    return [] if jvm is None else [SparkProcess(one, jvm, turns=turns) for one in in_session(jvm)]


def is_alive(session: SparkSession) -> bool:
    """Whether the Spark of this session is there."""
    running = _running
    return running is not None and any(one is session for one in running.sessions) and running.process.poll() is None


def responds(session: SparkSession) -> bool:
    """Whether the Spark of this session is there, and does what it is asked.

    Of a Java that has just been killed the connections are closed a moment before its process is seen to have ended.
    """
    if not is_alive(session):
        return False
    java: Any = session.sparkContext._jvm
    try:
        java.System.nanoTime()
    except (Py4JError, OSError):  # Py4J lets through that a new connection is refused.
        return False
    return True


def start_session(*, master: str, directory: Path, recorded: Path | None = None) -> SparkSession:
    """A Spark session on ``master``, its scratch, warehouse and log (``spark.log``) inside ``directory``.

    Takes seconds, may be called from any thread, and leaves the signal handlers of the process alone.
    Raises Unavailable, with the end of Spark's log, if there is no Java or Spark does not start, and
    if the process already runs a Spark context that is not ours or is on another master. With a
    context of ours running, the session shares it (and its ``directory``). ``recorded``: where an archive of its
    classes is to be written when it ends (``class_archive``).
    """
    global _running
    with _lock:
        if _running is not None and _running.process.poll() is not None:
            log.error("Spark ended by itself (exit code %s): starting it again", _running.process.returncode)
            _forget(_running)
        if _running is None:
            _running = _start(master, directory.resolve(), recorded)
            session = _running.first
        elif _running.master != master:
            raise Unavailable(f"this process already runs Spark on {_running.master!r}, not on {master!r}")
        else:
            session = _running.first.newSession()
        _running.sessions.append(session)
        return session


def stop_session(session: SparkSession, *, patience: float = STOP_SECONDS, ending: float = END_SECONDS) -> None:
    """Stop the session's streaming queries; with the last session, Spark and every process it started.

    Returns within about ``patience`` + ``ending`` + 2 seconds whatever state Spark is in: what has not stopped, or
    ended, by then is killed. A session that is not running (any more) is left as it is.
    """
    with _lock:
        running = _running
        if running is None or not any(one is session for one in running.sessions):
            return
        running.sessions = [one for one in running.sessions if one is not session]
        last = not running.sessions
        stopping = threading.Thread(target=_stop_gently, args=(running, session, last), name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(patience)
        if last:
            if stopping.is_alive():
                log.warning("Spark did not stop within %g s: killing it", patience)
            _end_processes(running, grace=0.0 if stopping.is_alive() else ending)
            _forget(running)


class _JavaEnded(Unavailable):
    """Java has ended before Spark was there to be asked."""


def _start(master: str, directory: Path, recorded: Path | None) -> _RunningSession:
    java = find_java(directory)
    archive = shared_archive(java) if recorded is None else None
    try:
        return _launch(master, directory, java, archive, recorded)
    except _JavaEnded:
        if archive is None:
            raise
    # It may be damaged, which Java does not look for.
    running = _launch(master, directory, java)
    log.warning("Java started only without the archive of Spark's classes, %s, which is removed", archive)
    with contextlib.suppress(OSError):
        archive.unlink()
    return running


def _launch(
    master: str, directory: Path, java: JavaRuntime, archive: Path | None = None, recorded: Path | None = None
) -> _RunningSession:
    if SparkContext._active_spark_context is not None or SparkContext._gateway is not None:
        raise Unavailable("this process already runs a Spark session of its own: stop it first")
    scratch = _scratch(directory)
    end_left_over(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True, mode=0o700)
    classes = spark_classes(scratch, archive, recorded)
    logging_file = scratch / "log4j2.properties"
    logging_file.write_text(LOG4J, encoding="utf-8")
    spark_log = directory / "spark.log"
    began = time.monotonic()
    conf = SparkConf(loadDefaults=False)
    options = (*classes.options, *home_options())
    conf.setAll(list(spark_settings(master, scratch, logging_file, options).items()))
    with _environment(java, master, classes.home), _signal_handlers_kept(), spark_log.open("wb") as output:
        gateway: Any = None
        try:
            # A session (process group) of its own: Ctrl-C in the terminal reaches us, and only us, so
            # that we end Spark in order. Were we killed, it would end when its standard input closes.
            processes = {"stdout": output, "stderr": output, "start_new_session": True}
            gateway = launch_gateway(conf, processes)  # type: ignore[no-untyped-call]
            name_user(gateway.jvm)
            context = SparkContext(conf=conf, gateway=gateway)
            if local_cores(master) is None:
                context.addPyFile(str(write_code(scratch)))
            first = SparkSession(context)
            context.setLogLevel("ERROR")
            # By the thread's own connection to the JVM: others wait for no answer of this kind, nor it for theirs.
            pulse = Pulse(gateway.jvm.java.lang.System.nanoTime)
            running = _RunningSession(master, scratch, gateway, first, psutil.Process(gateway.proc.pid), pulse)
        except (PySparkRuntimeError, OSError) as error:
            _abandon(gateway)
            kind = _JavaEnded if gateway is None else Unavailable
            raise kind(f"Spark could not be started: {last_lines(spark_log) or error}") from error
        except BaseException as error:
            _abandon(gateway)
            if type(error).__name__ in ("Py4JJavaError", "Py4JNetworkError", "Py4JError"):
                raise Unavailable(f"Spark could not be started: {last_lines(spark_log) or error}") from error
            raise
    # It logs, with Spark's whole stack, what an interrupted callback raises when a streaming query is
    # stopped; whatever else it has to say reaches the caller as an exception.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    log.info("Spark %s on %s, started in %.1f s", pyspark.__version__, master, time.monotonic() - began)
    return running


def _scratch(directory: Path) -> Path:
    return directory.resolve() / "spark"


@contextlib.contextmanager
def _environment(java: JavaRuntime, master: str, spark_home: Path) -> Iterator[None]:
    """The environment that Spark and, through it, its Python workers inherit."""
    root = Path(__file__).resolve().parents[3]
    installed = is_of_packages(root)
    inherited = os.environ.get("PYTHONPATH")
    changes = {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(part for part in ("" if installed else str(root), inherited) if part),
        "SPARK_LAUNCHER_OPTS": launcher_options(),
    }
    if local_cores(master) is not None:
        changes["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """SparkContext takes SIGINT for itself when started in the main thread; the server has its own use for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _stop_gently(running: _RunningSession, session: SparkSession, last: bool) -> None:
    try:
        for query in session.streams.active:
            query.stop()
        if last:
            running.first.stop()
            running.gateway.shutdown()
    except Exception as error:
        # Spark may have died under us; its processes are ended by the caller either way.
        log.warning("Spark did not stop in order: %s", str(error).partition("\n")[0])


def _end_processes(running: _RunningSession, grace: float) -> None:
    """End the Java process and its Python workers: by closing its input, and by force after ``grace`` seconds."""
    process = running.process
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    _, alive = psutil.wait_procs(in_session(running.jvm), timeout=min(grace, END_SECONDS) / 6)
    kill(alive)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)


def _abandon(gateway: Any) -> None:
    """Undo a start that failed half way."""
    process = getattr(gateway, "proc", None)
    try:
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            if process.poll() is None:
                kill(in_session(psutil.Process(process.pid)))
            process.wait(5)
    finally:
        # However long it takes to end: the next start is another one's.
        _reset_pyspark()


def _forget(running: _RunningSession) -> None:
    global _running
    shutil.rmtree(running.scratch, ignore_errors=True)
    _running = None
    _reset_pyspark()


def _reset_pyspark() -> None:
    """pyspark keeps a stopped context's gateway for the next one; ours is gone, so the next start needs a new one."""
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None


_NOT_TOLD = ("at ", "... ", "WARNING: ", "Setting default log level", "To adjust logging level")


def last_lines(file: Path, count: int = 3) -> str:
    """The end of Spark's log, without the frames of stack traces and what it says at every start."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    told = [line for line in lines if line and not line.startswith(_NOT_TOLD)]
    return " | ".join(told[-count:])
