"""Where topics begin and end, and from where a source goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from protocol.kafka import KafkaCluster, KafkaFailed
from spark_backend.kafka.java import kafka_says
from spark_backend.kafka.properties import PATIENCE_SECONDS, client_properties


@dataclass(frozen=True)
class Topic:
    """A topic as it is: what tells it from one that had its name before, and of each partition where what it has begins
    and where what comes next will be.
    """

    identity: str
    begins: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass
class Start:
    """From where to read each partition of each topic, the positions that say so, and what is to be told of it."""

    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    identities: dict[str, bytes] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def start_of(topics: Mapping[str, Topic], positions: Mapping[str, bytes]) -> Start:
    """Where to go on: at the positions, as far as the topics have what comes there; where there are none, at the
    beginning.
    """
    start = Start()
    for name, topic in topics.items():
        known = positions.get(name)
        start.identities[name] = topic.identity.encode()
        again = known is not None and known != start.identities[name]
        if again:
            start.notices.append(f"the topic {name} was made anew: it is read from its beginning")
        start.offsets[name] = {
            partition: _offset(name, partition, topic, None if again else positions.get(f"{name}/{partition}"), start)
            for partition in sorted(topic.begins)
        }
    return start


def _offset(name: str, partition: int, topic: Topic, position: bytes | None, start: Start) -> int:
    begin, end = topic.begins[partition], topic.ends[partition]
    if position is None:
        return begin
    offset = int(position)
    if offset < begin:
        start.notices.append(f"{name}/{partition}: the broker has dropped the messages {offset} to {begin - 1}")
        return begin
    if offset > end:
        start.notices.append(
            f"{name}/{partition}: the broker has lost messages, the last it has is {end - 1}, and {offset - 1} was read"
        )
        return end
    return offset


class Topics:
    """The topics of a cluster that a source reads, to be asked about over a connection that is kept.

    Whatever it is asked raises KafkaFailed where one of them is not there, or the cluster does not answer.
    """

    def __init__(self, jvm: Any, cluster: KafkaCluster, names: Sequence[str]) -> None:
        """Raises KafkaFailed."""
        self._jvm = jvm
        self._cluster = cluster
        self._names = names
        properties = jvm.java.util.HashMap()
        for name, value in client_properties(cluster).items():
            properties.put(name, value)
        try:
            self._admin = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
        except Exception as error:
            raise self._failure(error) from None

    def read(self) -> dict[str, Topic]:
        """The topics as they are."""
        described = self._described()
        partitions = {name: [one.partition() for one in topic.partitions()] for name, topic in described.items()}
        specification = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        begins = self._offsets(partitions, specification.earliest())
        ends = self._offsets(partitions, specification.latest())
        return {name: Topic(_identity(topic), begins[name], ends[name]) for name, topic in described.items()}

    def require(self, identities: Mapping[str, bytes]) -> None:
        """Raises KafkaFailed, too, for one that was made anew: it is not the one with this identity any more."""
        for name, topic in self._described().items():
            if _identity(topic).encode() != identities[name]:
                raise KafkaFailed(f"kafka://{self._cluster.address}: the topic {name} was made anew while it was read")

    def close(self) -> None:
        """Ask no more. Again, or where Spark has ended: does nothing."""
        with suppress(Exception):
            self._admin.close(self._jvm.java.time.Duration.ZERO)

    def _described(self) -> dict[str, Any]:
        wanted = self._jvm.java.util.ArrayList()
        for name in self._names:
            wanted.add(name)
        answers = self._admin.describeTopics(wanted).topicNameValues()
        return {name: self._answer(answers[name], f", topic {name}") for name in self._names}

    def _offsets(self, partitions: Mapping[str, Sequence[int]], place: Any) -> dict[str, dict[int, int]]:
        asked = self._jvm.java.util.HashMap()
        for name, numbers in partitions.items():
            for number in numbers:
                asked.put(self._jvm.org.apache.kafka.common.TopicPartition(name, number), place)
        found: dict[str, dict[int, int]] = {name: {} for name in partitions}
        for entry in self._answer(self._admin.listOffsets(asked).all()).entrySet():
            found[entry.getKey().topic()][entry.getKey().partition()] = entry.getValue().offset()
        return found

    def _answer(self, future: Any, about: str = "") -> Any:
        try:
            return future.get(PATIENCE_SECONDS + 1, self._jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Exception as error:
            raise self._failure(error, about) from None

    def _failure(self, error: Exception, about: str = "") -> KafkaFailed:
        return KafkaFailed(f"kafka://{self._cluster.address}{about}: {kafka_says(error, self._cluster)}")


def _identity(described: Any) -> str:
    identity: str = described.topicId().toString()
    return identity
