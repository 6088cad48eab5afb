"""Micro-batches that do nothing: the pipeline's session, source kind, task, sink and checkpoint, with one trivial row.

Run as a program: ``empty_batch.py DIRECTORY COUNT WARM_UP``; writes durations in seconds, as JSON, to standard output.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

SCHEMA = "key string, prepared string, instants array<bigint>"


class OneRow(DataSource):
    """One row whenever the number in the file ``clock`` has grown."""

    @classmethod
    def name(cls) -> str:
        return "one_row"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return OneRowReader(self.options["clock"])


class OneRowReader(DataSourceStreamReader):
    def __init__(self, clock: str) -> None:
        self._clock = clock

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"n": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        with open(self._clock, encoding="ascii") as file:
            return {"n": int(file.read())}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(end["n"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield ("key", "prepared", [partition.value])


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def main(directory: Path, count: int, warm_up: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from spark_backend.spark.launch.session import start_session, stop_session

    clock = directory / "clock"
    _set(clock, 0)
    session = start_session(master="local[*]", directory=directory / "spark")
    try:
        session.dataSource.register(OneRow)
        arrived: list[float] = []

        def on_batch(frame: Any, batch: int) -> None:
            frame.collect()
            arrived.append(time.perf_counter())

        query = (
            session.readStream.format("one_row").option("clock", str(clock)).load()
            .mapInArrow(unchanged, SCHEMA)
            .writeStream.foreachBatch(on_batch)
            .option("checkpointLocation", str(directory / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )  # fmt: skip
        pause = random.Random(7)
        waits: list[float] = []
        durations: dict[int, float] = {}
        for number in range(1, count + warm_up + 1):
            due = time.perf_counter()
            _set(clock, number)
            while len(arrived) < number:
                if not query.isActive:
                    raise RuntimeError(str(query.exception()))
                time.sleep(0.002)
            waits.append(arrived[-1] - due)
            time.sleep(pause.uniform(0.3, 0.6))
            for progress in query.recentProgress:
                if progress["numInputRows"]:
                    durations[progress["batchId"]] = progress["durationMs"]["triggerExecution"] / 1000
        batches = [seconds for _, seconds in sorted(durations.items())]
        print(json.dumps({"batches": batches[warm_up:], "waits": waits[warm_up:]}))
    finally:
        stop_session(session)


def _set(clock: Path, number: int) -> None:
    fresh = clock.with_name("clock.new")
    fresh.write_text(str(number), encoding="ascii")
    fresh.replace(clock)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
