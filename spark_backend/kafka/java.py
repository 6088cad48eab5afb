"""What Java throws, for a person: in one line, and without what is secret."""

from __future__ import annotations

import re

from protocol.kafka import KafkaCluster
from spark_backend.kafka.properties import secrets_of

_LONGEST = 500
_SILENCE = (
    (
        re.compile(r"Timed out waiting |TimeoutException\Z"),
        "no broker answers at this address: it may be wrong, or only one of both sides uses TLS",
    ),
    (
        re.compile(r"Topic \S+ not present in metadata "),
        "no broker answers at this address, or the topic is not there",
    ),
)
"""What clients of Kafka's say where nobody answers, by how it begins, and what that is for a person."""

_CLASS = re.compile(r"^(?:[a-z][a-z0-9]*\.)+[A-Z]\w*(?:\$\w+)*: ")


def java_says(error: Exception) -> str:
    """The message of what was thrown first, in one line, without the names of Java's classes before it."""
    return _line(_message(error))


def kafka_says(error: Exception, cluster: KafkaCluster) -> str:
    """The same of what a client of this cluster has thrown. Kafka may quote what it was told: secrets are cut out."""
    message = _message(error)
    for silence, meaning in _SILENCE:
        if silence.match(message):
            return meaning
    for secret in secrets_of(cluster):
        message = message.replace(secret, "[hidden]")
    return _line(message)


def _message(error: Exception) -> str:
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        return str(error)
    while (cause := thrown.getCause()) is not None:
        thrown = cause
    return thrown.getMessage() or str(thrown.getClass().getSimpleName())


def _line(message: str) -> str:
    return _CLASS.sub("", message.strip().split("\n", 1)[0][:_LONGEST])
