"""A client of Kafka's for tests: its own Java classes, called from here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from tests.endpoint.sources.kafka.broker import fetch_broker, java

_CLIENTS = "org.apache.kafka.clients"
_BYTES = "org.apache.kafka.common.serialization.ByteArray"


class KafkaClient:
    """``properties`` say how the broker is reached, besides its address."""

    def __init__(self, jvm: Any, address: str, properties: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._properties = {"bootstrap.servers": address, **properties}
        self._producer: Any = None

    def create(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Make a topic. ``settings``: with ``_`` for ``.``."""
        new = self._jvm.org.apache.kafka.clients.admin.NewTopic(
            topic, self._jvm.java.util.Optional.of(partitions), self._jvm.java.util.Optional.empty()
        )
        new.configs(self._map({name.replace("_", "."): value for name, value in settings.items()}))
        self._admin(lambda admin: admin.createTopics(self._list([new])).all())

    def delete(self, topic: str) -> None:
        self._admin(lambda admin: admin.deleteTopics(self._list([topic])).all())

    def add_partitions(self, topic: str, total: int) -> None:
        """Have the topic so many partitions."""
        new = self._jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(total)
        self._admin(lambda admin: admin.createPartitions(self._map({topic: new})).all())

    def send(
        self, topic: str, value: bytes | None, partition: int | None = None, headers: Mapping[str, bytes] | None = None
    ) -> Any:
        """Send a message; returns what can be waited for (``get``)."""
        if self._producer is None:
            self._producer = self._new_producer()
        record = self._record(topic, value, partition)
        for name, text in (headers or {}).items():
            record.headers().add(name, text)
        return self._producer.send(record)

    @contextmanager
    def transaction(self, name: str) -> Iterator[Callable[[str, bytes], None]]:
        """What is sent (topic, value) by what is yielded is committed together; aborted if the body raises."""
        producer = self._new_producer({"transactional.id": name, "transaction.timeout.ms": "600000"})
        try:
            producer.initTransactions()
            producer.beginTransaction()
            try:
                yield lambda topic, value: producer.send(self._record(topic, value)).get() and None
            except BaseException:
                producer.abortTransaction()
                raise
            producer.commitTransaction()
        finally:
            producer.close(self._jvm.java.time.Duration.ZERO)

    def _new_producer(self, more: Mapping[str, str] | None = None) -> Any:
        settings = {
            "acks": "all", "linger.ms": "5", "delivery.timeout.ms": "600000", "request.timeout.ms": "5000",
            "max.block.ms": "600000", "max.in.flight.requests.per.connection": "1",
            "key.serializer": f"{_BYTES}Serializer", "value.serializer": f"{_BYTES}Serializer",
        }  # fmt: skip
        made = self._map({**self._properties, **settings, **(more or {})})
        return self._jvm.org.apache.kafka.clients.producer.KafkaProducer(made)

    def _record(self, topic: str, value: bytes | None, partition: int | None = None) -> Any:
        return self._jvm.org.apache.kafka.clients.producer.ProducerRecord(topic, partition, None, value)

    def count(self, topic: str) -> int:
        """How many messages the topic has had."""
        with self._consumer() as consumer:
            partitions = self._partitions(consumer, topic)
            return sum(entry.getValue() for entry in consumer.endOffsets(partitions).entrySet())

    def read(self, topic: str) -> Iterator[tuple[int, int, bytes, bytes, dict[str, bytes]]]:
        """What the topic has: of each message partition, number, key, value and headers; in order of each partition."""
        with self._consumer() as consumer:
            partitions = self._partitions(consumer, topic)
            consumer.assign(partitions)
            consumer.seekToBeginning(partitions)
            ends = {
                entry.getKey().partition(): entry.getValue() for entry in consumer.endOffsets(partitions).entrySet()
            }
            while any(consumer.position(one) < ends[one.partition()] for one in partitions):
                records = consumer.poll(self._jvm.java.time.Duration.ofMillis(200)).iterator()
                while records.hasNext():
                    record = records.next()
                    headers = {header.key(): bytes(header.value()) for header in record.headers().toArray()}
                    key, value = bytes(record.key() or b""), bytes(record.value())
                    yield record.partition(), record.offset(), key, value, headers

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        settings = dict.fromkeys(("key.deserializer", "value.deserializer"), f"{_BYTES}Deserializer")
        made = self._map({**self._properties, **settings, "auto.offset.reset": "earliest"})
        consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(made)
        try:
            yield consumer
        finally:
            consumer.close()

    def _partitions(self, consumer: Any, topic: str) -> Any:
        partition = self._jvm.org.apache.kafka.common.TopicPartition
        return self._list([partition(topic, one.partition()) for one in consumer.partitionsFor(topic)])

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close(self._jvm.java.time.Duration.ZERO)

    def _admin(self, ask: Any) -> None:
        admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self._map(self._properties))
        try:
            ask(admin).get()
        finally:
            admin.close()

    def _map(self, entries: Mapping[Any, Any]) -> Any:
        made = self._jvm.java.util.HashMap()
        for name, value in entries.items():
            made.put(name, value)
        return made

    def _list(self, entries: list[Any]) -> Any:
        made = self._jvm.java.util.ArrayList()
        for one in entries:
            made.add(one)
        return made


@contextmanager
def kafka_client(address: str, properties: Mapping[str, str] | None = None) -> Iterator[KafkaClient]:
    """A client in a JVM of its own, which ends with it."""
    (py4j,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    port, process = launch_gateway(
        jarpath=str(py4j), classpath=f"{fetch_broker()}/*", javaopts=options, java_path=str(java()), die_on_exit=True,
        redirect_stderr=sys.stderr, return_proc=True,
    )  # fmt: skip
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=False))
    client = KafkaClient(gateway.jvm, address, properties or {})
    try:
        yield client
        client.close()
    finally:
        gateway.close()
        process.stdin.close()
        process.wait(30)
