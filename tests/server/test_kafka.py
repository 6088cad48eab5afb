"""Topics of a real Kafka as the source of a stream, over HTTP, with Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.endpoint.sources.kafka.broker import KafkaBroker
from tests.endpoint.sources.kafka.client import KafkaClient, kafka_client
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.server, pytest.mark.spark, pytest.mark.slow]


PASSWORD = 'a "secret" \\ of the broker'
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_QUOTED = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
_LOGIN = f'username="me" password="{_QUOTED}"'
CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f"{_PLAIN} {_LOGIN};",
}
BROKER = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    # A file of properties has backslashes of its own.
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'{_PLAIN} {_LOGIN} user_me="{_QUOTED}";'.replace("\\", "\\\\")
    ),
}


def statement(number: int) -> bytes:
    return b'<http://ex/s> <http://ex/n> "%d" .' % number


def timed(number: int) -> bytes:
    return b"<http://ex/s> <http://ex/n> %d ." % number


def wait(server: ServerProcess, condition: Callable[[], bool]) -> None:
    """Spark has to start, and to load the connector."""
    server.wait(condition, patience=400, interval=0.2)


def stream(server: ServerProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get(f"/streams/{name}").json()
    return found


def test_messages_are_read_once_also_after_a_crash_and_answers_are_written(tmp_path: Path) -> None:
    with (
        KafkaBroker(tmp_path / "broker", BROKER, "SASL_PLAINTEXT") as broker,
        kafka_client(broker.address, CLIENT) as client,
        ServerProcess(
            tmp_path / "data",
            options=["--allow-fetch", broker.url],
            environment={"SPARQL_STREAMS_SECRET_KAFKA": PASSWORD, "SPARQL_STREAMS_SECRET_WRONG": f"{PASSWORD}?"},
        ) as server,
    ):
        login = {"user": "me", "passwordVariable": "SPARQL_STREAMS_SECRET_KAFKA"}
        client.create("t", partitions=2)
        source = {"type": "kafka", "url": broker.url, "topics": ["t"], "contentType": "text/turtle", **login}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        for number in range(50):
            client.send("t", statement(number), number % 2)
        client.send("t", b"not RDF", 0)
        client.send("t", b'{"@id": "http://ex/s", "http://ex/n": "json"}', 1, {"Content-Type": b"application/ld+json"})
        client.send("t", None, 1).get()
        wait(server, lambda: stream(server, "s")["elements"] == 51)
        wait(server, lambda: stream(server, "s/rejected")["elements"] == 1)
        # What is stored is there a moment before the source says that it is.
        wait(server, lambda: stream(server, "s")["sourceState"]["messages"] == 52)
        wait(server, lambda: stream(server, "s")["sourceState"]["state"] == "running")
        state = stream(server, "s")["sourceState"]
        assert (state["state"], state["rejected"], state["notice"]) == ("running", 1, None)
        rejected = server.client.get("/streams/s/rejected", headers={"Accept": "application/n-quads"}).text
        assert f"{broker.url}/t" in rejected
        wrong = {**source, "passwordVariable": "SPARQL_STREAMS_SECRET_WRONG"}
        assert server.client.put("/streams/w", json={"time": "arrival", "source": wrong}).status_code == 201
        wait(server, lambda: "Authentication failed" in (stream(server, "w")["sourceState"]["lastError"] or ""))
        # Each partition moves its own watermark, and one that has had nothing is waited for.
        client.create("e", partitions=2)
        timed = {"time": "event", "timestampPath": ["http://ex/at"], "source": {**source, "topics": ["e"]}}
        assert server.client.put("/streams/e", json=timed).status_code == 201
        client.send("e", b"<http://ex/s> <http://ex/at> 7000 .", 0)
        wait(server, lambda: stream(server, "e")["elements"] == 1)
        assert (stream(server, "e")["watermark"], stream(server, "e")["waitingFor"]) == (None, ["e/1"])
        client.send("e", b"<http://ex/s> <http://ex/at> 5000 .", 1)
        wait(server, lambda: stream(server, "e")["watermark"] == "1970-01-01T00:00:04.999Z")
        assert "waitingFor" not in stream(server, "e")
        server.kill()
        client.send("t", statement(50), 0).get()
        server.start()
        wait(server, lambda: stream(server, "s")["elements"] == 52)
        assert stream(server, "s/rejected")["elements"] == 1
        client.create("answers", partitions=3)
        server.register("q", f"SELECT ?n FROM STREAM <{server.url}/streams/s> [NOW] WHERE {{ ?s <http://ex/n> ?n }}")
        sink = {"type": "kafka", "url": broker.url, "topic": "answers", "format": "rows", **login}
        assert server.client.put("/queries/q/sinks/k", json=sink).status_code == 201
        client.send("t", statement(51), 0).get()
        wait(server, lambda: server.client.get("/queries/q/sinks/k").json()["delivered"] == 1)
        ((_, _, key, value, headers),) = client.read("answers")
        assert value == b'[{"n":"51"}]'
        assert headers == {"content-type": b"application/json", "query": b"q"}
        events = server.events("/queries/q/results", params={"since": "beginning"})
        assert key.decode() == next(event.id for event in events if '"value":"51"' in event.data)
    for log in (tmp_path / "data.log", tmp_path / "data" / "spark" / "spark.log"):
        assert "secret" not in log.read_text()


@pytest.mark.long
def test_messages_of_transactions_are_read_once_they_are_committed_and_never_if_they_are_not(tmp_path: Path) -> None:
    with (
        KafkaBroker(tmp_path / "broker") as broker,
        kafka_client(broker.address) as client,
        ServerProcess(tmp_path / "data", options=["--allow-fetch", broker.url]) as server,
    ):
        client.create("t")
        source = {"type": "kafka", "url": broker.url, "topics": ["t"], "contentType": "text/turtle"}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        with client.transaction("kept") as send:
            send("t", statement(1))
        wait(server, lambda: stream(server, "s")["elements"] == 1)
        with pytest.raises(_TakenBack):
            send_and_take_back(client, "t", statement(2))
        with client.transaction("open") as send:
            send("t", statement(3))
            # Behind one that is open nothing is read, as by all who read committed messages.
            client.send("t", statement(4)).get()
            server.kill()
            server.start()
            wait(server, lambda: stream(server, "s")["sourceState"]["state"] == "running")
            assert stream(server, "s")["elements"] == 1
        wait(server, lambda: stream(server, "s")["elements"] == 3)
        client.send("t", statement(5)).get()
        wait(server, lambda: stream(server, "s")["elements"] == 4)
        said = server.client.get("/streams/s", headers={"Accept": "application/n-quads"}).text
        assert [number for number in range(6) if f'"{number}"' in said] == [1, 3, 4, 5]


@pytest.mark.long
def test_what_happens_to_topics_while_spark_looks_away_loses_nothing(tmp_path: Path) -> None:
    with (
        KafkaBroker(tmp_path / "broker") as broker,
        kafka_client(broker.address) as client,
        ServerProcess(tmp_path / "data", options=["--allow-fetch", broker.url]) as server,
    ):
        for topic in ("anew", "grown"):
            client.create(topic)
            source = {"type": "kafka", "url": broker.url, "topics": [topic], "contentType": "text/turtle"}
            settings = {"time": "event", "timestampPath": ["http://ex/n"], "source": source}
            assert server.client.put(f"/streams/{topic}", json=settings).status_code == 201
            for number in range(5):
                client.send(topic, timed(number)).get()
        wait(server, lambda: all(stream(server, topic)["elements"] == 5 for topic in ("anew", "grown")))
        with stopped(server):
            client.delete("anew")
            client.create("anew")
            client.add_partitions("grown", 2)
            for number in range(100, 110):
                client.send("anew", timed(number)).get()
                client.send("grown", timed(number), 0).get()
                client.send("grown", timed(number - 50), 1).get()
        wait(server, lambda: stream(server, "anew")["elements"] == 15)
        notice = "the topic anew was made anew: it is read from its beginning"
        wait(server, lambda: stream(server, "anew")["sourceState"]["notice"] == notice)
        state = stream(server, "anew")["sourceState"]
        assert state["lastError"] == f"{broker.url}: the topic anew was made anew while it was read"
        wait(server, lambda: stream(server, "grown")["elements"] == 25)
        assert stream(server, "grown")["late"] == 0


@contextmanager
def stopped(server: ServerProcess) -> Iterator[None]:
    """The JVM of Spark's does nothing within."""
    (jvm,) = (one for one in psutil.Process(server.pid).children(recursive=True) if one.name() == "java")
    jvm.suspend()
    try:
        yield
    finally:
        jvm.resume()


class _TakenBack(Exception):
    """Why a transaction is aborted."""


def send_and_take_back(client: KafkaClient, topic: str, value: bytes) -> None:
    with client.transaction("taken back") as send:
        send(topic, value)
        raise _TakenBack
