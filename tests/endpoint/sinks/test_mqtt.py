"""MQTT by a real broker: mosquitto, where it is installed."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from endpoint.sinks.mqtt import MqttPublisher
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.formats.sse import resume_token
from protocol.login import Login, TlsFiles
from protocol.sinks.body import Body
from protocol.sinks.topic_settings import Topic
from tests.endpoint.live.live_side import run
from tests.mosquitto import Mosquitto, needs_mosquitto


def answers(*numbers: int) -> list[Answer]:
    return [Answer("q", n, resume_token(n), Body(b"%d" % n, "text/plain; charset=utf-8")) for n in numbers]


@contextmanager
def subscriber(broker: Mosquitto, topic: str) -> Iterator[list[MQTTMessage]]:
    """What comes to the topic, from now on."""
    came: list[MQTTMessage] = []
    subscribed = threading.Event()
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.on_message = lambda _, __, message: came.append(message)
    client.on_subscribe = lambda *_: subscribed.set()
    client.connect("127.0.0.1", broker.port, clean_start=True)
    client.subscribe(topic, qos=1)
    client.loop_start()
    try:
        assert subscribed.wait(20)
        yield came
    finally:
        client.disconnect()
        client.loop_stop()


def came_all(came: list[MQTTMessage], count: int) -> list[MQTTMessage]:
    deadline = time.monotonic() + 20
    while len(came) < count:
        assert time.monotonic() < deadline, f"{len(came)} of {count} came"
        time.sleep(0.01)
    return came


def delivered(url: str, topic: Topic, *batches: list[Answer]) -> None:
    async def deliver() -> None:
        publisher = MqttPublisher(url, topic)
        try:
            for batch in batches:
                await publisher.deliver(batch)
        finally:
            await publisher.close()

    run(deliver())


@needs_mosquitto
def test_an_answer_is_a_message_with_its_id(tmp_path: Path) -> None:
    with Mosquitto(tmp_path / "broker") as broker, subscriber(broker, "home/#") as came:
        delivered(broker.url, Topic("home/alerts"), answers(1, 2, 3), answers(4))
        messages = came_all(came, 4)
        assert [message.payload for message in messages] == [b"1", b"2", b"3", b"4"]
        assert {(message.topic, message.qos) for message in messages} == {("home/alerts", 1)}
        properties: Any = messages[0].properties
        assert dict(properties.UserProperty) == {"id": resume_token(1), "query": "q"}
        assert properties.ContentType == "text/plain; charset=utf-8"


@needs_mosquitto
def test_a_server_of_many_connections_publishes_as_well(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Mosquitto(tmp_path / "broker") as broker, subscriber(broker, "t") as came:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        others = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
        try:
            delivered(broker.url, Topic("t"), answers(1))
        finally:
            for one in others:
                os.close(one)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert [message.payload for message in came_all(came, 1)] == [b"1"]


@needs_mosquitto
def test_answers_that_the_network_does_not_take_at_once_come_whole(tmp_path: Path) -> None:
    bodies = [bytes([n]) * 3_000_000 for n in range(20)]
    batch = [Answer("q", n, resume_token(n), Body(body, "text/plain")) for n, body in enumerate(bodies, 1)]
    with Mosquitto(tmp_path / "broker") as broker, subscriber(broker, "t") as came:
        delivered(broker.url, Topic("t"), batch)
        assert [message.payload for message in came_all(came, 20)] == bodies


@needs_mosquitto
@pytest.mark.skipif(shutil.which("openssl") is None, reason="this machine has no openssl to make a certificate with")
def test_a_broker_that_speaks_over_tls_is_understood(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *made.split(), "-addext", "subjectAltName=DNS:localhost"], check=True)
    lines = (f"certfile {certificate}", f"keyfile {key}")
    with Mosquitto(tmp_path / "broker", further=lines) as broker:
        login = Login(tls=TlsFiles(authorities=str(certificate)))
        url = broker.url.replace("mqtt:", "mqtts:").replace("127.0.0.1", "localhost")
        delivered(url, Topic("t", login), answers(1, 2), answers(*range(3, 200)))


@needs_mosquitto
def test_a_connection_that_says_nothing_for_long_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoint.sinks.mqtt._KEEP_ALIVE", 1)
    monkeypatch.setattr("endpoint.sinks.mqtt._TICK_SECONDS", 0.1)

    async def deliver(broker: Mosquitto) -> None:
        publisher = MqttPublisher(broker.url, Topic("t"))
        await publisher.deliver(answers(1))
        await asyncio.sleep(2.5)  # brokers close what was silent for one and a half times that
        await publisher.deliver(answers(2))
        await publisher.close()

    with Mosquitto(tmp_path / "broker") as broker, subscriber(broker, "t") as came:
        run(deliver(broker))
        assert [message.payload for message in came_all(came, 2)] == [b"1", b"2"]


def test_what_is_no_broker_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"\x40\x06\0\x01\0\x02\xff\xff")  # properties that end too early
                connection.recv(1000)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(DeliveryFailed, match="Protocol error"):
            delivered(f"mqtt://127.0.0.1:{server.getsockname()[1]}", Topic("t"), answers(1))


@dataclass
class SlowBroker:
    """A broker of one connection that takes so many messages at once, and acknowledges one in ``seconds``."""

    at_once: int
    seconds: float
    taken: int = 0
    most: int = 0
    """As many were not acknowledged at the same time."""

    @contextmanager
    def served(self) -> Iterator[str]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=self._serve, args=(server,))
            thread.start()
            yield f"mqtt://127.0.0.1:{server.getsockname()[1]}"
            thread.join(20)

    def _serve(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        waiting: list[bytes] = []
        received = b""
        with connection:
            connection.settimeout(self.seconds)
            while True:
                try:
                    part = connection.recv(65536)
                except TimeoutError:
                    if waiting:
                        connection.sendall(b"\x40\x02" + waiting.pop(0))
                    continue
                if not part:
                    return
                received += part
                # No packet of these tests has more than 127 bytes.
                while len(received) > 1 and len(received) >= 2 + received[1]:
                    kind, packet, received = (
                        received[0] >> 4,
                        received[2 : 2 + received[1]],
                        received[2 + received[1] :],
                    )
                    if kind == 1:
                        connection.sendall(b"\x20\x06\0\0\x03\x21" + self.at_once.to_bytes(2))
                    elif kind == 3:
                        topic = int.from_bytes(packet[:2])
                        waiting.append(packet[2 + topic : 4 + topic])
                        self.taken += 1
                        self.most = max(self.most, len(waiting))


def test_a_broker_has_no_more_at_once_than_it_takes_and_as_long_as_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoint.sinks.mqtt.SECONDS", 2)
    broker = SlowBroker(at_once=3, seconds=0.12)
    with broker.served() as url:
        delivered(url, Topic("t"), answers(*range(1, 21)))
    assert (broker.taken, broker.most) == (20, 3)


def test_brokers_that_take_no_connection_hold_up_no_thread_that_others_wait_for() -> None:
    async def check(url: str) -> None:
        many = int(anyio.to_thread.current_default_thread_limiter().total_tokens) + 5
        deliveries = [asyncio.create_task(MqttPublisher(url, Topic("t")).deliver(answers(1))) for _ in range(many)]
        await asyncio.sleep(0.2)
        async with asyncio.timeout(5):
            assert await anyio.to_thread.run_sync(lambda: "done") == "done"
        for one in deliveries:
            one.cancel()
        await asyncio.wait(deliveries)

    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    with server, socket.create_connection(server.getsockname()):  # now there is no room for another
        run(check(f"mqtt://127.0.0.1:{server.getsockname()[1]}"))


@needs_mosquitto
def test_a_broker_that_went_away_is_found_again(tmp_path: Path) -> None:
    async def deliver(broker: Mosquitto) -> None:
        publisher = MqttPublisher(broker.url, Topic("t"))
        await publisher.deliver(answers(1))
        broker.kill()
        with pytest.raises(DeliveryFailed):
            await publisher.deliver(answers(2))
        with pytest.raises(DeliveryFailed, match="cannot be reached"):
            await publisher.deliver(answers(2))
        await asyncio.to_thread(broker.start)
        with subscriber(broker, "t") as came:
            await publisher.deliver(answers(2, 3))
            assert [message.payload for message in await asyncio.to_thread(came_all, came, 2)] == [b"2", b"3"]
        await publisher.close()

    with Mosquitto(tmp_path / "broker") as broker:
        run(deliver(broker), timeout=60)


@needs_mosquitto
def test_who_may_not_publish_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rights = tmp_path / "rights"
    rights.write_text("user sink\ntopic write allowed\n")
    monkeypatch.setenv("SPARQL_STREAMS_SECRET_MQTT", "secret")
    (tmp_path / "password").write_text("secret\n")
    with Mosquitto(tmp_path / "broker", users={"sink": "secret"}, further=[f"acl_file {rights}"]) as broker:
        delivered(broker.url, Topic("allowed", Login("sink", str(tmp_path / "password"))), answers(1))
        delivered(broker.url, Topic("allowed", Login("sink", None, "SPARQL_STREAMS_SECRET_MQTT")), answers(1))
        for topic, said in (
            (Topic("other", Login("sink", str(tmp_path / "password"))), "Not authorized"),
            (Topic("allowed"), "refuses"),
            (Topic("allowed", Login("sink", str(tmp_path / "none"))), "none"),
            (Topic("allowed", Login("sink", None, "SPARQL_STREAMS_SECRET_OTHER")), "SPARQL_STREAMS_SECRET_OTHER"),
        ):
            with pytest.raises(DeliveryFailed, match=said) as caught:
                delivered(broker.url, topic, answers(1))
            assert "secret" not in caught.value.detail.lower().replace("sparql_streams_secret", "")


def test_a_broker_that_is_not_there_is_told() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"mqtt://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(DeliveryFailed, match="cannot be reached"):
            delivered(url, Topic("t"), answers(1))
