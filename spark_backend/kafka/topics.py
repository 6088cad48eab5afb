"""Where topics begin and end, and from where a source goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def read_topics(jvm: Any, cluster: KafkaCluster, names: Sequence[str]) -> dict[str, Topic]:
    """The topics as they are. Raises KafkaFailed where one is not there, or the cluster does not answer."""
    properties = jvm.java.util.HashMap()
    for name, value in client_properties(cluster).items():
        properties.put(name, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
        try:
            return _read(jvm, admin, names)
        finally:
            admin.close(jvm.java.time.Duration.ZERO)
    except Exception as error:
        raise KafkaFailed(f"kafka://{cluster.address}: {kafka_says(error, cluster)}") from None


def _read(jvm: Any, admin: Any, names: Sequence[str]) -> dict[str, Topic]:
    wanted = jvm.java.util.ArrayList()
    for name in names:
        wanted.add(name)
    described = _answer(jvm, admin.describeTopics(wanted).allTopicNames())
    partitions = {name: [one.partition() for one in described[name].partitions()] for name in names}
    specification = jvm.org.apache.kafka.clients.admin.OffsetSpec
    begins = _offsets(jvm, admin, partitions, specification.earliest())
    ends = _offsets(jvm, admin, partitions, specification.latest())
    return {name: Topic(described[name].topicId().toString(), begins[name], ends[name]) for name in names}


def _offsets(jvm: Any, admin: Any, partitions: Mapping[str, Sequence[int]], place: Any) -> dict[str, dict[int, int]]:
    asked = jvm.java.util.HashMap()
    for name, numbers in partitions.items():
        for number in numbers:
            asked.put(jvm.org.apache.kafka.common.TopicPartition(name, number), place)
    found: dict[str, dict[int, int]] = {name: {} for name in partitions}
    for entry in _answer(jvm, admin.listOffsets(asked).all()).entrySet():
        found[entry.getKey().topic()][entry.getKey().partition()] = entry.getValue().offset()
    return found


def _answer(jvm: Any, future: Any) -> Any:
    return future.get(PATIENCE_SECONDS + 1, jvm.java.util.concurrent.TimeUnit.SECONDS)
