"""Answers to a topic of Kafka's: the backend writes them, in a thread that nobody else waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from endpoint.sinks.kafka import KafkaTopic
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.errors import Unavailable
from protocol.kafka import KafkaCluster, KafkaFailed, KafkaRecord
from protocol.login import Login
from protocol.sinks.body import Body
from protocol.sinks.topic_settings import Topic

ANSWER = Answer("q", 1000, "0000000000000001", Body(b"[]", "application/json"))
RECORD = KafkaRecord("q", b"0000000000000001", b"[]", {"content-type": b"application/json", "query": b"q"})


@dataclass
class Writers:
    """The backend's side: what was opened, written and closed; ``failing`` is raised by the next write."""

    opened: list[tuple[KafkaCluster, str]] = field(default_factory=list)
    written: list[KafkaRecord] = field(default_factory=list)
    closed: int = 0
    failing: list[Exception] = field(default_factory=list)
    held: threading.Event | None = None
    began: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    held_opening: threading.Event | None = None

    def open(self, cluster: KafkaCluster, topic: str) -> Writers:
        if self.held_opening is not None:
            self.began.set()
            assert self.held_opening.wait(60)
        self.opened.append((cluster, topic))
        return self

    def write(self, records: Sequence[KafkaRecord]) -> None:
        self.began.set()
        if self.held is not None:
            assert self.held.wait(60)
        if self.failing:
            raise self.failing.pop()
        self.written += records

    def close(self) -> None:
        self.closed += 1
        self.ended.set()
        if self.held is not None:
            self.held.set()


def topic_of(writers: Writers) -> KafkaTopic:
    return KafkaTopic("kafka://b:9093", Topic("alerts", Login("me", mechanism="SCRAM-SHA-256")), writers.open)


def test_an_answer_is_a_message_with_its_id_as_key() -> None:
    async def run() -> None:
        target = topic_of(writers)
        await target.deliver([ANSWER])
        await target.deliver([ANSWER])
        await target.close()
        await target.close()

    writers = Writers()
    asyncio.run(run())
    assert writers.written == [RECORD, RECORD]
    assert writers.opened == [(KafkaCluster("b:9093", "me", mechanism="SCRAM-SHA-256"), "alerts")]
    assert writers.closed == 1


@pytest.mark.parametrize(
    ("failure", "retry_in"), [(KafkaFailed("no broker"), None), (Unavailable("no Spark"), 1)], ids=["broker", "Spark"]
)
def test_what_fails_is_told_and_the_next_has_another_writer(failure: Exception, retry_in: float | None) -> None:
    async def run() -> None:
        target = topic_of(writers)
        with pytest.raises(DeliveryFailed, match="no ") as failed:
            await target.deliver([ANSWER])
        assert failed.value.retry_in == retry_in
        await target.deliver([ANSWER])

    writers = Writers(failing=[failure])
    asyncio.run(run())
    assert (len(writers.opened), writers.closed, writers.written) == (2, 1, [RECORD])


def test_while_spark_is_not_there_it_is_asked_for_again_and_again() -> None:
    def open_writer(cluster: KafkaCluster, topic: str) -> Writers:
        raise Unavailable("Spark is starting")

    target = KafkaTopic("kafka://b", Topic("alerts", Login()), open_writer)
    with pytest.raises(DeliveryFailed, match="Spark is starting") as failed:
        asyncio.run(target.deliver([ANSWER]))
    assert failed.value.retry_in == 1


def test_who_stops_does_not_wait_for_a_cluster_that_does_not_answer() -> None:
    async def run() -> None:
        task = asyncio.create_task(topic_of(writers).deliver([ANSWER]))
        assert await asyncio.to_thread(writers.began.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    writers = Writers(held=threading.Event())
    asyncio.run(run())
    assert writers.closed == 1


def test_a_writer_that_is_made_after_who_wanted_it_has_stopped_is_closed_and_writes_nothing() -> None:
    async def run() -> None:
        target = topic_of(writers)
        task = asyncio.create_task(target.deliver([ANSWER]))
        assert await asyncio.to_thread(writers.began.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await target.close()
        opening.set()
        assert await asyncio.to_thread(writers.ended.wait, 10)

    opening = threading.Event()
    writers = Writers(held_opening=opening)
    asyncio.run(run())
    assert (writers.closed, writers.written) == (1, [])
