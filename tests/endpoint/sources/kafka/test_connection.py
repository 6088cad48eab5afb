"""Kafka as a source, as far as the endpoint sees it: the backend reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from endpoint.logins.kafka_cluster import cluster_of
from endpoint.sources.connection import Surroundings
from endpoint.sources.kafka.connection import KafkaConnection
from protocol.errors import Unavailable
from protocol.formats.allow_list import NOTHING
from protocol.kafka import KafkaCluster, KafkaReading, KafkaTls
from protocol.login import Login, TlsFiles
from protocol.sources import SourceBatch, SourceFailed, SourceSettings, SourceType

SETTINGS = SourceSettings(SourceType.KAFKA, "kafka://broker", ("a", "b"), "text/turtle")


@dataclass
class Feed:
    waiting: list[SourceBatch]
    notice: str | None = "dropped"
    calls: list[str] = field(default_factory=list)

    def take(self, seconds: float) -> SourceBatch | None:
        return self.waiting.pop() if self.waiting else None

    def stored(self) -> None:
        self.calls.append("stored")

    def close(self) -> None:
        self.calls.append("close")


def test_the_backend_is_asked_for_what_the_settings_say() -> None:
    batch = SourceBatch((), {"a/0": b"3"})
    feed, asked = Feed([batch]), list[KafkaReading]()

    def read_kafka(reading: KafkaReading) -> Feed:
        asked.append(reading)
        return feed

    positions = {"a/0": b"2"}
    connection = KafkaConnection(
        Surroundings("s", SETTINGS, NOTHING, "id", 1000, lambda seconds: False, positions, read_kafka)
    )
    cluster = KafkaCluster("broker:9092")
    assert asked == [KafkaReading("s", cluster, ("a", "b"), "text/turtle", 1000, positions)]
    assert connection.notice == "dropped"
    assert connection.take(0) is batch
    connection.stored(batch)
    assert connection.take(0) is None
    connection.forget()
    connection.close()
    assert feed.calls == ["stored", "close"]


def test_while_spark_is_not_there_it_is_asked_for_again_and_again() -> None:
    def read_kafka(reading: KafkaReading) -> Feed:
        raise Unavailable("Spark is starting")

    with pytest.raises(SourceFailed, match="Spark is starting") as failed:
        KafkaConnection(Surroundings("s", SETTINGS, NOTHING, "id", 1000, lambda seconds: False, {}, read_kafka))
    assert failed.value.retry_in == 1


def test_a_cluster_has_the_contents_of_files_and_the_password(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("the authority")
    (tmp_path / "password").write_text("hush\n")
    settings = SourceSettings(
        SourceType.KAFKA, "kafka://[::1]:9094", ("a",), login=Login(
            "me", str(tmp_path / "password"), tls=TlsFiles(str(tmp_path / "ca.pem")), mechanism="SCRAM-SHA-256",
        ),
    )  # fmt: skip
    tls = KafkaTls("the authority")
    assert cluster_of(settings.url, settings.login) == KafkaCluster("[::1]:9094", "me", "hush", "SCRAM-SHA-256", tls)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    login = Login(tls=TlsFiles(str(tmp_path / "ca.pem")))
    with pytest.raises(match=r"ca\.pem of tls cannot be read: No such file"):
        cluster_of("kafka://b", login)
    (tmp_path / "ca.pem").write_bytes(b"\xff")
    with pytest.raises(match="is no PEM file"):
        cluster_of("kafka://b", login)
    (tmp_path / "ca.pem").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(match="is longer than 1 MiB"):
        cluster_of("kafka://b", login)
    with pytest.raises(match="it is no ordinary file"):  # and has no end
        cluster_of("kafka://b", Login(tls=TlsFiles("/dev/zero")))
