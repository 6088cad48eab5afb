"""The member ``source`` of a stream's settings (docs/sources.md): JSON, checked member by member."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from protocol.errors import ProtocolError
from protocol.formats.json_object import shown
from protocol.kafka import KAFKA_TOPIC, MECHANISMS
from protocol.login import is_one_line
from protocol.sources import SourceSettings, SourceType, TlsFiles

SECRET_PREFIX = "SPARQL_STREAMS_SECRET_"
"""How the names of the environment variables begin that may hold a password of a source."""

_VARIABLE = re.compile(rf"{SECRET_PREFIX}[A-Z0-9_]+\Z")
_LOGIN = ("user", "passwordFile", "passwordVariable")
_TLS = ("caFile", "certFile", "keyFile")


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
    SourceType.KAFKA: _Kind(
        ("kafka",), ("topics", "contentType", *_LOGIN, "mechanism", "tls"), "kafka://localhost:9092"
    ),
    SourceType.LDES: _Kind(("http", "https"), ("contentType", *_LOGIN), "https://example.org/feed"),
    SourceType.MQTT: _Kind(
        ("mqtt", "mqtts"), ("topics", "contentType", "version", *_LOGIN, "tls"), "mqtt://localhost:1883"
    ),
    SourceType.SSE: _Kind(("http", "https"), ("contentType", *_LOGIN), "https://example.org/events"),
    SourceType.WEBSOCKET: _Kind(("ws", "wss"), ("contentType", *_LOGIN), "wss://example.org/live"),
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
    user, file, variable = (_text(members, name) for name in _LOGIN)
    for name, text in zip(_LOGIN, (user, file, variable), strict=True):
        if text is not None and not is_one_line(text):
            _wrong(f"{name} must be a text on one line, without control characters")
    if file is not None and variable is not None:
        _wrong("a source has a passwordFile or a passwordVariable, not both")
    if user is None and (file or variable) is not None:
        _wrong("a password goes with a user: say which")
    if type is SourceType.KAFKA and user is not None and file is None and variable is None:
        _wrong("a user of Kafka's goes with a password: say passwordFile or passwordVariable")
    if variable is not None and not _VARIABLE.match(variable):
        _wrong(f"passwordVariable must be the name of an environment variable that begins with {SECRET_PREFIX}")
    if file is not None and not file.startswith("/"):
        _wrong(f"passwordFile must be an absolute path of the server's, not {shown(file)}")
    return SourceSettings(
        type,
        _url(members.get("url"), type, kind),
        _topics(members.get("topics"), type),
        content_type,
        _version(members.get("version")),
        user,
        file,
        variable,
        _tls(members.get("tls")),
        _mechanism(members.get("mechanism"), user),
    )


def source_document(source: SourceSettings) -> dict[str, Any]:
    """The source as ``parse_source`` takes it. It has no secrets: only where they are."""
    files = source.tls and (source.tls.authorities, source.tls.certificate, source.tls.key)
    members = {
        "type": source.type.value,
        "url": source.url,
        "topics": list(source.topics) or None,
        "contentType": source.content_type,
        "version": source.version,
        "user": source.user,
        "passwordFile": source.password_file,
        "passwordVariable": source.password_variable,
        "mechanism": source.mechanism,
        "tls": files and ({name: path for name, path in zip(_TLS, files, strict=True) if path is not None} or True),
    }
    return {name: value for name, value in members.items() if value is not None}


def _type(value: object) -> SourceType:
    known = ", ".join(sorted(SourceType))
    if not isinstance(value, str) or value not in list(SourceType):
        _wrong(f"the type of a source is one of {known}, not {shown(value)}")
    return SourceType(value)


def _url(value: object, type: SourceType, kind: _Kind) -> str:
    schemes = " or ".join(f"{scheme}:" for scheme in kind.schemes)
    expected = f"the url of a source of type {type} begins with {schemes} (such as {kind.example})"
    if not isinstance(value, str) or not value.isprintable() or " " in value:
        _wrong(f"{expected}; {shown(value)} is none")
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
        if not topic or "\0" in topic or len(topic.encode()) > 65_535 or not hash_last or not whole:
            _wrong(f"{shown(topic)} is no topic filter: + is a whole level between slashes, # all levels at the end")


def _mechanism(value: object, user: str | None) -> str | None:
    if value is not None and value not in MECHANISMS:
        _wrong(f"mechanism must be one of {', '.join(map(shown, MECHANISMS))}, not {shown(value)}")
    if value is not None and user is None:
        _wrong("a mechanism goes with a user: say which")
    return None if value is None else str(value)


def _version(value: object) -> str | None:
    if value is not None and value not in _VERSIONS:
        _wrong(f"version must be one of {', '.join(map(shown, _VERSIONS))} (MQTT), not {shown(value)}")
    return None if value is None else str(value)


def _tls(value: object) -> TlsFiles | None:
    if value is None or value is False:
        return None
    if value is True:
        return TlsFiles()
    if not isinstance(value, dict) or not value.keys() <= set(_TLS):
        _wrong(f"tls must be true, or an object with {', '.join(_TLS)} (paths of PEM files), not {shown(value)}")
    authorities, certificate, key = (_text(value, name) for name in _TLS)
    if key is not None and certificate is None:
        _wrong("tls: a keyFile goes with a certFile")
    return TlsFiles(authorities, certificate, key)


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        _wrong(f"{name} must be a text, not {shown(value)}")
    return value


def _wrong(detail: str) -> NoReturn:
    raise InvalidSource(detail)
