"""The connection of each type of source."""

from __future__ import annotations

from collections.abc import Mapping

from endpoint.sources.connection import Connector
from endpoint.sources.files.connection import FileConnection
from endpoint.sources.kafka.connection import KafkaConnection
from endpoint.sources.ldes.connection import LdesConnection
from endpoint.sources.mqtt.connection import MqttConnection
from endpoint.sources.sse.connection import SseConnection
from endpoint.sources.websocket.connection import WebSocketConnection
from protocol.sources import SourceType

CONNECTORS: Mapping[SourceType, Connector] = {
    SourceType.FILE: FileConnection,
    SourceType.KAFKA: KafkaConnection,
    SourceType.LDES: LdesConnection,
    SourceType.SSE: SseConnection,
    SourceType.WEBSOCKET: WebSocketConnection,
    SourceType.MQTT: MqttConnection,
}
