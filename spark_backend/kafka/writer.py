"""Messages written to a topic, by a producer in the JVM that Spark runs in: a job for each would take much longer."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from protocol.kafka import KafkaCluster, KafkaFailed, KafkaRecord
from spark_backend.kafka.java import kafka_says
from spark_backend.kafka.properties import PATIENCE_SECONDS, client_properties

_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_SECONDS = 2 * PATIENCE_SECONDS
"""For all replicas to have a message."""

_LARGEST = 64 * 1024 * 1024
"""Bytes of a message, as far as it is for us to say: a broker takes less."""


class SparkKafkaWriter:
    """``protocol.kafka.KafkaWriter``. It is of no use any more once a write has failed, or Spark has ended."""

    def __init__(self, jvm: Any, cluster: KafkaCluster, topic: str) -> None:
        """Raises KafkaFailed for what is no producer's; whether the cluster answers is seen when it is written to."""
        self._jvm = jvm
        self._topic = topic
        self._cluster = cluster
        self._loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        properties = jvm.java.util.HashMap()
        settings = {
            **client_properties(cluster),
            "key.serializer": _SERIALIZER,
            "value.serializer": _SERIALIZER,
            "acks": "all",
            "enable.idempotence": "true",
            "max.block.ms": str(PATIENCE_SECONDS * 1000),
            "delivery.timeout.ms": str(_SECONDS * 1000),
            "max.request.size": str(_LARGEST),
            "buffer.memory": str(2 * _LARGEST),
        }
        for name, value in settings.items():
            properties.put(name, value)
        try:
            self._producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(properties)
        except Exception as error:
            raise KafkaFailed(f"kafka://{cluster.address}: {kafka_says(error, cluster)}") from None

    def write(self, records: Sequence[KafkaRecord]) -> None:
        """As ``KafkaWriter.write``. The next is sent when the one before it is acknowledged: so none overtakes it."""
        try:
            # Each thread of ours has one of Java's, which finds Kafka's classes by this.
            self._jvm.java.lang.Thread.currentThread().setContextClassLoader(self._loader)
            partitions = self._producer.partitionsFor(self._topic).size()
            for record in records:
                self._producer.send(self._made(record, partitions)).get()
        except Exception as error:
            raise KafkaFailed(
                f"kafka://{self._cluster.address}, topic {self._topic}: {kafka_says(error, self._cluster)}"
            ) from None

    def close(self) -> None:
        """As ``KafkaWriter.close``. Raises KafkaFailed where Spark has ended, and the producer with it."""
        try:
            self._producer.close(self._jvm.java.time.Duration.ZERO)
        except Exception as error:
            raise KafkaFailed(f"kafka://{self._cluster.address}: {kafka_says(error, self._cluster)}") from None

    def _made(self, record: KafkaRecord, partitions: int) -> Any:
        partition = zlib.crc32(record.order.encode()) % partitions
        made = self._jvm.org.apache.kafka.clients.producer.ProducerRecord(
            self._topic, partition, record.key, record.value
        )
        for name, value in record.headers.items():
            made.headers().add(name, value)
        return made
