"""The body of ``PUT /queries/NAME/sinks/SINK`` (docs/sinks.md, "Settings")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from protocol.formats.json.object import read_object, shown
from protocol.language.model import ContinuousQuery, Form
from protocol.sinks import file_settings, topic_settings
from protocol.sinks.body import TEXT, default_format, known_format, require_format
from protocol.sinks.file_settings import Rotation
from protocol.sinks.members import LONGEST_TEXT, InvalidSinkSettings, required_text, wrong
from protocol.sinks.template import Template
from protocol.sinks.topic_settings import Topic

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?\Z")
_OURS = frozenset(
    {
        "connection", "content-length", "content-type", "host", "idempotency-key", "sparql-streams-query",
        "transfer-encoding",
    }
)  # fmt: skip
_EXAMPLE = '{"type": "webhook", "url": "https://example.org/alerts", "format": "rows"}'
_MOST_HEADERS = 20


class SinkType(StrEnum):
    """What a sink sends answers to."""

    FILE = "file"
    KAFKA = "kafka"
    MQTT = "mqtt"
    WEBHOOK = "webhook"

    @property
    def schemes(self) -> tuple[str, ...]:
        """Those that its url may have."""
        return _SCHEMES[self]


_SCHEMES = {
    SinkType.FILE: ("file",),
    SinkType.KAFKA: ("kafka",),
    SinkType.MQTT: ("mqtt", "mqtts"),
    SinkType.WEBHOOK: ("http", "https"),
}
_MEMBERS = {
    SinkType.FILE: file_settings.MEMBERS,
    SinkType.KAFKA: topic_settings.KAFKA_MEMBERS,
    SinkType.MQTT: topic_settings.MQTT_MEMBERS,
    SinkType.WEBHOOK: ("headers",),
}
"""What a type has besides the members that all have."""

_COMMON = ("type", "url", "format", "template")


@dataclass(frozen=True)
class SinkSettings:
    """Where a query's answers go, and as what.

    ``headers`` are of a webhook, and may hold secrets: no ``repr`` has them. ``rotation`` is of a file, ``topic`` of
    MQTT and Kafka.
    """

    type: SinkType
    url: str
    format: str
    template: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    rotation: Rotation | None = None
    topic: Topic | None = None

    @property
    def lines(self) -> Template | None:
        """The template, read. ValueError for one that was never accepted."""
        return None if self.template is None else Template.of(self.template)

    def require_answers_of(self, query: ContinuousQuery) -> None:
        """Raises NotSendable or InvalidSinkSettings unless the query's answers can be sent so."""
        require_format(self.format, query.form)
        if self.lines is None:
            return
        variables = {variable.name for variable in query.expression.variables}
        for name in self.lines.variables:
            if name not in variables:
                known = ", ".join(sorted(variables)) or "none"
                wrong(f"template: the query's answers have no variable {shown(name)}: they have {known}")


def parse_sink_settings(body: bytes, form: Form) -> SinkSettings:
    """The settings in ``body``, for the answers of a query of this form. Raises InvalidSinkSettings, which names the
    member (or line and column of what is not JSON).
    """
    members = read_object(body, InvalidSinkSettings, _EXAMPLE)
    return settings_of(members, form)


def settings_of(members: Mapping[str, Any], form: Form = Form.SELECT) -> SinkSettings:
    """The same, from the object itself."""
    kind = _type(members.get("type"))
    known = (*_COMMON, *_MEMBERS[kind])
    for name in members:
        if name not in known:
            wrong(f"a sink of type {kind} has no setting {shown(name)}: the settings are {', '.join(known)}")
    format_name = _format(members.get("format"), form)
    url = _url(members, kind)
    return SinkSettings(
        type=kind,
        url=url,
        format=format_name,
        template=_template(members, format_name),
        headers=_headers(members.get("headers")),
        rotation=file_settings.read_rotation(members) if kind is SinkType.FILE else None,
        topic=topic_settings.read_topic(members, urlsplit(url).scheme) if "topic" in _MEMBERS[kind] else None,
    )


def settings_document(settings: SinkSettings) -> dict[str, Any]:
    """The settings as ``settings_of`` takes them, secrets included: for the disk alone."""
    return {
        "type": settings.type.value,
        "url": settings.url,
        "format": settings.format,
        **({} if settings.template is None else {"template": settings.template}),
        **({"headers": dict(settings.headers)} if settings.headers else {}),
        **(file_settings.rotation_document(settings.rotation) if settings.rotation else {}),
        **(topic_settings.topic_document(settings.topic) if settings.topic else {}),
    }


def shown_settings(settings: SinkSettings) -> dict[str, Any]:
    """The settings for everybody: of headers, which may be secrets, the names."""
    document = settings_document(settings)
    if settings.headers:
        document["headers"] = [name for name, _ in settings.headers]
    return document


def _type(value: object) -> SinkType:
    known = ", ".join(f'"{one}"' for one in SinkType)
    if not isinstance(value, str) or value not in set(SinkType):
        said = "is missing" if value is None else f"is {shown(value)}"
        wrong(f"type {said}: it must be one of {known}")
    return SinkType(value)


def _url(members: Mapping[str, Any], kind: SinkType) -> str:
    url = required_text(members, "url")
    schemes = " or ".join(f"{scheme}:" for scheme in kind.schemes)
    try:
        parts = urlsplit(url)
        right = parts.scheme in kind.schemes and bool(parts.path if kind is SinkType.FILE else parts.hostname)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        right = False
    if not right:
        wrong(f"the url of a sink of type {kind} begins with {schemes}; {shown(url)} does not, or is not whole")
    if "@" in parts.netloc:
        wrong("url must have no user and no password in it: they would be shown to everybody")
    if kind is SinkType.FILE and (parts.netloc not in ("", "localhost") or parts.query or parts.path.endswith("/")):
        wrong(f"url: {shown(url)} is not the absolute path of a file, such as file:///srv/out/answers.jsonl")
    return url


def _format(value: object, form: Form) -> str:
    if value is None:
        return default_format(form)
    found = known_format(value) if isinstance(value, str) else None
    if found is None:
        wrong(f'format: {shown(value)} is none of "json", "rows", "text" or a media type of answers')
    return found


def _template(members: Mapping[str, Any], format_name: str) -> str | None:
    value = members.get("template")
    if (format_name == TEXT) != (value is not None):
        wrong(
            'template is missing: the format "text" needs one, such as "{room} is {degrees} °C"'
            if value is None
            else f'template is for the format "text", not for {shown(format_name)}'
        )
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
        wrong(f"template must be a text of at most {LONGEST_TEXT} characters, not {shown(value)}")
    try:
        Template.of(value)
    except ValueError as error:
        wrong(f"template: {shown(value)} {error}")
    return value


def _headers(value: object) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        wrong('headers must be an object of names and texts, such as {"Authorization": "Bearer …"}')
    if len(value) > _MOST_HEADERS:
        wrong(f"headers has {len(value)} members, more than {_MOST_HEADERS}")
    for name, text in value.items():
        if not _HEADER.match(name) or name.lower() in _OURS:
            wrong(f"headers: {shown(name)} is none that can be set")
        if not isinstance(text, str) or len(text) > LONGEST_TEXT or not _HEADER_VALUE.match(text):
            # Not what it is: it may be a secret.
            wrong(f"headers: the value of {shown(name)} is not a text in visible ASCII characters on one line")
    return tuple(value.items())
