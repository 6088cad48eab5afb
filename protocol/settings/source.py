"""The member ``source`` of a stream's settings (docs/sources.md): JSON, checked member by member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from protocol.errors import ProtocolError
from protocol.formats.json.object import shown
from protocol.kafka import KAFKA_TOPIC
from protocol.settings.login import KAFKA_MEMBERS, MQTT_MEMBERS, WEB_MEMBERS, login_document, parse_login
from protocol.sources import SourceSettings, SourceType


class InvalidSource(ProtocolError):
    """A member of the source that is unknown, missing, or has a value that is not one."""

    title = "The source's settings are wrong"


@dataclass(frozen=True)
class _Kind:
    """What a type of source takes: the schemes of its address, members besides ``type`` and ``url``, an example."""

    schemes: tuple[str, ...]
    members: tuple[str, ...]
    example: str


_KINDS = {
    SourceType.FILE: _Kind(("file",), ("contentType",), "file:///srv/in/readings.ndjson"),
    SourceType.KAFKA: _Kind(("kafka",), ("topics", "contentType", *KAFKA_MEMBERS), "kafka://localhost:9092"),
    SourceType.LDES: _Kind(("http", "https"), ("contentType", *WEB_MEMBERS), "https://example.org/feed"),
    SourceType.MQTT: _Kind(
        ("mqtt", "mqtts"), ("topics", "contentType", "version", *MQTT_MEMBERS), "mqtt://localhost:1883"
    ),
    SourceType.SSE: _Kind(("http", "https"), ("contentType", *WEB_MEMBERS), "https://example.org/events"),
    SourceType.WEBSOCKET: _Kind(("ws", "wss"), ("contentType", *WEB_MEMBERS), "wss://example.org/live"),
}
_VERSIONS = ("5", "3.1.1")


def schemes_of(type: SourceType) -> tuple[str, ...]:
    """The schemes that the address of such a source may have."""
    return _KINDS[type].schemes


def parse_source(value: object) -> SourceSettings:
    """The source that a stream's settings ask for. Raises InvalidSource.

    Whether a ``contentType`` is one that streams read is looked at elsewhere.
    """
    if not isinstance(value, dict):
        _wrong(f'source must be an object such as {{"type": "mqtt", "url": "mqtt://localhost"}}, not {shown(value)}')
    members: dict[str, Any] = {name: member for name, member in value.items() if member is not None}
    type = _type(members.pop("type", None))
    kind = _KINDS[type]
    known = ("type", "url", *kind.members)
    for name in members:
        if name not in known:
            _wrong(f"a source of type {type} has no setting {shown(name)}: it has {', '.join(known)}")
    content_type = _text(members, "contentType")
    url = _url(members.get("url"), type, kind)
    return SourceSettings(
        type,
        url,
        _topics(members.get("topics"), type),
        content_type,
        _version(members.get("version")),
        parse_login(members, _wrong, of_kafka=type is SourceType.KAFKA),
    )


def source_document(source: SourceSettings) -> dict[str, Any]:
    """The source as ``parse_source`` takes it. It has no secrets: only where they are."""
    members = {
        "type": source.type.value,
        "url": source.url,
        "topics": list(source.topics) or None,
        "contentType": source.content_type,
        "version": source.version,
    }
    return {name: value for name, value in members.items() if value is not None} | login_document(source.login)


def _type(value: object) -> SourceType:
    known = ", ".join(sorted(SourceType))
    if not isinstance(value, str) or value not in list(SourceType):
        _wrong(f"the type of a source is one of {known}, not {shown(value)}")
    return SourceType(value)


def _url(value: object, type: SourceType, kind: _Kind) -> str:
    schemes = " or ".join(f"{scheme}:" for scheme in kind.schemes)
    expected = f"the url of a source of type {type} begins with {schemes} (such as {kind.example})"
    if not isinstance(value, str):
        _wrong(f"{expected}; {shown(value)} is none")
    if not value.isprintable() or " " in value:
        _wrong(f"the url of a source has no space and no control character, but %20, say; {shown(value)} has one")
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError as error:
        _wrong(f"{expected}; {shown(value)} is none: {error}")
    if "@" in parts.netloc:
        _wrong("the url of a source has no user and no password in it: say user and passwordFile")
    if parts.scheme not in kind.schemes or not (parts.path if type is SourceType.FILE else parts.hostname):
        _wrong(f"{expected}; {shown(value)} is none")
    if parts.fragment or (type in (SourceType.FILE, SourceType.MQTT, SourceType.KAFKA) and parts.query):
        _wrong(f"{expected}, without a query or a fragment")
    if type is SourceType.KAFKA and parts.path not in ("", "/"):
        _wrong(f"{expected}, without a path: topics are the member of that name")
    if type is SourceType.FILE and (parts.netloc not in ("", "localhost") or not parts.path.startswith("/")):
        _wrong(f"{expected}: an absolute path on the server's machine")
    return value


def _topics(value: object, type: SourceType) -> tuple[str, ...]:
    if type not in (SourceType.KAFKA, SourceType.MQTT):
        return ()
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        example = 'topic or filter such as "home/+/temperature"' if type is SourceType.MQTT else "topic"
        _wrong(f"topics must be a list of at least one {example}, not {shown(value)}")
    (_check_filters if type is SourceType.MQTT else _check_kafka_topics)(value)
    return tuple(dict.fromkeys(value))


def _check_kafka_topics(topics: list[str]) -> None:
    for topic in topics:
        if not KAFKA_TOPIC.match(topic):
            _wrong(
                f"{shown(topic)} is no topic of Kafka's, which have letters, digits, and . _ - (there are no "
                "wildcards: name each topic)"
            )


def _check_filters(topics: list[str]) -> None:
    for topic in topics:
        levels = topic.split("/")
        hash_last = "#" not in topic or (levels[-1] == "#" and topic.count("#") == 1)
        whole = all(level == "+" for level in levels if "+" in level)
        if levels[0] == "$share" and (len(levels) < 3 or levels[1] in ("", "+", "#") or levels[2:] == [""]):
            # Some brokers take it, and never send anything for it.
            _wrong(f"{shown(topic)} is no shared filter, which is $share, a group without wildcards, and a filter")
        if not topic or "\0" in topic or len(topic.encode()) > 65_535 or not hash_last or not whole:
            _wrong(f"{shown(topic)} is no topic filter: + is a whole level between slashes, # all levels at the end")


def _version(value: object) -> str | None:
    if value is not None and value not in _VERSIONS:
        _wrong(f"version must be one of {', '.join(map(shown, _VERSIONS))} (MQTT), not {shown(value)}")
    return None if value is None else str(value)


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        _wrong(f"{name} must be a text, not {shown(value)}")
    return value


def _wrong(detail: str) -> NoReturn:
    raise InvalidSource(detail)
