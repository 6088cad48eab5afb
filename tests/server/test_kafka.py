"""Topics of a real Kafka as the source of a stream, over HTTP, with Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.sources.kafka_broker import KafkaBroker
from tests.endpoint.sources.kafka_client import kafka_client
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.server, pytest.mark.spark]


def statement(number: int) -> bytes:
    return b'<http://ex/s> <http://ex/n> "%d" .' % number


def wait(server: ServerProcess, condition: Callable[[], bool]) -> None:
    """Spark has to start, and to load the connector."""
    server.wait(condition, patience=400, interval=0.2)


def stream(server: ServerProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get(f"/streams/{name}").json()
    return found


def test_messages_are_read_once_also_after_a_crash_and_answers_are_written(tmp_path: Path) -> None:
    with (
        KafkaBroker(tmp_path / "broker") as broker,
        kafka_client(broker.address) as client,
        ServerProcess(tmp_path / "data", options=["--allow-fetch", broker.url]) as server,
    ):
        client.create("t", partitions=2)
        source = {"type": "kafka", "url": broker.url, "topics": ["t"], "contentType": "text/turtle"}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        for number in range(50):
            client.send("t", statement(number), number % 2)
        client.send("t", b"not RDF", 0)
        client.send("t", b'{"@id": "http://ex/s", "http://ex/n": "json"}', 1, {"Content-Type": b"application/ld+json"})
        client.send("t", None, 1).get()
        wait(server, lambda: stream(server, "s")["elements"] == 51)
        wait(server, lambda: stream(server, "s/rejected")["elements"] == 1)
        state = stream(server, "s")["sourceState"]
        assert (state["state"], state["messages"], state["rejected"], state["notice"]) == ("running", 52, 1, None)
        rejected = server.client.get("/streams/s/rejected", headers={"Accept": "application/n-quads"}).text
        assert f"{broker.url}/t" in rejected
        server.kill()
        client.send("t", statement(50), 0).get()
        server.start()
        wait(server, lambda: stream(server, "s")["elements"] == 52)
        assert stream(server, "s/rejected")["elements"] == 1
