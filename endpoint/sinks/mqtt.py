"""MQTT 5: a message an answer, acknowledged by the broker (QoS 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

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
"""For a connection, and for the broker to acknowledge what it was sent."""

_KEEP_ALIVE = 30


class MqttPublisher:
    """Publishes to one topic, over a connection that is made when it is needed and given up when anything fails.

    The broker keeps nothing for it: what was not acknowledged is published again. Paho's network thread is the only
    other one, and tells the event loop.
    """

    at_once = 20
    """What brokers take before they have acknowledged any; they keep the order of one connection."""

    def __init__(self, url: str, topic: Topic) -> None:
        self._url = url
        self._topic = topic
        self._client: Client | None = None
        self._lost: asyncio.Future[None] | None = None
        self._unacknowledged: dict[int, asyncio.Future[None]] = {}

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Publish them; returns when the broker has acknowledged all. Raises DeliveryFailed."""
        try:
            async with asyncio.timeout(SECONDS):
                if self._client is None:
                    await self._connect()
                await self._publish(answers)
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
        client, self._client = self._client, None
        self._unacknowledged.clear()
        self._lost = None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_end, client)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        connected: asyncio.Future[None] = loop.create_future()
        self._lost = lost = loop.create_future()
        unacknowledged = self._unacknowledged = {}
        client = self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5, reconnect_on_failure=False)
        client.connect_timeout = SECONDS

        def on_connect(_: Client, __: Any, flags: ConnectFlags, reason: ReasonCode, properties: Any) -> None:
            loop.call_soon_threadsafe(_settle, connected, _refusal(reason))

        def on_disconnect(_: Client, __: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Any) -> None:
            loop.call_soon_threadsafe(_settle, lost, f"the connection was closed ({reason})")

        def on_publish(_: Client, __: Any, number: int, reason: ReasonCode, properties: Any) -> None:
            loop.call_soon_threadsafe(acknowledge, number, _refusal(reason))

        def acknowledge(number: int, refusal: str | None) -> None:
            waiting = unacknowledged.pop(number, None)
            if waiting is not None:
                _settle(waiting, refusal)

        client.on_connect, client.on_disconnect, client.on_publish = on_connect, on_disconnect, on_publish
        await anyio.to_thread.run_sync(self._open, client)
        await self._unless_lost(connected)

    def _open(self, client: Client) -> None:
        """Names are looked up and files read here, so not in the event loop."""
        set_login(client, self._url, self._topic.login)
        client.connect(*address_of(self._url), keepalive=_KEEP_ALIVE, clean_start=True)
        client.loop_start()

    async def _publish(self, answers: Sequence[Answer]) -> None:
        assert self._client is not None, "it was connected before"
        waiting: list[asyncio.Future[None]] = []
        for answer in answers:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ContentType = answer.body.content_type
            properties.UserProperty = [("id", answer.identifier), ("query", answer.query)]
            # Acknowledged only in a later turn of the loop: so it is known by then who waits for it.
            sent = self._client.publish(self._topic.topic, answer.body.content, qos=1, properties=properties)
            if sent.rc != 0:
                raise DeliveryFailed(f"{self._url} takes nothing: the connection is closed")
            self._unacknowledged[sent.mid] = future = asyncio.get_running_loop().create_future()
            waiting.append(future)
        for future in waiting:
            await self._unless_lost(future)

    async def _unless_lost(self, awaited: asyncio.Future[None]) -> None:
        """Raises DeliveryFailed if that fails, or the connection is lost before."""
        assert self._lost is not None, "there is a connection"
        await asyncio.wait([awaited, self._lost], return_when=asyncio.FIRST_COMPLETED)
        for future in (awaited, self._lost):
            if future.done() and (error := future.exception()) is not None:
                raise DeliveryFailed(f"{self._url}: {error}") from None
            if awaited.done():
                return


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


def _end(client: Client) -> None:
    client.disconnect()
    client.loop_stop()
