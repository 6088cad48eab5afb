"""A source of MQTT with a real broker: each message once, in the order of its topic, whoever goes away meanwhile."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from endpoint.back_off import BackOff
from endpoint.sources.connection import Surroundings
from endpoint.sources.mqtt.client import SessionClient
from endpoint.sources.mqtt.connection import MqttConnection
from endpoint.sources.mqtt.redelivery import Delivery
from endpoint.sources.run import SourceRun
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.formats.allow_list import AllowList
from protocol.login import Login
from protocol.sources import SourceBatch, SourceFailed, SourceReceipt, SourceSettings, SourceState, SourceType
from tests.mosquitto import Mosquitto, needs_mosquitto

pytestmark = [needs_mosquitto, pytest.mark.server]


IDENTITY = "0123456789abcdef"


@dataclass
class Log:
    """What is durable: it outlives the sources that write it. ``crashes``: so often a batch is stored, and the source
    is not told; ``losses``: so often messages are not stored.
    """

    bodies: list[str] = field(default_factory=list)
    types: list[str | None] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)
    at: dict[str, bytes] = field(default_factory=dict)
    crashes: int = 0
    losses: int = 0
    refused: list[str | None] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        if self.losses and batch.messages:
            self.losses -= 1
            raise Unavailable("the disk is full")
        self.keys += [message.key for message in batch.messages]
        self.bodies += [message.body.decode() for message in batch.messages]
        self.refused += [message.refused for message in batch.messages]
        self.types += [message.content_type for message in batch.messages]
        self.origins |= {message.origin for message in batch.messages}
        self.at = {name: at for name, at in {**self.at, **batch.positions}.items() if at}
        if self.crashes and batch.messages:
            self.crashes -= 1
            raise Unavailable("the machine has lost its power right after the write")
        return SourceReceipt(len(batch.messages), 0)

    def positions(self, name: str) -> dict[str, bytes]:
        return dict(self.at)


class Impatient(BackOff):
    def failed(self) -> float:
        return 0.05


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@dataclass
class Side:
    """A source that reads the broker into the log; started and stopped."""

    settings: SourceSettings
    log: Log
    running: SourceRun | None = None
    over: ProtocolError | bool = False
    """Whether the stream has ended, or that there is none."""

    def start(self, awaited: SourceState = SourceState.RUNNING) -> None:
        self.running = SourceRun(
            lambda wait: Surroundings("s", self.settings, AllowList(), IDENTITY, 10**6, wait),
            MqttConnection,
            self.log,
            back_off=Impatient(),
            has_ended=self.has_ended,
            is_kept=True,
        )
        self.running.start()
        until(lambda: self.state is awaited)

    def has_ended(self) -> bool:
        if isinstance(self.over, ProtocolError):
            raise self.over
        return self.over

    @property
    def state(self) -> SourceState:
        assert self.running is not None
        return self.running.describe().state

    def stop(self, *, deleted: bool = False) -> None:
        if self.running is not None:
            self.running.stop(deleted=deleted)
            self.running.join(30)
            self.running = None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path / "broker") as broker:
        yield broker


@pytest.fixture(params=["5", "3.1.1"])
def side(request: pytest.FixtureRequest, broker: Mosquitto) -> Iterator[Side]:
    settings = SourceSettings(SourceType.MQTT, broker.url, ("a/+", "b/#"), "text/turtle", version=request.param)
    side = Side(settings, Log())
    yield side
    side.stop()


@pytest.fixture
def publish(broker: Mosquitto) -> Iterator[Callable[..., None]]:
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()

    def publish(
        topic: str, *payloads: str, qos: int = 1, retain: bool = False, content_type: str | None = None
    ) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if content_type is not None:
            properties.ContentType = content_type
        for payload in payloads:
            client.publish(topic, payload, qos, retain, properties).wait_for_publish(30)

    yield publish
    client.disconnect()
    client.loop_stop()


def numbers(count: int, prefix: str = "") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def test_messages_come_in_the_order_of_their_topics_with_their_type(side: Side, publish: Callable[..., None]) -> None:
    side.start()
    publish("a/1", *numbers(20, "a"), qos=1)
    publish("b/c/d", *numbers(20, "b"), qos=2)
    publish("c/1", "not asked for")
    publish("b", "last", content_type="application/ld+json")
    until(lambda: "last" in side.log.bodies)
    assert side.log.bodies == [*numbers(20, "a"), *numbers(20, "b"), "last"]
    told = "application/ld+json" if side.settings.version == "5" else "text/turtle"
    assert side.log.types == ["text/turtle"] * 40 + [told]
    assert side.log.origins == {f"{side.settings.url}/{topic}" for topic in ("a/1", "b/c/d", "b")}


def test_a_byte_order_mark_in_the_properties_of_a_message_stops_nothing(
    side: Side, publish: Callable[..., None]
) -> None:
    side.start()
    mark = "\ufeff"
    publish("a/1", "before", content_type=f"{mark}text/turtle")
    publish("a/1", f"{mark}in the payload", "behind", qos=0)
    publish("b", "last")
    until(lambda: "last" in side.log.bodies)
    assert side.log.bodies == ["before", f"{mark}in the payload", "behind", "last"]
    assert side.log.types[0] == ("\ufffdtext/turtle" if side.settings.version == "5" else "text/turtle")


def test_a_message_that_is_too_long_is_told_and_stops_nothing(side: Side, publish: Callable[..., None]) -> None:
    side.start()
    publish("a/1", "before", "x" * 10**6, "y" * 2 * 10**6, "behind")
    until(lambda: "behind" in side.log.bodies)
    assert side.log.bodies == ["before", "x" * 10**6, "y" * 2**16, "behind"]
    before, longest, long, behind = side.log.refused
    assert before is longest is behind is None
    assert long is not None
    assert "the message has 2000000 bytes, and --max-request-bytes is 1000000 bytes" in long


def test_a_server_of_many_connections_reads_as_well(side: Side, publish: Callable[..., None]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        side.start()
    finally:
        for one in others:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    publish("a/1", "1")
    until(lambda: side.log.bodies == ["1"])
    side.stop()


def test_what_comes_while_nobody_reads_is_read_later(side: Side, publish: Callable[..., None]) -> None:
    side.start()
    publish("a/1", "before")
    until(lambda: side.log.bodies == ["before"])
    side.stop()
    publish("a/1", *numbers(50))
    side.start()
    until(lambda: len(side.log.bodies) >= 51)
    assert side.log.bodies == ["before", *numbers(50)]


def test_what_is_stored_and_not_acknowledged_comes_again_and_is_stored_once(
    side: Side, publish: Callable[..., None]
) -> None:
    side.start()
    for round in range(4):
        side.log.crashes = 1
        publish("a/1", *numbers(10, f"{round}-"))
        publish("a/1", *["same"] * 5)
        until(lambda: not side.log.crashes)
    publish("a/1", "last")
    until(lambda: "last" in side.log.bodies)
    expected = [body for round in range(4) for body in (*numbers(10, f"{round}-"), *["same"] * 5)]
    assert side.log.bodies == [*expected, "last"]
    assert side.running is not None
    assert side.running.describe().failures == 4


def lose_session(broker: Mosquitto) -> None:
    other = Client(CallbackAPIVersion.VERSION2, f"sps-{IDENTITY}", clean_session=True)
    other.connect("127.0.0.1", broker.port)
    other.loop_start()
    until(other.is_connected)
    other.disconnect()
    other.loop_stop()


def test_a_lost_session_is_subscribed_anew_also_where_that_fails_first(
    side: Side, broker: Mosquitto, publish: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    side.start()
    side.stop()
    lose_session(broker)
    subscribe = SessionClient.subscribe
    failures = iter([SourceFailed("the broker is away again")])

    def subscribe_later(session: SessionClient) -> list[str]:
        if (failure := next(failures, None)) is not None:
            raise failure
        return subscribe(session)

    monkeypatch.setattr(SessionClient, "subscribe", subscribe_later)
    side.start()
    assert side.running is not None
    described = side.running.describe()
    assert described.failures == 1
    assert "did not know the session" in (described.notice or "")
    publish("a/1", "after it")
    until(lambda: side.log.bodies == ["after it"])


def test_a_lost_session_whose_topics_are_refused_is_subscribed_anew_by_the_next_server(
    side: Side, broker: Mosquitto, publish: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    side.start()
    side.stop()
    lose_session(broker)

    def refuse(session: SessionClient) -> list[str]:
        raise SourceFailed("the broker refuses the topic")

    with monkeypatch.context() as refusing:
        refusing.setattr(SessionClient, "subscribe", refuse)
        side.start(SourceState.FAILING)
        side.stop()
    side.start()
    assert side.running is not None
    assert "did not know the session" in (side.running.describe().notice or "")
    publish("a/1", "after it")
    until(lambda: side.log.bodies == ["after it"])


def test_what_is_retained_is_stored_once_more_after_a_lost_session(
    side: Side, broker: Mosquitto, publish: Callable[..., None]
) -> None:
    publish("a/1", "retained", retain=True)
    side.start()
    until(lambda: side.log.bodies == ["retained"])
    side.stop()
    lose_session(broker)
    side.log.crashes = 1
    side.start()
    publish("a/1", "last")
    until(lambda: "last" in side.log.bodies)
    assert side.log.bodies == ["retained", "retained", "last"]


def test_what_a_broker_says_after_it_has_lost_the_session_is_not_taken_for_what_it_said_before(
    side: Side, broker: Mosquitto, publish: Callable[..., None]
) -> None:
    side.start()
    side.stop()
    lose_session(broker)
    # Stored, but the broker had perhaps not heard of that: the first packet of the session that it has lost.
    side.log.at["1"] = Delivery.of(1, "a/1", b"same").digest
    side.start()
    until(lambda: "1" not in side.log.at)
    side.log.losses = 1
    publish("a/1", "same", "last")
    until(lambda: "last" in side.log.bodies)
    assert side.log.bodies == ["same", "last"]


def test_nothing_comes_again_with_qos_0_and_equal_messages_are_told_apart(
    side: Side, publish: Callable[..., None]
) -> None:
    side.start()
    publish("a/1", *["same"] * 3, qos=0)
    publish("a/1", "last")
    until(lambda: "last" in side.log.bodies)
    assert side.log.bodies == [*["same"] * 3, "last"]
    assert len(set(side.log.keys)) == 4


def test_what_came_before_the_broker_went_away_is_stored(
    side: Side, broker: Mosquitto, publish: Callable[..., None]
) -> None:
    connection = MqttConnection(Surroundings("s", side.settings, AllowList(), IDENTITY, 10**6, lambda seconds: False))
    topics = connection.take(0)
    assert topics is not None
    connection.stored(topics)
    publish("a/1", *numbers(3), qos=0)
    publish("a/1", "3")
    broker.stop()
    batch = connection.take(5)
    assert batch is not None
    assert [message.body for message in batch.messages] == [b"0", b"1", b"2", b"3"]
    with pytest.raises(SourceFailed, match=r"mqtt://127\.0\.0\.1:\d+[: ]") as failed:
        connection.take(5)
    assert "has closed the connection" not in str(failed.value), "there is more to be said"
    connection.close()


def test_a_broker_that_was_away_is_read_on(side: Side, broker: Mosquitto) -> None:
    side.start()
    broker.stop()
    until(lambda: side.state is SourceState.FAILING)
    refused = f"{broker.url} cannot be reached: Connection refused"
    until(lambda: side.running is not None and side.running.describe().error == refused)
    broker.start()
    until(lambda: side.state is SourceState.RUNNING)


def test_what_is_retained_comes_once(side: Side, publish: Callable[..., None]) -> None:
    publish("a/1", "retained", retain=True)
    side.start()
    until(lambda: side.log.bodies == ["retained"])
    for number in range(3):
        side.stop()
        side.start()
        publish("a/2", str(number))
        until(lambda number=number: str(number) in side.log.bodies)  # type: ignore[misc]
    assert side.log.bodies == ["retained", "0", "1", "2"]


def test_a_message_that_several_filters_match_is_stored_once(
    side: Side, broker: Mosquitto, publish: Callable[..., None]
) -> None:
    side.settings = replace(side.settings, topics=("a/+/c", "a/#", "a/b/+", "b"))
    retained = ["retained"] if side.settings.version == "5" else []
    for payload in retained:
        publish("a/b/r", payload, retain=True)
    side.start()
    publish("a/b/c", *numbers(5, "all"))
    publish("a/b/d", *numbers(5, "two"), qos=0)
    publish("a/x", "one")
    publish("b", "last")
    until(lambda: "last" in side.log.bodies)
    side.stop()
    publish("a/b/c", *numbers(5, "away"))
    broker.stop()
    broker.start()
    side.start()
    until(lambda: "away4" in side.log.bodies)
    side.stop()
    side.start()
    assert side.log.bodies == [*retained, *numbers(5, "all"), *numbers(5, "two"), "one", "last", *numbers(5, "away")]


def test_what_a_shared_filter_gives_is_stored_once_where_another_matches_it_too(
    broker: Mosquitto, publish: Callable[..., None]
) -> None:
    topics = ("$share/group/a/#", "a/+", "$share/others/b/#")
    side = Side(SourceSettings(SourceType.MQTT, broker.url, topics, "text/turtle"), Log())
    side.start()
    publish("a/1", *numbers(5))
    publish("a/1/2", "shared alone")
    publish("b/1", "last")
    until(lambda: "last" in side.log.bodies)
    side.stop()
    assert sorted(side.log.bodies) == sorted([*numbers(5), "shared alone", "last"])


def test_the_broker_keeps_nothing_for_a_stream_that_is_deleted_while_nothing_could_be_stored(
    side: Side, broker: Mosquitto, publish: Callable[..., None]
) -> None:
    side.start()
    side.over = Unavailable("the disk is full")
    until(lambda: side.state is SourceState.FAILING)
    side.stop(deleted=True)
    publish("a/1", "to nobody")
    side.log.at = {}
    session = SessionClient(side.settings, IDENTITY, 1000)
    assert session.resumed is (side.settings.version == "3.1.1")
    session.close()


@pytest.mark.parametrize("over", [NotFound("there is no stream s"), True], ids=["deleted", "ended"])
def test_the_broker_keeps_nothing_for_a_stream_that_is_over(
    side: Side, over: ProtocolError | bool, publish: Callable[..., None]
) -> None:
    side.start()
    side.over = over
    until(lambda: side.state is SourceState.STOPPED)
    publish("a/1", "to nobody")
    # Whoever takes up the session has what it kept; an answer to a question says that all of it has come.
    session = SessionClient(side.settings, IDENTITY, 1000)
    answers: list[int] = []
    session.on_answer = answers.append
    session.ask("x")
    while not answers:
        session.look(1)
    session.close()
    assert not session.arrived
    assert session.resumed is (side.settings.version == "3.1.1")


def test_a_stream_that_is_made_again_begins_anew(side: Side, broker: Mosquitto, publish: Callable[..., None]) -> None:
    """Though the broker could not be told that the one before it is gone; and what it begins outlives the broker."""
    side.start()
    side.stop()
    publish("a/1", "retained", retain=True)
    publish("a/1", "to nobody")
    side.log.at = {}
    side.start()
    publish("a/1", "to the next")
    until(lambda: "to the next" in side.log.bodies)
    side.stop()
    publish("a/1", "meanwhile")
    broker.stop()
    broker.start()
    side.start()
    until(lambda: "meanwhile" in side.log.bodies)
    assert side.log.bodies == ["retained", "to the next", "meanwhile"]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_that_a_broker_keeps_nothing_is_told(tmp_path: Path, version: str) -> None:
    with Mosquitto(tmp_path / "broker", qos=0) as broker:
        side = Side(SourceSettings(SourceType.MQTT, broker.url, ("a/#", "b"), "text/plain", version), Log())
        side.start()
        assert side.running is not None
        assert "gives a/#, b with QoS 0 alone" in (side.running.describe().notice or "")
        side.stop()


def test_who_may_not_come_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    password = tmp_path / "password"
    password.write_text("wrong\n")
    with Mosquitto(tmp_path / "broker", users={"reader": "right"}) as broker:
        settings = SourceSettings(SourceType.MQTT, broker.url, ("a",), login=Login("reader", str(password)))
        side = Side(settings, Log())
        side.running = SourceRun(
            lambda wait: Surroundings("s", settings, AllowList(), "id", 1000, wait), MqttConnection, side.log,
            back_off=Impatient(),
        )  # fmt: skip
        side.running.start()
        until(lambda: side.state is SourceState.FAILING)
        error = str(side.running.describe().error)
        assert "refuses the connection" in error
        assert "wrong" not in error
        password.write_text("right\n")
        until(lambda: side.state is SourceState.RUNNING)
        side.stop()
