"""The network's side of an MQTT source: a client of paho's, driven by the thread that asks it."""

from __future__ import annotations

import select
import time
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable
from typing import Any

from paho.mqtt.client import (
    MQTT_CLEAN_START_FIRST_ONLY,
    Client,
    ConnectFlags,
    DisconnectFlags,
    MQTTMessage,
    error_string,
    topic_matches_sub,
)
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import MalformedPacket, Properties, VariableByteIntegers  # type: ignore[attr-defined]
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from endpoint.logins.mqtt import address_of, set_login
from protocol.sources import SourceFailed, SourceSettings

_PATIENCE = 10.0
"""Seconds in which a broker has to answer."""

_KEEP_ALIVE = 60
_SHARED = "$share/"
"""How a topic filter begins that several clients share (MQTT 5 section 4.8.2)."""

_SESSION_SECONDS = 30 * 24 * 60 * 60
"""For so long a broker keeps what comes while nobody reads it (MQTT 5; before, it is the broker's affair)."""


class SessionClient:
    """One connection to a persistent session. Messages are in ``arrived`` until somebody takes them out."""

    def __init__(self, settings: SourceSettings, identity: str, most: int, *, anew: bool = False) -> None:
        """Connect, and wait for the broker's word. Raises SourceFailed, LoginFailed.

        ``most`` messages at once are sent before one is acknowledged, where the broker can be told (MQTT 5). ``anew``:
        a session that the broker has is dropped, with what it kept.
        """
        self.arrived: deque[MQTTMessage] = deque()
        self.arrived_bytes = 0
        self.resumed = False
        self.on_answer: Callable[[int], None] = lambda question: None
        self._settings = settings
        self._is_5 = settings.version != "3.1.1"
        self._refused: str | None = None
        self._connected = False
        self._names_subscriptions = True
        self._granted: dict[int, ReasonCode] = {}
        self._answered: int | None = None
        if anew:
            # A connection of its own: before MQTT 5 none can drop what was and keep what comes, and mosquitto 2.0 does
            # not write down a session that was begun so.
            self._client = self._made(identity, clean=True)
            self._connect(clean=True, properties=None)
            self.close()
            self._connected = False
        self._client = self._made(identity, clean=False)
        self._connect(clean=False, properties=self._properties(most) if self._is_5 else None)

    def subscribe(self) -> list[str]:
        """Subscribe to all topics, so that no message has to be acknowledged before it is durable (QoS 1 at most).

        Returns those that the broker gives with QoS 0 alone: of these it keeps nothing, and awaits no word.
        """
        asked = [self._subscribe(topic, number) for number, topic in enumerate(self._settings.topics, 1)]
        self._await(lambda: len(self._granted) == len(asked), "did not answer the subscription")
        unkept = []
        for topic, packet in zip(self._settings.topics, asked, strict=True):
            granted = self._granted[packet]
            if granted.is_failure:
                raise SourceFailed(f"{self._settings.url} refuses the topic {topic}: {granted}")
            if granted.value == 0:
                unkept.append(topic)
        return unkept

    def is_copy(self, message: MQTTMessage) -> bool:
        """Whether the message comes for another topic filter, too, from a broker that sends it once for each (MQTT 5).

        It is taken for the first filter that it matches, and for a shared one only where no other does: of those that
        share, one client is sent it, so nobody can say whether it comes. Brokers that name no subscriptions send no
        copies that can be told from messages.
        """
        topics = self._settings.topics
        named = getattr(message.properties, "SubscriptionIdentifier", ())
        sent_for = [topic for number, topic in enumerate(topics, 1) if number in named]
        if not sent_for:
            return False
        alone = [topic for topic in topics if not topic.startswith(_SHARED)]
        taken_for = next((topic for topic in alone if topic_matches_sub(topic, message.topic)), None)
        return taken_for is not None and taken_for not in sent_for

    def look(self, seconds: float) -> None:
        """Read and write what can be read and written, waiting for the first at most so long. Raises SourceFailed."""
        socket = self._client.socket()
        if socket is None:
            raise SourceFailed(self._refused or f"{self._settings.url} has closed the connection")
        pending = getattr(socket, "pending", None)
        if (pending and pending()) or self._is_readable(socket, seconds):
            self._check(self._client.loop_read())
        if self._client.want_write():
            self._check(self._client.loop_write())
        self._check(self._client.loop_misc())

    def _is_readable(self, socket: Any, seconds: float) -> bool:
        """Whether there is something to be read, or to be told, waiting for it or until something can be written."""
        # No select: a server of many connections has descriptors that it does not take.
        poll = select.poll()
        poll.register(socket, select.POLLIN | (select.POLLOUT if self._client.want_write() else 0))
        return any(event & ~select.POLLOUT for _, event in poll.poll(seconds * 1000))

    def acknowledge(self, packet: int) -> None:
        """The message of this packet is durable."""
        self._client.ack(packet, 1)

    def ask(self, topic: str) -> int:
        """Ask something that changes nothing, so that its answer says that all before it has come; its number.

        It is to unsubscribe from a topic that nobody has subscribed to.
        """
        code, question = self._client.unsubscribe(topic)
        self._check(code)
        assert question is not None
        return question

    def leave(self) -> None:
        """Have the broker forget the session; before MQTT 5, its subscriptions. Raises SourceFailed."""
        # What still comes is for nobody. The answer is waited for: a connection that is closed while there is
        # something to be read may take along what was written.
        self._client.on_message = None
        code, question = self._client.unsubscribe(list(self._settings.topics))
        self._check(code)
        self._await(lambda: self._answered == question, "did not answer that nothing is subscribed to any more")
        if self._is_5:
            properties = Properties(PacketTypes.DISCONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 0
            self._client.disconnect(properties=properties)

    def close(self) -> None:
        """Close the connection; the session stays."""
        self._client.disconnect()
        socket = self._client.socket()
        if socket is not None:
            socket.close()

    def _made(self, identity: str, *, clean: bool) -> Client:
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"sps-{identity}",
            clean_session=None if self._is_5 else clean,
            protocol=MQTTProtocolVersion.MQTTv5 if self._is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = _PATIENCE
        set_login(client, self._settings.url, self._settings.login)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_unsubscribe = self._on_unsubscribe
        client.on_message = self._on_message
        return client

    def _subscribe(self, topic: str, number: int) -> int:
        """Ask for a topic; the number of the packet. ``number``: the filter's, by which ``is_copy`` knows it."""
        if self._is_5:
            # What is retained comes when a subscription is new, not at every start.
            options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
            properties = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
            if self._names_subscriptions:
                properties.SubscriptionIdentifier = number
            code, packet = self._client.subscribe(topic, options=options, properties=properties)
        else:
            code, packet = self._client.subscribe(topic, 1)
        self._check(code)
        assert packet is not None
        return packet

    def _connect(self, *, clean: bool, properties: Properties | None) -> None:
        host, port = address_of(self._settings.url)
        try:
            clean_start = clean if self._is_5 else MQTT_CLEAN_START_FIRST_ONLY
            self._client.connect(host, port, _KEEP_ALIVE, clean_start=clean_start, properties=properties)
            self._await(lambda: self._connected, "did not take the connection")
        except OSError as error:
            self.close()
            raise SourceFailed(f"{self._settings.url} cannot be reached: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def _properties(self, most: int) -> Properties:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = _SESSION_SECONDS
        # No MaximumPacketSize: a broker drops what is longer and tells nobody (MQTT 5 section 3.1.2.11.4). What comes
        # at once is bounded as with 3.1.1: a packet has at most 256 MiB, and few wait (``MqttConnection._drain``).
        properties.ReceiveMaximum = most
        return properties

    def _await(self, condition: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise SourceFailed(f"{self._settings.url} {otherwise} within {_PATIENCE:g} s")
            self.look(0.1)

    def _check(self, code: MQTTErrorCode) -> None:
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise SourceFailed(self._refused or f"{self._settings.url}: {error_string(code)}")

    def _on_connect(
        self, client: Client, userdata: Any, flags: ConnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        if code.is_failure:
            self._refused = f"{self._settings.url} refuses the connection: {code}"
            return
        self._connected, self.resumed = True, flags.session_present
        self._names_subscriptions = bool(getattr(properties, "SubscriptionIdentifierAvailable", True))

    def _on_disconnect(
        self, client: Client, userdata: Any, flags: DisconnectFlags, code: ReasonCode, properties: Properties | None
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            self._refused = f"{self._settings.url} has ended the connection: {code}"

    def _on_subscribe(
        self, client: Client, userdata: Any, packet: int, codes: list[ReasonCode], properties: Properties | None
    ) -> None:
        (self._granted[packet],) = codes

    def _on_unsubscribe(
        self, client: Client, userdata: Any, packet: int, codes: list[ReasonCode], properties: Properties | None
    ) -> None:
        self._answered = packet
        self.on_answer(packet)

    def _on_message(self, client: Client, userdata: Any, message: MQTTMessage) -> None:
        self.arrived.append(message)
        self.arrived_bytes += len(message.payload)


class _Client(Client):
    """Paho's, which refuses a message with a byte order mark in its properties, though it may have one (MQTT 5 section
    1.5.4): the broker would send it again and again, and nothing behind it.
    """

    def _handle_publish(self) -> MQTTErrorCode:
        try:
            return super()._handle_publish()
        except MalformedPacket:
            self._in_packet["packet"] = _without_marks(self._in_packet["command"], self._in_packet["packet"])
            return super()._handle_publish()


def _without_marks(command: int, packet: bytearray) -> bytearray:
    """A PUBLISH packet of MQTT 5 (section 3.3) with U+FFFD, which is as long, for each mark in its properties."""
    begin = 2 + int.from_bytes(packet[:2]) + (2 if command & 0x06 else 0)
    length, width = VariableByteIntegers.decode(packet[begin:])  # type: ignore[no-untyped-call]
    end = begin + width + length
    return packet[:begin] + packet[begin:end].replace(BOM_UTF8, "\ufffd".encode()) + packet[end:]
