"""MQTT 5: a message an answer, acknowledged by the broker (QoS 1)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.to_thread
from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from endpoint.logins.mqtt import address_of, set_login
from endpoint.logins.password import LoginFailed
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.sinks.topic_settings import Topic

SECONDS = 30.0
"""For a connection, and for the broker to acknowledge the next of what it was sent."""

_KEEP_ALIVE = 30
_TICK_SECONDS = 1.0


class MqttPublisher:
    """Publishes to one topic, over a connection that is made when it is needed and given up when anything fails.

    The broker keeps nothing for it: what was not acknowledged is published again.
    """

    at_once = 20
    """What most brokers take before they have acknowledged any; they keep the order of one connection."""

    def __init__(self, url: str, topic: Topic) -> None:
        self._url = url
        self._topic = topic
        self._connection: _Connection | None = None
        self._lost: asyncio.Future[None] | None = None
        self._unacknowledged: dict[int, asyncio.Future[None]] = {}
        self._most = self.at_once
        # A broker that does not answer holds up this one thread, and none that others wait for.
        self._thread = anyio.CapacityLimiter(1)

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Publish them; returns when the broker has acknowledged all. Raises DeliveryFailed."""
        try:
            async with asyncio.timeout(SECONDS) as limit:
                if self._connection is None:
                    await self._connect()
                await self._publish(answers, limit)
        except TimeoutError:
            await self.close()
            raise DeliveryFailed(f"{self._url} did not answer in time") from None
        except LoginFailed as error:
            await self.close()
            raise DeliveryFailed(f"{self._url}: {error.detail}") from None
        except (OSError, ValueError) as error:
            await self.close()
            raise DeliveryFailed(f"{self._url} cannot be reached: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Say goodbye, if there is a connection."""
        connection, self._connection = self._connection, None
        self._unacknowledged.clear()
        self._lost = None
        if connection is not None:
            connection.close()

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        connected: asyncio.Future[None] = loop.create_future()
        self._lost = lost = loop.create_future()
        unacknowledged = self._unacknowledged = {}
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5, reconnect_on_failure=False)
        client.connect_timeout = SECONDS
        await anyio.to_thread.run_sync(self._open, client, limiter=self._thread)

        def on_connect(_: Client, __: Any, flags: ConnectFlags, reason: ReasonCode, properties: Any) -> None:
            # More at once would be an error of ours (MQTT 5 section 4.9).
            self._most = min(self.at_once, getattr(properties, "ReceiveMaximum", self.at_once))
            _settle(connected, _refusal(reason))

        def on_disconnect(_: Client, __: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Any) -> None:
            _settle(lost, f"the connection was closed ({reason})")

        def on_publish(_: Client, __: Any, number: int, reason: ReasonCode, properties: Any) -> None:
            waiting = unacknowledged.pop(number, None)
            if waiting is not None:
                _settle(waiting, _refusal(reason))

        # Nothing has been read yet, so nothing is missed.
        client.on_connect, client.on_disconnect, client.on_publish = on_connect, on_disconnect, on_publish
        self._connection = _Connection(client)
        await self._unless_lost(connected)

    def _open(self, client: Client) -> None:
        """Names are looked up and files read here, so not in the event loop."""
        set_login(client, self._url, self._topic.login)
        client.connect(*address_of(self._url), keepalive=_KEEP_ALIVE, clean_start=True)

    async def _publish(self, answers: Sequence[Answer], limit: asyncio.Timeout) -> None:
        assert self._connection is not None, "it was connected before"
        loop, client = asyncio.get_running_loop(), self._connection.client
        waiting: deque[asyncio.Future[None]] = deque()

        async def acknowledged() -> None:
            await self._unless_lost(waiting.popleft())
            # However slow the way is: all of these are sent again if the last one is late.
            limit.reschedule(loop.time() + SECONDS)

        for answer in answers:
            if len(waiting) >= self._most:
                await acknowledged()
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ContentType = answer.body.content_type
            properties.UserProperty = [("id", answer.identifier), ("query", answer.query)]
            # Acknowledged only in a later turn of the loop: so it is known by then who waits for it.
            sent = client.publish(self._topic.topic, answer.body.content, qos=1, properties=properties)
            if sent.rc != 0:
                raise DeliveryFailed(f"{self._url} takes nothing: the connection is closed")
            self._unacknowledged[sent.mid] = future = loop.create_future()
            waiting.append(future)
        while waiting:
            await acknowledged()

    async def _unless_lost(self, awaited: asyncio.Future[None]) -> None:
        """Raises DeliveryFailed if that fails, or the connection is lost before."""
        assert self._lost is not None, "there is a connection"
        await asyncio.wait([awaited, self._lost], return_when=asyncio.FIRST_COMPLETED)
        for future in (awaited, self._lost):
            if future.done() and (error := future.exception()) is not None:
                raise DeliveryFailed(f"{self._url}: {error}") from None
            if awaited.done():
                return


class _Connection:
    """What the event loop reads and writes for a client that has been connected.

    Paho's own loop waits by select, which takes no descriptor above 1,023: a server of many connections has those.
    """

    def __init__(self, client: Client) -> None:
        """Raises ConnectionError if the connection is closed already."""
        self.client = client
        self._loop = asyncio.get_running_loop()
        socket = client.socket()
        if socket is None:
            raise ConnectionError("the connection was closed at once")
        self._descriptor = socket.fileno()
        client.on_socket_register_write = lambda *_: self._await_room()
        client.on_socket_unregister_write = lambda *_: self._want_no_room()
        client.on_socket_close = lambda *_: self._leave()
        self._tick = self._loop.call_later(_TICK_SECONDS, self._ask)
        self._loop.add_reader(self._descriptor, self._read)
        if client.want_write():
            self._await_room()

    def close(self) -> None:
        """Say goodbye, as far as the network takes it at once."""
        # Without this callback it is written now, not when the event loop comes to it.
        self.client.on_socket_register_write = None
        self.client.disconnect()
        socket = self.client.socket()
        if socket is not None:
            self._leave()
            socket.close()

    def _read(self) -> None:
        """Read a packet. That the connection is lost is told by the client's ``on_disconnect``."""
        self.client.loop_read()
        # What TLS has deciphered already wakes nobody.
        while (pending := getattr(self.client.socket(), "pending", None)) and pending():
            self.client.loop_read()

    def _ask(self) -> None:
        """Ask the broker whether it is there, when it is time for that."""
        self._tick = self._loop.call_later(_TICK_SECONDS, self._ask)
        self.client.loop_misc()

    def _await_room(self) -> None:
        self._loop.add_writer(self._descriptor, self.client.loop_write)

    def _want_no_room(self) -> None:
        self._loop.remove_writer(self._descriptor)

    def _leave(self) -> None:
        """Before the socket is closed, and never again: its descriptor is another's afterwards."""
        client = self.client
        client.on_socket_register_write = client.on_socket_unregister_write = client.on_socket_close = None
        self._tick.cancel()
        self._want_no_room()
        self._loop.remove_reader(self._descriptor)


def _settle(future: asyncio.Future[None], failure: str | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(ConnectionError(failure))
        future.exception()  # seen: nobody may be waiting for it any more


def _refusal(reason: ReasonCode) -> str | None:
    return f"the broker refuses: {reason}" if reason.is_failure else None
