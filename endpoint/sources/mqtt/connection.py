"""The messages of a broker as a source: each once, acknowledged when it is durable."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable
from urllib.parse import quote

from paho.mqtt.client import MQTTMessage

from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES, Surroundings
from endpoint.sources.mqtt.client import SessionClient
from endpoint.sources.mqtt.redelivery import Delivery, Redelivery
from protocol.sources import SourceBatch, SourceFailed, SourceMessage, bounded_message

_SUBSCRIBED = "topics"
"""The position that says which topics the session has: to ask for them again would bring what they retain again."""

_LOST = b"lost"
"""It says so from when a session was found lost until its topics are subscribed to again: the broker knows the next one
at once, though it may have none yet, also where it refuses them and the server is started anew.
"""

_LOOK_SECONDS = 0.1
_DRAIN_SECONDS = 0.2
"""So long is read at most before what has come is stored: a broker may send as fast as it is read."""


class MqttConnection:
    """Reads a persistent session. What arrives is not read from the network before what came earlier is durable."""

    is_kept = True

    def __init__(self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
        """Connect and subscribe. ``clock`` gives seconds. Raises SourceFailed, LoginFailed."""
        self._clock = clock
        self.notice: str | None = None
        settings = surroundings.settings
        self._surroundings = surroundings
        self._redelivery = Redelivery(surroundings.positions)
        self._taken: list[Delivery] = []
        self._failure: SourceFailed | None = None
        known = surroundings.positions.get(_SUBSCRIBED)
        # Without a position this stream has read nothing: the session is of one that had its name before.
        self._client = SessionClient(settings, surroundings.identity, MOST_MESSAGES, anew=known is None)
        self._client.on_answer = self._answered
        self._topics = hashlib.blake2b("\0".join(settings.topics).encode(), digest_size=8).digest()
        found_lost = known == self._topics and not self._client.resumed
        if found_lost or known == _LOST:
            self.notice = "the broker did not know the session any more: what came meanwhile is lost"
        self._changed = {} if self._client.resumed else self._redelivery.begin_anew()
        if found_lost:
            self._changed[_SUBSCRIBED] = _LOST
        elif known != self._topics:
            try:
                self._subscribe()
            except BaseException:
                self._client.close()
                raise

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        deadline = self._clock() + seconds
        if self._failure is not None:
            raise self._failure
        while not self._client.arrived and not self._changed:
            left = deadline - self._clock()
            if left <= 0 or self._surroundings.wait(0):
                return None
            self._client.look(min(left, _LOOK_SECONDS))
        self._drain()
        return self._batch()

    def stored(self, batch: SourceBatch) -> None:
        """Acknowledge the messages, and ask whether that has come; subscribe, where it was stored that the session is
        lost. Raises SourceFailed.
        """
        for delivery in self._taken:
            self._client.acknowledge(delivery.packet)
        self._redelivery.stored(self._taken)
        if self._taken and self._failure is None:
            self._redelivery.asked(self._client.ask(f"sparql-streams/{self._surroundings.identity}"))
        self._taken = []
        found_lost = self._changed.get(_SUBSCRIBED) == _LOST
        self._changed = {}
        if found_lost:
            self._subscribe()

    def close(self) -> None:
        """Close the connection; the session stays with the broker."""
        self._client.close()

    def forget(self) -> None:
        """Have the broker keep nothing more for this stream. Raises SourceFailed."""
        self._client.leave()

    def _subscribe(self) -> None:
        """Subscribe to the topics, and say so with what is stored next. Raises SourceFailed."""
        if unkept := self._client.subscribe():
            given = ", ".join(unkept)
            told = f"the broker gives {given} with QoS 0 alone: what comes while the source is away is lost"
            self.notice = told if self.notice is None else f"{self.notice}; {told}"
        self._changed[_SUBSCRIBED] = self._topics

    def _drain(self) -> None:
        """Read what is there already, as much as one batch takes, and for no longer than it may wait."""
        client, before, until = self._client, -1, self._clock() + _DRAIN_SECONDS
        while before < len(client.arrived) < MOST_MESSAGES and client.arrived_bytes < MOST_BYTES:
            if self._clock() >= until:
                return
            before = len(client.arrived)
            try:
                client.look(0)
            except SourceFailed as failure:
                self._failure = failure  # what was sent with QoS 0 before does not come again: it is stored first
                return

    def _batch(self) -> SourceBatch | None:
        messages: list[SourceMessage] = []
        size = 0
        while self._client.arrived and len(messages) < MOST_MESSAGES and size < MOST_BYTES:
            message = self._client.arrived.popleft()
            size += len(message.payload)
            self._client.arrived_bytes -= len(message.payload)
            delivery = Delivery.of(message.mid, message.topic, bytes(message.payload))
            if self._client.is_copy(message):
                if message.qos:
                    self._client.acknowledge(message.mid)
                continue
            if message.qos and self._redelivery.is_known(delivery, again=message.dup):
                self._client.acknowledge(message.mid)
                self._redelivery.acknowledged(delivery)
                continue
            if message.qos:
                self._taken.append(delivery)
            messages.append(self._message(message, delivery))
        positions = self._changed | self._redelivery.positions(self._taken)
        return SourceBatch(messages, positions) if messages or self._changed else None

    def _message(self, message: MQTTMessage, delivery: Delivery) -> SourceMessage:
        settings = self._surroundings.settings
        said = getattr(message.properties, "ContentType", None) if message.properties is not None else None
        origin = f"{settings.url.rstrip('/')}/{quote(message.topic)}"
        # With QoS 0 no packet has a number, and nothing comes again.
        key = f"{delivery.packet} ".encode() + delivery.digest if message.qos else uuid.uuid4().bytes
        body, largest = bytes(message.payload), self._surroundings.largest
        return bounded_message(body, len(body), largest, said or settings.content_type, origin, key)

    def _answered(self, question: int) -> None:
        """Whatever arrived since may have a number that is used again."""
        since = [*(message.mid for message in self._client.arrived), *(one.packet for one in self._taken)]
        self._redelivery.answered(question, since)
