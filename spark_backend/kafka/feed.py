"""Messages of topics, by a streaming query of Spark's: its tasks parse them, and who stores them takes part by part."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from protocol.kafka import KafkaFailed, KafkaReading
from protocol.sources import SourceBatch
from protocol.streams import StreamSettings
from spark_backend.ingest.parsed_file import ParsedFile, read_unparsed
from spark_backend.kafka.java import kafka_says
from spark_backend.kafka.parsing import PART_SCHEMA, Parsing, in_tasks, parsed
from spark_backend.kafka.properties import client_properties
from spark_backend.kafka.topics import Topics, start_of
from spark_backend.layout import Layout
from spark_backend.spark.pipeline import SharedSession

log = logging.getLogger(__name__)

POOL = "sources"
"""Spark's scheduler gives slots to it in turn with evaluations."""

_TRIGGER = "100 milliseconds"
"""How often Kafka is asked for what is new: each time costs some milliseconds of processor time."""

_MOST_MESSAGES = 10_000


class Part(NamedTuple):
    """The messages of a partition from ``first`` to before ``next``."""

    topic: str
    partition: int
    first: int
    next: int
    parsed: ParsedFile

    @property
    def position(self) -> str:
        """The name of the position that these move."""
        return f"{self.topic}/{self.partition}"


