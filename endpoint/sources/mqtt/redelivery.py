"""Which messages of a session come again: those that were stored, but whose acknowledgement the broker may not have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Delivery(NamedTuple):
    """What is known of a message by its packet: its number, which is used again, and a digest of what it says."""

    packet: int
    digest: bytes

    @classmethod
    def of(cls, packet: int, topic: str, payload: bytes) -> Delivery:
        """The delivery of this message."""
        said = hashlib.blake2b(topic.encode() + b"\0", digest_size=8)
        said.update(payload)
        return cls(packet, said.digest())


class Redelivery:
    """Deliveries that were stored and may come again. They are positions of the log: by number, the digest.

    A broker delivers again, under the same number and marked so (MQTT 4.4), what it has no acknowledgement for. Whether
    it has one is known when it answers what was asked after it: then the number may be another message's, and is
    forgotten.
    """

    def __init__(self, positions: Mapping[str, bytes]) -> None:
        self._stored = {int(name): digest for name, digest in positions.items() if name.isdecimal()}
        self._asked: dict[int, list[Delivery]] = {}
        self._acknowledged: list[Delivery] = []
        self._forgotten: set[int] = set()

    def is_known(self, delivery: Delivery, *, again: bool) -> bool:
        """Whether this was stored; ``again``: the broker has marked it as delivered before."""
        return again and self._stored.get(delivery.packet) == delivery.digest

    def positions(self, deliveries: Iterable[Delivery]) -> dict[str, bytes]:
        """What is to be stored with these messages: them, and what may be forgotten since; said again until it is."""
        forgotten = {str(packet): b"" for packet in self._forgotten}
        return forgotten | {str(delivery.packet): delivery.digest for delivery in deliveries}

    def stored(self, deliveries: Iterable[Delivery]) -> None:
        """These messages are durable, with their positions, and are acknowledged now."""
        self._forgotten.clear()
        for delivery in deliveries:
            self._stored[delivery.packet] = delivery.digest
            self._acknowledged.append(delivery)

    def begin_anew(self) -> dict[str, bytes]:
        """The broker has another session, of which nothing was stored: the positions that say so."""
        gone = {str(packet): b"" for packet in self._stored}
        self._stored.clear()
        return gone

    def acknowledged(self, delivery: Delivery) -> None:
        """One that had come again is acknowledged once more."""
        self._acknowledged.append(delivery)

    def asked(self, question: int) -> None:
        """The broker was asked something, under this number, behind all acknowledgements so far."""
        self._asked[question] = self._acknowledged
        self._acknowledged = []

    def answered(self, question: int, delivered_since: Iterable[int]) -> None:
        """The broker has answered: it has these acknowledgements. Numbers that it has used again stay."""
        asked = self._asked.pop(question, [])
        since = {*delivered_since, *(later.packet for group in self._asked.values() for later in group)}
        for delivery in asked:
            packet = delivery.packet
            if packet not in since and self._stored.get(packet) == delivery.digest:
                del self._stored[packet]
                self._forgotten.add(packet)
