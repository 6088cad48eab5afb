"""What a sink that publishes to a topic, of MQTT or Kafka, has besides its url (docs/sinks.md, "Settings")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocol.formats.json_object import shown
from protocol.formats.source_settings import SECRET_PREFIX
from protocol.kafka import KAFKA_TOPIC, MECHANISMS
from protocol.login import is_one_line
from protocol.sinks.members import optional_text, required_text, wrong
from protocol.sources import TlsFiles

_LOGIN = ("user", "passwordFile", "passwordVariable")
MQTT_MEMBERS = ("topic", *_LOGIN, "tls")
KAFKA_MEMBERS = (*MQTT_MEMBERS, "mechanism")
_VARIABLE = re.compile(rf"{SECRET_PREFIX}[A-Z0-9_]+\Z")
_TLS = ("caFile", "certFile", "keyFile")


@dataclass(frozen=True)
class Topic:
    """A topic, and who publishes there. The password is the line of a file, or an environment variable's value.

    ``tls``: in place of the system's authorities, and a certificate of one's own. ``mechanism``: of a login to Kafka,
    None for the usual one.
    """

    topic: str
    user: str | None = None
    password_file: str | None = None
    password_variable: str | None = None
    tls: TlsFiles | None = None
    mechanism: str | None = None


def read_topic(members: Mapping[str, Any], scheme: str) -> Topic:
    """Raises InvalidSinkSettings. ``scheme``: the one of the url."""
    topic = required_text(members, "topic")
    of_kafka = scheme == "kafka"
    if of_kafka and not KAFKA_TOPIC.match(topic):
        wrong(f"topic must be the name of a topic of Kafka's, of letters, digits, and . _ -, not {shown(topic)}")
    if not of_kafka and (any(character in topic for character in "+#\0") or len(topic.encode()) > 65_535):
        wrong(f"topic must be the name of one topic, without + and #, not {shown(topic)}")
    user, file, variable = (optional_text(members, name) for name in _LOGIN)
    for name in _LOGIN:
        # As they were said, with what is around them.
        if members.get(name) is not None and not is_one_line(members[name]):
            wrong(f"{name} must be a text on one line, without control characters")
    if file is not None and variable is not None:
        wrong("a sink has a passwordFile or a passwordVariable, not both")
    if user is None and (file or variable) is not None:
        wrong("a password goes with a user: say which")
    if of_kafka and user is not None and file is None and variable is None:
        wrong("a user of Kafka's goes with a password: say passwordFile or passwordVariable")
    if file is not None and not file.startswith("/"):
        wrong(f"passwordFile must be an absolute path of the server's, not {shown(file)}")
    if variable is not None and not _VARIABLE.match(variable):
        wrong(f"passwordVariable must be the name of an environment variable that begins with {SECRET_PREFIX}")
    tls = _tls(members.get("tls"))
    if tls is not None and scheme == "mqtt":
        wrong("tls is for a url that begins with mqtts:")
    mechanism = members.get("mechanism")
    if mechanism is not None and (mechanism not in MECHANISMS or user is None):
        known = ", ".join(map(shown, MECHANISMS))
        wrong(f"mechanism must be one of {known}, and goes with a user; it is {shown(mechanism)}")
    return Topic(topic, user, file, variable, tls, mechanism)


def topic_document(topic: Topic) -> dict[str, Any]:
    """The members as ``read_topic`` takes them. There is no secret in them: only where it is."""
    files = topic.tls and (topic.tls.authorities, topic.tls.certificate, topic.tls.key)
    document = {
        "topic": topic.topic,
        "user": topic.user,
        "passwordFile": topic.password_file,
        "passwordVariable": topic.password_variable,
        "tls": files and {name: path for name, path in zip(_TLS, files, strict=True) if path is not None},
        "mechanism": topic.mechanism,
    }
    return {name: value for name, value in document.items() if value is not None}


def _tls(value: object) -> TlsFiles | None:
    if value is None:
        return None
    if value is True:
        return TlsFiles()
    if not isinstance(value, dict) or not value.keys() <= set(_TLS):
        wrong(f"tls must be true, or an object with some of {', '.join(_TLS)} (paths of PEM files), not {shown(value)}")
    authorities, certificate, key = (optional_text(value, name) for name in _TLS)
    if key is not None and certificate is None:
        wrong("tls: a keyFile goes with a certFile")
    return TlsFiles(authorities, certificate, key)
