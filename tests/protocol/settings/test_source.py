from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import ProtocolError
from protocol.settings.source import parse_source, source_document
from protocol.settings.stream import parse_stream_settings, stream_settings_document
from protocol.sources import SourceSettings, SourceType

FILE = {"type": "file", "url": "file:///srv/in", "contentType": "application/x-ndjson"}


MQTT = {
    "type": "mqtt", "url": "mqtts://broker.org", "topics": ["home/+/temperature", "office/#"], "user": "reader",
    "passwordFile": "/run/secrets/mqtt", "tls": {"caFile": "/etc/ca.pem"}, "version": "3.1.1",
}  # fmt: skip

KAFKA = {
    "type": "kafka", "url": "kafka://broker:9092", "topics": ["rooms", "halls.2"], "user": "reader",
    "passwordVariable": "SPARQL_STREAMS_SECRET_KAFKA", "mechanism": "SCRAM-SHA-512", "tls": True,
}  # fmt: skip


def test_settings_with_a_source_written_and_read_again_are_the_same() -> None:
    settings = parse_stream_settings(json.dumps({"time": "event", "source": FILE}).encode(), default_iri="http://a/s")
    assert settings.source == SourceSettings(SourceType.FILE, "file:///srv/in", content_type="application/x-ndjson")
    document = stream_settings_document(settings)
    assert document["source"] == FILE
    assert parse_stream_settings(json.dumps(document).encode(), default_iri="http://b/") == settings


WRONG: list[tuple[Any, str]] = [
    ("mqtt", "source must be an object"),
    ({"url": "file:///x"}, "the type of a source is one of"),
    ({"type": "carrier-pigeon", "url": "x:y"}, "the type of a source is one of"),
    ({"type": "file"}, "begins with file:"),
    ({"type": "file", "url": "http://a/"}, "begins with file:"),
    ({"type": "sse", "url": "http://a/b c"}, "has no space and no control character"),
    ({"type": "file", "url": "file://other/x"}, "an absolute path"),
    ({"type": "file", "url": "file:///x?y"}, "without a query"),
    ({"type": "file", "url": "file:///x", "topics": ["a"]}, 'no setting "topics"'),
    ({"type": "file", "url": "file:///x", "contentType": 7}, "contentType must be a text"),
    ({"type": "mqtt", "url": "mqtt://a"}, "topics must be a list"),
    ({**MQTT, "topics": ["a/#/b"]}, "is no topic filter"),
    ({**MQTT, "topics": ["a+/b"]}, "is no topic filter"),
    ({**MQTT, "topics": ["$share/group"]}, "is no shared filter"),
    ({**MQTT, "topics": ["$share/group/"]}, "is no shared filter"),
    ({**MQTT, "topics": ["$share//a"]}, "is no shared filter"),
    ({**MQTT, "topics": ["$share/+/a"]}, "is no shared filter"),
    ({**MQTT, "url": "mqtt://user:secret@a"}, "no user and no password"),
    ({**MQTT, "url": "mqtt://a:port"}, "is none"),
    ({**MQTT, "passwordVariable": "SPARQL_STREAMS_SECRET_X"}, "not both"),
    ({**MQTT, "user": None}, "goes with a user"),
    ({**MQTT, "passwordFile": "secret"}, "absolute path"),
    ({**MQTT, "passwordFile": None, "passwordVariable": "HOME"}, "begins with SPARQL_STREAMS_SECRET_"),
    ({**MQTT, "password": "x"}, 'no setting "password"'),
    ({**MQTT, "tls": {"keyFile": "/k"}}, "goes with a certFile"),
    ({**MQTT, "tls": "yes"}, "tls must be true"),
    ({"type": "kafka", "url": "kafka://a"}, "topics must be a list of at least one topic, not"),
    ({**KAFKA, "topics": ["home/+"]}, "there are no wildcards"),
    ({**KAFKA, "topics": ["#"]}, "there are no wildcards"),
    ({**KAFKA, "topics": [".."]}, "no topic of Kafka's"),
    ({**KAFKA, "url": "kafka://a/rooms"}, "without a path"),
    ({**KAFKA, "mechanism": "GSSAPI"}, "mechanism must be one of"),
    ({**KAFKA, "passwordVariable": None}, "goes with a password: say passwordFile or passwordVariable"),
    ({**KAFKA, "user": None, "passwordVariable": None}, "a mechanism goes with a user"),
    ({**KAFKA, "version": "5"}, 'no setting "version"'),
    ({**MQTT, "version": "4"}, "version must be"),
]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_what_is_wrong_is_named(value: object, message: str) -> None:
    with pytest.raises(ProtocolError, match=message) as caught:
        parse_source(value)
    assert caught.value.status == 400


@pytest.mark.parametrize("character", ["\n", "\r", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"])
def test_a_user_of_any_source_is_one_line(character: str) -> None:
    login = {"user": f"u{character}x=", "passwordVariable": "SPARQL_STREAMS_SECRET_X"}
    web = [
        {"type": "sse", "url": "http://a/"},
        {"type": "ldes", "url": "http://a/"},
        {"type": "websocket", "url": "ws://a/"},
    ]
    sources: list[dict[str, Any]] = [KAFKA, {**MQTT, "passwordFile": None}, *web]
    for source in sources:
        with pytest.raises(ProtocolError, match="user must be a text on one line, without control") as caught:
            parse_source({**source, **login})
        assert caught.value.status == 400
    with pytest.raises(ProtocolError, match="passwordFile must be a text on one line"):
        parse_source({**MQTT, "passwordFile": f"/run/a{character}b"})


def test_a_document_has_only_what_was_said() -> None:
    for document in (FILE, KAFKA, MQTT, {"type": "mqtt", "url": "mqtt://a", "topics": ["a"], "tls": True}):
        assert source_document(parse_source(document)) == document
