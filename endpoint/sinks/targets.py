"""From a sink's settings to where its answers go, as far as the server may go there."""

from __future__ import annotations

from collections.abc import Sequence

from endpoint.sinks.json_lines_file import JsonLinesFile
from endpoint.sinks.kafka import KafkaTopic, WriteKafka
from endpoint.sinks.mqtt import MqttPublisher
from endpoint.sinks.target import Answer, DeliveryFailed, Target
from endpoint.sinks.webhook import Webhook
from protocol.errors import ProtocolError
from protocol.formats.allow_list import AllowList
from protocol.sinks.settings import SinkSettings, SinkType


class SinkRefused(ProtocolError):
    """The address of a sink is none that the server may use."""

    status = 403
    title = "The sink is not allowed"
    refusal = "fetch"


def require_permitted(settings: SinkSettings, allowed: AllowList) -> None:
    """Raises SinkRefused unless the server may use the sink's address."""
    if not allowed.permits(settings.url, settings.type.schemes):
        raise SinkRefused(
            f"this server may not send to {settings.url}: --allow-fetch names the addresses that sinks may have"
        )


class Refused:
    """Stands for a receiver that the server may not use any more: it was started with other addresses since."""

    at_once = 1

    def __init__(self, why: str) -> None:
        self._why = why

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Raises DeliveryFailed."""
        raise DeliveryFailed(self._why)

    async def close(self) -> None:
        """Nothing was opened."""


def target_of(settings: SinkSettings, write_kafka: WriteKafka, allowed: AllowList) -> Target:
    """The receiver that the settings name; nothing is opened yet. ``write_kafka``: the backend's."""
    try:
        require_permitted(settings, allowed)
    except SinkRefused as error:
        return Refused(error.detail)
    if settings.rotation is not None:
        return JsonLinesFile(settings.url, settings.format, settings.rotation, allowed)
    if settings.topic is not None and settings.type is SinkType.KAFKA:
        return KafkaTopic(settings.url, settings.topic, write_kafka)
    if settings.topic is not None:
        return MqttPublisher(settings.url, settings.topic)
    return Webhook(settings)
