"""What a sink that publishes to a topic, of MQTT or Kafka, has besides its url (docs/sinks.md, "Settings")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocol.formats.json.object import shown
from protocol.kafka import KAFKA_TOPIC
from protocol.login import NOBODY, Login
from protocol.settings import login
from protocol.sinks.members import required_text, wrong

MQTT_MEMBERS = ("topic", *login.MQTT_MEMBERS)
KAFKA_MEMBERS = ("topic", *login.KAFKA_MEMBERS)


@dataclass(frozen=True)
class Topic:
    """A topic, and who publishes there."""

    topic: str
    login: Login = NOBODY


def read_topic(members: Mapping[str, Any], scheme: str) -> Topic:
    """Raises InvalidSinkSettings. ``scheme``: the one of the url."""
    topic = required_text(members, "topic")
    of_kafka = scheme == "kafka"
    if of_kafka and not KAFKA_TOPIC.match(topic):
        wrong(f"topic must be the name of a topic of Kafka's, of letters, digits, and . _ -, not {shown(topic)}")
    if not of_kafka and (any(character in topic for character in "+#\0") or len(topic.encode()) > 65_535):
        wrong(f"topic must be the name of one topic, without + and #, not {shown(topic)}")
    return Topic(topic, login.parse_login(members, wrong, of_kafka=of_kafka))


def topic_document(topic: Topic) -> dict[str, Any]:
    """The members as ``read_topic`` takes them. There is no secret in them: only where it is."""
    return {"topic": topic.topic, **login.login_document(topic.login)}
