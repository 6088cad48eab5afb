"""Kafka: a message an answer, written by the backend, acknowledged by all replicas that are in sync."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import anyio
import anyio.to_thread

from endpoint.back_off import SPARK_SECONDS
from endpoint.logins.kafka_cluster import cluster_of
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.errors import ProtocolError, Unavailable
from protocol.kafka import KafkaCluster, KafkaRecord, KafkaWriter
from protocol.sinks.topic_settings import Topic

logger = logging.getLogger(__name__)

WriteKafka = Callable[[KafkaCluster, str], KafkaWriter]
"""Makes what writes to a topic. Raises ProtocolError if that cannot be."""


class KafkaTopic:
    """Writes to one topic, by a writer that is made when it is needed and given up when anything fails."""

    at_once = 20

    def __init__(self, url: str, topic: Topic, write_kafka: WriteKafka) -> None:
        self._url = url
        self._topic = topic
        self._write_kafka = write_kafka
        self._writer: KafkaWriter | None = None
        # A cluster that does not answer holds up this one thread, and nobody else's.
        self._thread = anyio.CapacityLimiter(1)
        self._keeping = threading.Lock()

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Write them; returns when the cluster has acknowledged all. Raises DeliveryFailed."""
        given_up = threading.Event()
        try:
            await anyio.to_thread.run_sync(
                self._write, answers, given_up, abandon_on_cancel=True, limiter=self._thread
            )  # fmt: skip
        except ProtocolError as error:
            await self.close()
            own = isinstance(error, Unavailable)
            raise DeliveryFailed(error.detail, retry_in=SPARK_SECONDS if own else None) from error
        except BaseException:
            with self._keeping:
                given_up.set()
            await self.close()
            raise

    async def close(self) -> None:
        """Write no more, if there is a writer."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_close, writer)

    def _write(self, answers: Sequence[Answer], given_up: threading.Event) -> None:
        writer = self._writer
        if writer is None:
            # Reads files.
            writer = self._write_kafka(cluster_of(self._url, self._topic.login), self._topic.topic)
            with self._keeping:
                kept = not given_up.is_set()
                if kept:
                    self._writer = writer
            if not kept:
                # Nobody else would.
                _close(writer)
                return
        writer.write([_record(answer) for answer in answers])


def _close(writer: KafkaWriter) -> None:
    try:
        writer.close()
    except ProtocolError as error:
        logger.info("a writer was not closed: %s", error.detail)


def _record(answer: Answer) -> KafkaRecord:
    headers = {"content-type": answer.body.content_type.encode(), "query": answer.query.encode()}
    return KafkaRecord(answer.query, answer.identifier.encode(), answer.body.content, headers)
