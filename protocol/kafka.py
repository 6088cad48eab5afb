"""Kafka, as the endpoint asks the backend for it: how to reach a cluster, what is read there and what is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from protocol.errors import ProtocolError
from protocol.login import MECHANISMS
from protocol.sources import SourceBatch

KAFKA_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}\Z")
"""The name of a topic."""


@dataclass(frozen=True)
class KafkaTls:
    """PEM texts, not paths: authorities to trust in place of the system's, the client's own certificate and its key."""

    authorities: str | None = None
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class KafkaCluster:
    """A cluster, and who asks it. ``address``: HOST:PORT of one of its brokers, which names the others."""

    address: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    mechanism: str = MECHANISMS[0]
    tls: KafkaTls | None = None


@dataclass(frozen=True)
class KafkaReading:
    """What a source reads, from its positions on.

    ``content_type``: of messages that have no header ``content-type``. A position has the name ``TOPIC/PARTITION`` and
    is the number of the next message there, or the name ``TOPIC`` and is what Kafka tells the topic by. ``largest`` is
    the most bytes that a message may have.
    """

    stream: str
    cluster: KafkaCluster
    topics: tuple[str, ...]
    content_type: str | None
    largest: int
    positions: Mapping[str, bytes]


class KafkaFeed(Protocol):
    """Messages that come. Used by one thread; what cannot be read raises ProtocolError, and the feed is over."""

    notice: str | None
    """What else is to be known, for a person."""

    def take(self, seconds: float) -> SourceBatch | None:
        """What has come next, of one partition, parsed; None if nothing comes within ``seconds``."""

    def stored(self) -> None:
        """What was taken is durable: what comes next may be taken."""

    def close(self) -> None:
        """Read no more. Again: does nothing."""


@dataclass(frozen=True)
class KafkaRecord:
    """A message to be written. Those with the same ``order`` are in one partition, so that they stay in order."""

    order: str
    key: bytes
    value: bytes
    headers: Mapping[str, bytes]


class KafkaWriter(Protocol):
    """Writes to one topic. Its methods block."""

    def write(self, records: Sequence[KafkaRecord]) -> None:
        """Write these, one after the other; all are acknowledged on return. Raises KafkaFailed: some may be written."""

    def close(self) -> None:
        """Write no more, not even what is being written. From any thread."""


class KafkaFailed(ProtocolError):
    """A cluster cannot be reached, or does not do what it is asked for."""

    status = 502
    title = "Kafka cannot be used"
