"""A hundred thousand messages of Kafka's, and answers to it, with both sides killed at random: none is lost."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from tests.endpoint.sources.kafka.broker import KafkaBroker
from tests.endpoint.sources.kafka.client import kafka_client
from tests.server.server_process import ServerProcess
from tests.server.under_kills.answers import ANSWERS, check_each_in_order, fed, stand
from tests.server.under_kills.messages import GOOD, MESSAGES, PLACES, REJECTED, TOPICS, rejected, stored
from tests.server.under_kills.sides import KILLS, PATIENCE, Program, StoredElements, end_both

pytestmark = [pytest.mark.server, pytest.mark.spark, pytest.mark.long]


def test_each_message_is_read_once_in_the_order_of_its_partition(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        KafkaBroker(tmp_path / "broker") as broker,
        ServerProcess(data, options=["--allow-fetch", broker.url]) as server,
    ):
        with kafka_client(broker.address) as client:
            client.create("t", partitions=TOPICS)
        source = {"type": "kafka", "url": broker.url, "topics": ["t"], "contentType": "text/turtle"}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        elements, began = StoredElements(server, "s"), time.monotonic()
        with Program("kafka_publisher", broker.address) as publisher:
            end_both(server, broker, elements, MESSAGES, seed=23)
            server.wait(publisher.ended, PATIENCE)
        server.wait(lambda: elements() >= GOOD, PATIENCE)
        print(f"{MESSAGES} messages in {time.monotonic() - began:.0f} s")
        server.wait(lambda: server.client.get("/streams/s").json()["rejected"] == REJECTED.total(), PATIENCE)
        server.stop()
    assert stored(data, "s") == PLACES
    assert rejected(data, "s") == REJECTED


def test_each_answer_is_written_in_order(tmp_path: Path) -> None:
    with (
        KafkaBroker(tmp_path / "broker") as broker,
        kafka_client(broker.address) as client,
        ServerProcess(tmp_path / "data", options=["--allow-fetch", broker.url]) as server,
    ):
        client.create("answers", partitions=3)
        stand(server, {"topic": {"type": "kafka", "url": broker.url, "topic": "answers"}})
        began = time.monotonic()
        with fed(server):
            end_both(server, broker, lambda: client.count("answers"), ANSWERS, seed=29)
            server.wait(lambda: client.count("answers") >= ANSWERS, PATIENCE, 1)
            server.wait(lambda: server.client.get("/queries/q/sinks/topic").json()["behind"] == "PT0S", PATIENCE, 1)
        print(f"{ANSWERS} answers in {time.monotonic() - began:.0f} s")
        taken = [(key.decode(), hashlib.sha256(value).hexdigest()) for _, _, key, value, _ in client.read("answers")]
    check_each_in_order(taken, 2 * 20 * KILLS)
