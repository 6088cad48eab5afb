from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery, Form
from protocol.sinks.members import InvalidSinkSettings
from protocol.sinks.settings import (
    parse_sink_settings,
    settings_document,
    settings_of,
    shown_settings,
)

WEBHOOK = {"type": "webhook", "url": "https://example.org/alerts"}
SECRET = "Bearer 5e8f"


def parsed(form: Form = Form.SELECT, **members: Any) -> Any:
    return parse_sink_settings(json.dumps({**WEBHOOK, **members}).encode(), form)


def test_the_format_is_by_default_one_of_the_form() -> None:
    assert parsed().format == "json"
    assert parsed(Form.CONSTRUCT).format == "text/turtle"


def test_settings_are_read_again_as_they_were_written() -> None:
    settings = parsed(format="text", template="{room}", headers={"Authorization": SECRET})
    assert settings_of(settings_document(settings)) == settings


def test_what_may_be_secret_is_not_shown() -> None:
    settings = parsed(headers={"Authorization": SECRET})
    assert shown_settings(settings)["headers"] == ["Authorization"]
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"type": None}, 'must be one of "'),
        ({"type": "pigeon"}, "pigeon"),
        ({"url": ""}, "url"),
        ({"url": 5}, "url"),
        ({"formt": "json"}, "formt"),
        ({"format": "pdf"}, "pdf"),
        ({"format": "text"}, "template is missing"),
        ({"template": "{a}"}, 'for the format "text"'),
        ({"format": "text", "template": "{a"}, "character 1"),
        ({"headers": ["a"]}, "must be an object"),
        ({"headers": {"Idempotency-Key": "1"}}, "none that can be set"),
        ({"headers": {"sparql-Streams-Query": "1"}}, "none that can be set"),
        ({"headers": {"A b": "1"}}, "none that can be set"),
        ({"headers": {str(n): "1" for n in range(21)}}, "more than 20"),
    ],
)
def test_what_is_wrong_is_named(members: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSinkSettings, match=said):
        parsed(**members)


def test_a_wrong_header_is_told_without_its_value() -> None:
    with pytest.raises(InvalidSinkSettings) as caught:
        parsed(headers={"Authorization": SECRET + "\r\nX: y"})
    assert SECRET not in caught.value.detail


MQTT = {"type": "mqtt", "url": "mqtts://broker.example", "topic": "home/alerts"}
FILE = {"type": "file", "url": "file:///srv/out/answers.jsonl"}


@pytest.mark.parametrize(
    "members",
    [
        MQTT,
        {**MQTT, "user": "sink", "passwordFile": "/run/secrets/mqtt", "tls": {"caFile": "/etc/ca.pem"}},
        {**MQTT, "user": "sink", "passwordVariable": "SPARQL_STREAMS_SECRET_MQTT", "tls": True},
        FILE,
        {**FILE, "maxBytes": "1MB", "keep": 3},
    ],
)
def test_brokers_and_files_are_kept(members: dict[str, Any]) -> None:
    settings = settings_of(members)
    assert settings_of(settings_document(settings)) == settings
    sizes = {"maxBytes": 2**20} if "maxBytes" in members else {}
    assert shown_settings(settings).items() >= {**members, **sizes}.items()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({**MQTT, "topic": None}, "topic is missing"),
        ({**MQTT, "topic": "home/#"}, "without [+] and #"),
        ({**MQTT, "url": "https://broker.example"}, "mqtt: or mqtts:"),
        ({**MQTT, "url": "mqtt://sink:secret@broker.example"}, "no password"),
        ({**MQTT, "url": "mqtt://broker.example:port"}, "not whole"),
        ({**MQTT, "passwordFile": "/run/secrets/mqtt"}, "say which"),
        ({**MQTT, "user": "sink", "passwordFile": "mqtt"}, "absolute path"),
        ({**MQTT, "user": "sink", "passwordVariable": "HOME"}, "SPARQL_STREAMS_SECRET_"),
        ({**MQTT, "tls": {"keyFile": "/k"}}, "certFile"),
        ({**MQTT, "headers": {}}, "a sink of type mqtt has no setting"),
        ({**FILE, "url": "file://elsewhere/answers"}, "absolute path"),
        ({**FILE, "url": "file:///srv/out/"}, "absolute path"),
        ({**FILE, "maxBytes": "large"}, "maxBytes"),
        ({**FILE, "keep": 0}, "keep"),
    ],
)
def test_what_is_wrong_of_brokers_and_files_is_named(members: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSinkSettings, match=said):
        settings_of(members)


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"type": "webhook", "type": "webhook"}', b"\xff"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidSinkSettings):
        parse_sink_settings(body, Form.SELECT)


KAFKA = {
    "type": "kafka", "url": "kafka://broker:9092", "format": "rows", "topic": "alerts", "user": "me",
    "passwordFile": "/run/secrets/kafka", "tls": True, "mechanism": "SCRAM-SHA-256",
}  # fmt: skip


def test_a_topic_of_kafka_is_written_and_read_again_as_it_was() -> None:
    for document in (KAFKA, {**KAFKA, "tls": {"caFile": "/ca.pem"}}):
        assert settings_document(settings_of(document)) == document
    assert settings_of({**KAFKA, "tls": True}) == settings_of(KAFKA)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({**KAFKA, "topic": "a/b"}, "a topic of Kafka's"),
        ({**KAFKA, "topic": None}, "topic is missing"),
        ({**KAFKA, "url": "mqtt://b"}, "the url of a sink of type kafka begins with kafka:"),
        ({**KAFKA, "mechanism": "GSSAPI"}, "mechanism must be one of"),
        ({**KAFKA, "user": None, "passwordFile": None}, "goes with a user"),
        ({**KAFKA, "passwordFile": None}, "goes with a password: say passwordFile or passwordVariable"),
        ({**KAFKA, "tls": "yes"}, "tls must be true, or an object"),
        ({**KAFKA, "headers": {}}, "no setting"),
    ],
)
def test_what_is_wrong_of_kafka_is_named(members: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSinkSettings, match=said):
        settings_of(members)


@pytest.mark.parametrize("character", ["\n", "\r", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"])
def test_a_user_of_any_sink_is_one_line(character: str) -> None:
    login = {"user": f"u{character}x=", "passwordFile": "/run/secrets/a"}
    for sink in (KAFKA, MQTT):
        for user in (f"u{character}x=", f"u{character}"):
            with pytest.raises(InvalidSinkSettings, match="user must be a text on one line, without control"):
                settings_of({**sink, **login, "user": user})
        with pytest.raises(InvalidSinkSettings, match="passwordFile must be a text on one line"):
            settings_of({**sink, **login, "user": "u", "passwordFile": f"/run/a{character}b"})


def test_a_template_has_variables_of_the_query() -> None:
    query = parse(
        "SELECT ?room FROM NAMED WINDOW <w> ON <s> [RANGE 1s] WHERE { WINDOW <w> { ?room ?p ?o } }", base="http://e/"
    )
    assert isinstance(query, ContinuousQuery)
    parsed(format="text", template="{room}").require_answers_of(query)
    with pytest.raises(InvalidSinkSettings, match='no variable "o": they have room'):
        parsed(format="text", template="{o}").require_answers_of(query)
