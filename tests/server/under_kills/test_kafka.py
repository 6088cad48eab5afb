"""A hundred thousand messages of Kafka's, with both sides killed at random meanwhile: each once, in order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.endpoint.sources.kafka_broker import KafkaBroker
from tests.endpoint.sources.kafka_client import kafka_client
from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import GOOD, MESSAGES, PLACES, REJECTED, TOPICS, rejected, stored
from tests.server.under_kills.sides import PATIENCE, Program, StoredElements, end_both

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
