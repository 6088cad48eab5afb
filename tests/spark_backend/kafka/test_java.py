from __future__ import annotations

from protocol.kafka import KafkaCluster, KafkaTls
from spark_backend.kafka.java import java_says, kafka_says


class Thrown:
    """What Java threw, as py4j shows it."""

    def __init__(self, message: str | None, cause: Thrown | None = None) -> None:
        self._message = message
        self._cause = cause

    def getCause(self) -> Thrown | None:  # noqa: N802 - Java's name
        return self._cause

    def getMessage(self) -> str | None:  # noqa: N802 - Java's name
        return self._message


class Raised(Exception):
    """What py4j raises for it."""

    def __init__(self, thrown: Thrown) -> None:
        super().__init__("An error occurred while calling o1.get")
        self.java_exception = thrown


CLUSTER = KafkaCluster("h:1", "me", 'a "secret" \\ of\nmine', tls=KafkaTls(key="-----BEGIN\nkey\n-----END"))


def test_what_was_thrown_first_is_said_in_one_line() -> None:
    first = Thrown("org.apache.kafka.common.errors.TimeoutException: no answer\nat once")
    assert java_says(Raised(Thrown("outside", first))) == "no answer"
    assert java_says(RuntimeError("a\nb")) == "a"


def test_a_password_is_cut_out_of_what_kafka_says() -> None:
    for quoted in (CLUSTER.password, 'a \\"secret\\" \\\\ of\\nmine', "-----BEGIN\nkey\n-----END"):
        said = kafka_says(Raised(Thrown(f"Value not specified for key '{quoted}' in JAAS config")), CLUSTER)
        assert said == "Value not specified for key '[hidden]' in JAAS config"
    assert kafka_says(ValueError(f"{CLUSTER.password}!"), CLUSTER) == "[hidden]!"


def test_a_password_is_cut_out_before_the_text_is_cut_short() -> None:
    cluster = KafkaCluster("h:1", "me", "secret")
    assert "sec" not in kafka_says(ValueError("x" * 497 + "secret"), cluster)


def test_where_nobody_answers_that_is_said() -> None:
    for message in ("Timed out waiting for a node assignment. Call: describeTopics", "TimeoutException"):
        assert kafka_says(Raised(Thrown(message)), CLUSTER).startswith("no broker answers at this address")
    said = kafka_says(Raised(Thrown("Topic t not present in metadata after 10000 ms.")), CLUSTER)
    assert said == "no broker answers at this address, or the topic is not there"


def test_what_has_no_secret_is_said_as_it_is() -> None:
    for cluster in (KafkaCluster("h:1"), KafkaCluster("h:1", "me", "")):
        assert kafka_says(ValueError("all of it"), cluster) == "all of it"
