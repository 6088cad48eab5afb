"""Topics of a Kafka cluster as a source: the backend reads and parses them."""

from __future__ import annotations

from endpoint.logins.kafka_cluster import cluster_of
from endpoint.sources.connection import Surroundings
from protocol.kafka import KafkaReading
from protocol.sources import SourceBatch


class KafkaConnection:
    """What the backend's feed gives. Kafka keeps nothing for who reads: positions are in the stream's log alone."""

    def __init__(self, surroundings: Surroundings) -> None:
        """Begin to read after the positions. Raises KafkaFailed, LoginFailed, Unavailable."""
        settings = surroundings.settings
        self._feed = surroundings.read_kafka(
            KafkaReading(
                surroundings.stream,
                cluster_of(settings.url, settings.login),
                settings.topics,
                settings.content_type,
                surroundings.positions,
            )
        )
        self.notice = self._feed.notice

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        return self._feed.take(seconds)

    def stored(self, batch: SourceBatch) -> None:
        """Have what comes next."""
        self._feed.stored()

    def close(self) -> None:
        """Read no more."""
        self._feed.close()

    def forget(self) -> None:
        """Nobody keeps anything."""
