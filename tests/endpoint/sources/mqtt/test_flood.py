"""A broker that sends as fast as it is read."""

from __future__ import annotations

from collections import deque

import pytest
from paho.mqtt.client import MQTTMessage

from endpoint.sources.connection import MOST_MESSAGES, Surroundings
from endpoint.sources.mqtt.connection import MqttConnection
from protocol.formats.allow_list import AllowList
from protocol.sources import SourceSettings, SourceType


class Flood:
    """A session of which each look takes some milliseconds and gives a message, but for ``pauses``."""

    resumed = True

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0
        self.pauses: set[int] = set()
        self.taken = 0.01
        self.arrived: deque[MQTTMessage] = deque()
        self.arrived_bytes = 0

    def subscribe(self) -> list[str]:
        return []

    def look(self, seconds: float) -> None:
        self.looks += 1
        self.now += self.taken
        if self.looks not in self.pauses:
            message = MQTTMessage(topic=b"t")
            message.payload = b"%d" % self.looks
            self.arrived.append(message)
            self.arrived_bytes += len(message.payload)

    def is_copy(self, message: MQTTMessage) -> bool:
        return False

    def close(self) -> None: ...


@pytest.fixture
def flood(monkeypatch: pytest.MonkeyPatch) -> Flood:
    flood = Flood()
    monkeypatch.setattr("endpoint.sources.mqtt.connection.SessionClient", lambda *_, **__: flood)
    return flood


def read(connection: MqttConnection) -> list[bytes]:
    batch = connection.take(1.0)
    assert batch is not None
    connection.stored(batch)
    return [message.body for message in batch.messages]


def test_what_has_come_is_stored_soon_though_there_is_always_more(flood: Flood) -> None:
    settings = SourceSettings(SourceType.MQTT, "mqtt://broker", topics=("t",))
    surroundings = Surroundings("s", settings, AllowList(), "0", 1000, lambda seconds: False)
    connection = MqttConnection(surroundings, clock=lambda: flood.now)
    found: list[bytes] = []
    for _ in range(5):
        before = flood.now
        found += read(connection)
        assert flood.now - before < 0.3
    assert found == [b"%d" % number for number in range(1, len(found) + 1)]
    assert len(found) > 50
    # What is read quickly is stored in as few writes as can be.
    flood.taken = 0.00001
    assert len(read(connection)) == MOST_MESSAGES
    flood.pauses = {flood.looks + 7}
    assert len(read(connection)) == 6
