"""A hundred thousand messages of a broker, with both sides ended at random meanwhile: each once, in order."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from spark_backend.log.reader import LogReader
from tests.endpoint.sources.broker import Broker, needs_mosquitto
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.server, pytest.mark.long]

MESSAGES = 100_000
TOPICS = 4
KILLS = 5
AT = 1_767_225_600_000


def body(topic: int, number: int) -> str:
    if number % 1000 == 7:
        return f"not RDF {topic} {number}"
    return f'<http://ex/{topic}> <http://ex/n> "{number}" . <http://ex/o> <http://ex/at> {AT + number} .'


def publish(port: int, done: multiprocessing.sharedctypes.Synchronized[int]) -> None:
    """Publish all messages, each until the broker has it."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="publisher", clean_session=False)
    client.max_inflight_messages_set(100)
    client.reconnect_delay_set(1, 1)
    client.connect("127.0.0.1", port)
    client.loop_start()
    waiting = []
    for number in range(MESSAGES // TOPICS):
        waiting += [client.publish(f"t/{topic}", body(topic, number), 1) for topic in range(TOPICS)]
        if len(waiting) >= 400:
            for one in waiting:
                one.wait_for_publish(300)
            done.value = number + 1
            waiting.clear()
    for one in waiting:
        one.wait_for_publish(300)
    done.value = MESSAGES // TOPICS
    client.disconnect()
    client.loop_stop()


def numbers(data: Path, name: str) -> dict[str, list[int]]:
    """What the stream's log has of each subject, in the order in which it came."""
    (directory,) = (path for path in (data / "streams").iterdir() if path.name.removeprefix(f"{name}.").isdecimal())
    reader = LogReader(directory)
    rows, _ = reader.read_after(reader.begin, 2**40)
    found: dict[str, list[int]] = {}
    for batch in rows:
        assert isinstance(batch, pa.RecordBatch), f"damaged: {batch}"
        for subject, predicate, value in zip(*(batch[column].to_pylist() for column in "spo"), strict=True):
            if predicate == "<http://ex/n>":
                found.setdefault(subject, []).append(int(value.strip('"')))
    return found


def await_elements(server: ServerProcess, name: str, count: Callable[[], int]) -> None:
    deadline = time.monotonic() + 600
    while True:
        try:
            if server.client.get(f"/streams/{name}").json()["elements"] >= count():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, server.client.get(f"/streams/{name}").text
        time.sleep(0.2)


GOOD = [number for number in range(MESSAGES // TOPICS) if number % 1000 != 7]


@needs_mosquitto
def test_mqtt_with_both_sides_ended_at_random(tmp_path: Path) -> None:
    chance = random.Random(7)
    data = tmp_path / "data"
    with Broker(tmp_path / "broker") as broker, ServerProcess(data, options=["--allow-fetch", broker.url]) as server:
        source = {"type": "mqtt", "url": broker.url, "topics": ["t/#"], "contentType": "text/turtle"}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        server.wait(lambda: server.client.get("/streams/s").json()["sourceState"]["state"] == "running")
        done = multiprocessing.get_context("spawn").Value("i", 0)
        publisher = multiprocessing.get_context("spawn").Process(target=publish, args=(broker.port, done))
        began = time.monotonic()
        publisher.start()
        for kill in range(KILLS):
            threshold = (kill + chance.random()) / KILLS * MESSAGES
            await_elements(server, "s", lambda threshold=threshold: int(threshold))  # type: ignore[misc]
            server.kill()
            if kill % 2:
                time.sleep(chance.random() * 3)
            server.start()
            broker.stop()
            time.sleep(chance.random() * 3)
            broker.start()
        publisher.join(600)
        assert publisher.exitcode == 0
        good = len(GOOD) * TOPICS
        await_elements(server, "s", lambda: good)
        print(f"{MESSAGES} messages with {KILLS} ends of either side: {time.monotonic() - began:.0f} s")
        await_elements(server, "s/rejected", lambda: MESSAGES - good)
        assert server.client.get("/streams/s").json()["elements"] == good
        assert server.client.get("/streams/s/rejected").json()["elements"] == MESSAGES - good
        server.stop()
    assert numbers(data, "s") == {f"<http://ex/{topic}>": GOOD for topic in range(TOPICS)}
