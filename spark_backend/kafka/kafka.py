"""Kafka, over the Spark that evaluates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from protocol.kafka import KafkaCluster, KafkaReading
from protocol.streams import StreamSettings
from spark_backend.kafka.connector import require_connector
from spark_backend.kafka.feed import SparkKafkaFeed
from spark_backend.kafka.writer import SparkKafkaWriter
from spark_backend.layout import Layout
from spark_backend.spark.pipeline import SharedSession


class Kafka:
    """``jars``: a directory with Spark's connector; None: it is fetched when it is first needed."""

    def __init__(self, spark: Callable[[], SharedSession], layout: Layout, jars: Path | None) -> None:
        self._spark = spark
        self._layout = layout
        self._jars = jars

    def read(
        self, reading: KafkaReading, settings: StreamSettings, know: Callable[[Sequence[str]], None]
    ) -> SparkKafkaFeed:
        """What comes for a stream with these settings, which is told of partitions by ``know``. Raises KafkaFailed,
        Unavailable.
        """
        spark = self._spark()
        require_connector(spark.session, self._jars)
        return SparkKafkaFeed(spark, reading, settings, self._layout.kafka, know)

    def write(self, cluster: KafkaCluster, topic: str) -> SparkKafkaWriter:
        """What writes to a topic. Raises KafkaFailed, Unavailable."""
        spark = self._spark()
        require_connector(spark.session, self._jars)
        return SparkKafkaWriter(spark.session.sparkContext._jvm, cluster, topic)
