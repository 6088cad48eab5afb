"""Topics of a Kafka cluster as a source: the backend reads and parses them."""

from __future__ import annotations

from endpoint.back_off import SPARK_SECONDS
from endpoint.logins.kafka_cluster import cluster_of
from endpoint.sources.connection import Surroundings
from protocol.errors import Unavailable
from protocol.kafka import KafkaReading
from protocol.sources import SourceBatch, SourceFailed


class KafkaConnection:
    """What the backend's feed gives. Kafka keeps nothing for who reads: positions are in the stream's log alone."""

    is_kept = False

    def __init__(self, surroundings: Surroundings) -> None:
        """Begin to read after the positions. Raises KafkaFailed, LoginFailed, SourceFailed while Spark is not there."""
        settings = surroundings.settings
        reading = KafkaReading(
            surroundings.stream,
            cluster_of(settings.url, settings.login),
            settings.topics,
            settings.content_type,
            surroundings.largest,
            surroundings.positions,
        )
        try:
            self._feed = surroundings.read_kafka(reading)
        except Unavailable as error:
            raise SourceFailed(error.detail, retry_in=SPARK_SECONDS) from error
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
