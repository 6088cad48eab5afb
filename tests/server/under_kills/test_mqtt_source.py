"""A hundred thousand messages of a broker, with both sides ended at random meanwhile: each once, in order."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from tests.mosquitto import Mosquitto, needs_mosquitto
from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import GOOD, MESSAGES, PLACES, REJECTED, TOPICS, body, rejected, stored
from tests.server.under_kills.sides import PATIENCE, StoredElements, WrittenBroker, end_both

pytestmark = [pytest.mark.server, pytest.mark.long]


def publish(port: int) -> None:
    """Publish all messages, each until the broker has it."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="publisher", clean_session=False)
    client.max_inflight_messages_set(100)
    client.reconnect_delay_set(1, 1)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for first in range(0, MESSAGES, 400):
        numbers = range(first, min(first + 400, MESSAGES))
        for sent in [client.publish(f"t/{number % TOPICS}", body(number), 1) for number in numbers]:
            sent.wait_for_publish(PATIENCE)
    client.disconnect()
    client.loop_stop()


@needs_mosquitto
def test_mqtt_with_both_sides_ended_at_random(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Mosquitto(tmp_path / "broker") as broker, ServerProcess(data, options=["--allow-fetch", broker.url]) as server:
        source = {"type": "mqtt", "url": broker.url, "topics": ["t/#"], "contentType": "text/turtle"}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        server.wait(lambda: server.client.get("/streams/s").json()["sourceState"]["state"] == "running")
        publisher = multiprocessing.get_context("spawn").Process(target=publish, args=(broker.port,))
        elements, began = StoredElements(server, "s"), time.monotonic()
        publisher.start()
        end_both(server, WrittenBroker(broker), elements, MESSAGES, seed=7)
        publisher.join(PATIENCE)
        assert publisher.exitcode == 0
        server.wait(lambda: elements() >= GOOD, PATIENCE)
        print(f"{MESSAGES} messages in {time.monotonic() - began:.0f} s")
        assert server.client.get("/streams/s").json()["rejected"] == REJECTED.total()
        server.stop()
    assert stored(data, "s") == PLACES
    assert rejected(data, "s") == REJECTED
