from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyspark
import pytest
from pyspark.core.context import SparkContext

from protocol.errors import Unavailable
from spark_backend.spark.launch.session import responds, start_session, stop_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def count(session: Any) -> int:
    """Rows that went through a Python worker."""
    return len(session.range(5, numPartitions=1).mapInArrow(same, "id bigint").collect())


def pyspark_of_workers(session: Any) -> str:
    """The file that a Python worker has pyspark from."""

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})

    return str(session.range(1, numPartitions=1).mapInArrow(where, "file string").first().file)


def ours() -> dict[str, str | None]:
    names = ("JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "SPARK_LOCAL_IP")
    return {name: os.environ.get(name) for name in names}


def children() -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process().children(recursive=True)
    return found


def test_a_session_whose_spark_was_killed_is_stopped_and_the_next_one_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, environment, before = signal.getsignal(signal.SIGINT), ours(), children()
    session = start_session(master="local[1]", directory=tmp_path)
    assert responds(session)
    for child in children():
        if child not in before:
            child.kill()
    assert not responds(session)
    with monkeypatch.context() as patched:  # as it is between the end of Java's connections and that of its process
        patched.setattr("spark_backend.spark.launch.session.is_alive", lambda _: True)
        assert [responds(session) for _ in range(3)] == [False] * 3
    stop_session(session, patience=3)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs
    session = start_session(master="local[1]", directory=tmp_path)
    try:
        assert count(session) == 5
    finally:
        stop_session(session)
    stop_session(session)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs
    assert signal.getsignal(signal.SIGINT) is handler
    assert ours() == environment
    assert [path.name for path in tmp_path.iterdir()] == ["spark.log"]


def test_a_spark_that_is_killed_in_the_last_moment_of_its_start_is_started_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, set_level = children(), SparkContext.setLogLevel

    def killed(context: Any, level: str) -> None:
        context._gateway.proc.kill()
        context._gateway.proc.wait()
        set_level(context, level)

    with monkeypatch.context() as patched:
        patched.setattr(SparkContext, "setLogLevel", killed)
        with pytest.raises(Unavailable, match="Spark could not be started"):
            start_session(master="local[1]", directory=tmp_path)
    session = start_session(master="local[1]", directory=tmp_path)
    try:
        assert count(session) == 5
    finally:
        stop_session(session)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs


def test_a_spark_that_does_not_end_when_its_start_fails_is_not_taken_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_level = SparkContext.setLogLevel

    def slow(timeout: float) -> int:
        # As where a disk hangs.
        raise subprocess.TimeoutExpired("java", timeout)

    def killed(context: Any, level: str) -> None:
        context._gateway.proc.kill()
        context._gateway.proc.wait()
        context._gateway.proc.wait = slow
        set_level(context, level)

    with monkeypatch.context() as patched:
        patched.setattr(SparkContext, "setLogLevel", killed)
        with pytest.raises(subprocess.TimeoutExpired):
            start_session(master="local[1]", directory=tmp_path)
    session = start_session(master="local[1]", directory=tmp_path)
    stop_session(session)


def test_sessions_of_one_process_share_spark_until_the_last_one_stops(tmp_path: Path) -> None:
    before = children()
    first = start_session(master="local[1]", directory=tmp_path)
    second = start_session(master="local[1]", directory=tmp_path / "other")
    try:
        assert second is not first
        assert second.sparkContext is first.sparkContext
        with pytest.raises(Unavailable, match=r"already runs Spark on 'local\[1\]'"):
            start_session(master="local[2]", directory=tmp_path)
        stop_session(first)
        assert count(second) == 5
        assert pyspark_of_workers(second) == pyspark.__file__, "compiled once, and not by each of Spark's processes"
    finally:
        stop_session(first)
        stop_session(second)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs


def test_spark_that_does_not_answer_is_killed(tmp_path: Path) -> None:
    before = children()
    session = start_session(master="local[1]", directory=tmp_path)
    count(session)
    for child in children():
        if child not in before:
            child.suspend()
    stop_session(session, patience=1)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs


# pyspark leaves the standard input of a Java that did not start for the garbage collector to close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_master_that_spark_refuses_is_an_error_with_the_reason_and_leaves_nothing_behind(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(Unavailable, match="Master must"):
        start_session(master="nonsense", directory=tmp_path)
    assert set(children()) <= set(before)  # other servers of this run may have ended some of theirs
    gc.collect()
