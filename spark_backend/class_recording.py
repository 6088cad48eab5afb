"""Spark's classes are recorded once for an installation, so that it starts in about half the time from then on."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.errors import Unavailable
from spark_backend.spark.launch.class_archive import DIRECTORY, archive_file
from spark_backend.spark.launch.java import find_java
from spark_backend.spark.launch.session import last_lines, start_session, stop_session

if TYPE_CHECKING:
    import pyarrow as pa

_DUMP_SECONDS = 300.0
_WARM_SECONDS = 120.0
_BATCHES = 3


def record_classes() -> Path:
    """Have Spark do for a moment what it does for an endpoint, and keep its classes; takes about half a minute.

    Raises Unavailable where Java cannot, and OSError where the environment cannot be written to.
    """
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory(dir=DIRECTORY) as beside:
        directory, made = Path(root), Path(beside) / "classes.jsa"
        archive = archive_file(find_java(directory))
        session = start_session(master="local[2]", directory=directory, recorded=made)
        try:
            _evaluate(session, directory)
        finally:
            stop_session(session, ending=_DUMP_SECONDS)
        if not made.is_file():
            raise Unavailable(f"Java has written no archive of Spark's classes: {last_lines(directory / 'spark.log')}")
        made.replace(archive)
    return archive


def _evaluate(session: Any, directory: Path) -> None:
    """Micro-batches through Python as those of an endpoint, and a job."""
    ticks = session.readStream.format("rate").load()
    query = (
        ticks.mapInArrow(_same, ticks.schema)
        .writeStream.format("noop")
        .option("asyncProgressTrackingEnabled", "true")
        .option("checkpointLocation", (directory / "checkpoint").as_uri())
        .trigger(processingTime="0 seconds")
        .start()
    )
    session.range(1).mapInArrow(_same, "id bigint").toArrow()
    deadline = time.monotonic() + _WARM_SECONDS
    while (query.lastProgress or {"batchId": 0})["batchId"] < _BATCHES and time.monotonic() < deadline:
        query.awaitTermination(0.1)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