class Handover:
    """Parts, from the thread of Spark's that has a batch of them, which waits, to the one that takes and stores them.

    ``offsets``: the next message of each position. What is before it was stored already, and is dropped. ``changed``:
    positions that are stored with the first part.
    """

    def __init__(self, offsets: Mapping[str, int], changed: Mapping[str, bytes], *, is_parsed: bool = True) -> None:
        self._changed = threading.Condition()
        self._offsets = dict(offsets)
        self._positions = dict(changed)
        self._parts: deque[Part] = deque()
        self._closed = False
        self._is_parsed = is_parsed

    def give(self, parts: list[Part]) -> None:
        """Returns once all were stored, or nobody takes any more. Raises KafkaFailed for a part of which some messages
        were given before.
        """
        with self._changed:
            for part in sorted(parts):
                expected = self._offsets.get(part.position, part.first)
                if part.next <= expected:
                    part.parsed.remove()
                    continue
                if part.first < expected:
                    raise KafkaFailed(f"{part.position}: messages came from {part.first} on, not from {expected}")
                self._offsets[part.position] = part.next
                self._parts.append(part)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or not self._parts)

    def take(self, seconds: float) -> SourceBatch | None:
        """The next part; None if there is none within ``seconds``. The same again until it was stored."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._parts, seconds):
                return None
            part = self._parts[0]
            positions = {**self._positions, part.position: str(part.next).encode()}
            if self._is_parsed:
                return SourceBatch((), positions, part.position, part.parsed)
            return SourceBatch(read_unparsed(part.parsed.path), positions, part.position)

    def stored(self) -> None:
        """What was taken is durable."""
        with self._changed:
            self._parts.popleft().parsed.remove()
            self._positions = {}
            if not self._parts:
                self._changed.notify_all()

    def close(self) -> None:
        """Nothing is taken any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class SparkKafkaFeed:
    """``protocol.kafka.KafkaFeed``: a streaming query in a session that has the connector.

    Its checkpoint is of no use afterwards, since the positions are in the stream's log: it goes with the feed, like the
    files of what was parsed. ``know``: told the names of partitions, before anything of theirs is taken.
    """

    def __init__(
        self,
        spark: SharedSession,
        reading: KafkaReading,
        settings: StreamSettings,
        scratch: Path,
        know: Callable[[Sequence[str]], None],
    ) -> None:
        """Begin to read. ``scratch``: a directory of the server's, for this and others. Raises KafkaFailed."""
        self._cluster = reading.cluster
        self._know = know
        self._failure: str | None = None
        with ExitStack() as failed:
            self._topics = Topics(spark.session.sparkContext._jvm, reading.cluster, reading.topics)
            failed.callback(self._topics.close)
            start = start_of(self._topics.read(), reading.positions)
            self.notice = "; ".join(start.notices) or None
            self._identities = start.identities
            known = {f"{topic}/{number}": at for topic, of in start.offsets.items() for number, at in of.items()}
            know(list(known))
            self._partitions = set(known)
            changed = start.identities | {name: str(offset).encode() for name, offset in known.items()}
            changed = {name: value for name, value in changed.items() if reading.positions.get(name) != value}
            self._handover = Handover(known, changed, is_parsed=in_tasks(settings))
            name = uuid.uuid4().hex
            self._scratch = scratch / name
            (self._scratch / "parsed").mkdir(parents=True, mode=0o700)
            failed.callback(shutil.rmtree, self._scratch, ignore_errors=True)
            origin = f"kafka://{self._cluster.address}"
            directory = str(Layout(spark.root).kafka / name / "parsed")
            parsing = Parsing(settings, reading.content_type, reading.largest, origin, directory, start.identities)
            try:
                self._query = self._start(spark, reading, start.offsets, parsing)
            except Exception as error:
                raise KafkaFailed(self._said(error)) from None
            failed.pop_all()

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``KafkaFeed.take``."""
        batch = self._handover.take(seconds)
        if batch is None:
            self._require_active()
        return batch

    def stored(self) -> None:
        """As ``KafkaFeed.stored``."""
        self._handover.stored()

    def close(self) -> None:
        """As ``KafkaFeed.close``."""
        self._handover.close()
        try:
            self._query.stop()
        except Exception as error:
            # With Spark its queries are gone.
            said = kafka_says(error, self._cluster)
            log.info("the query that reads kafka://%s did not stop: %s", self._cluster.address, said)
        self._topics.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _start(
        self, spark: SharedSession, reading: KafkaReading, offsets: Mapping[str, Mapping[int, int]], parsing: Parsing
    ) -> Any:
        options = {
            "subscribe": ",".join(reading.topics),
            "startingOffsets": json.dumps(offsets),
            "maxOffsetsPerTrigger": str(_MOST_MESSAGES),
            "failOnDataLoss": "true",
            "includeHeaders": "true",
            # One that fails is connected to anew, by whoever takes.
            "fetchOffset.numRetries": "1",
            # Tasks read what is known to be there: a request that waits for more holds up the next one's.
            "kafka.fetch.max.wait.ms": "10",
            # What a producer takes back was never said; and what it has not yet stood by, is not said yet.
            "kafka.isolation.level": "read_committed",
            **{f"kafka.{name}": value for name, value in client_properties(reading.cluster).items()},
        }
        context = spark.session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", POOL)
        records = spark.session.readStream.format("kafka").options(**options).load()
        records = records.select("topic", "partition", "offset", "value", "headers")
        task = spark.on_hosts(partial(parsed, parsing))
        parts = records.coalesce(context.defaultParallelism).mapInArrow(task, PART_SCHEMA)
        return (
            parts.writeStream.queryName(f"kafka {reading.stream}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", (self._scratch / "checkpoint").as_uri())
            .trigger(processingTime=_TRIGGER)
            .start()
        )

    def _on_batch(self, frame: Any, batch: int) -> None:
        try:
            rows = frame.toArrow().to_pylist()
            # One that took the name of a topic while Spark looked away was read from where the other one ended.
            self._topics.require(self._identities)
            parts = [_part(row, self._scratch / "parsed") for row in rows]
            if new := {part.position for part in parts} - self._partitions:
                self._know(sorted(new))
                self._partitions |= new
            self._handover.give(parts)
        except Exception as error:
            said = error.detail if isinstance(error, KafkaFailed) else self._said(error)
            self._failure = said
            # Not with its whole text: see Pipeline._on_batch.
            raise RuntimeError(said) from None

    def _require_active(self) -> None:
        """Raises KafkaFailed once the query has ended."""
        try:
            active = self._query.isActive
            error = None if active else self._query.exception()
        except Exception as gone:
            raise KafkaFailed(f"Spark has ended: {kafka_says(gone, self._cluster)}") from None
        if not active:
            # Spark quotes Python's traceback where it is a batch that has failed.
            raise KafkaFailed(self._failure or self._said(error or RuntimeError("it has ended")))

    def _said(self, error: Exception) -> str:
        return f"kafka://{self._cluster.address}: {kafka_says(error, self._cluster)}"


def _part(row: Mapping[str, Any], directory: Path) -> Part:
    file = directory / Path(row["file"]).name
    return Part(row["topic"], row["partition"], row["first"], row["next"], ParsedFile(row["count"], row["size"], file))
