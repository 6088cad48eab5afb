"""The body of ``PUT /streams/NAME`` (docs/http.md, "Stream settings"): JSON, all members optional."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from pyoxigraph import NamedNode

from protocol.entailment.regimes import parse_regime
from protocol.errors import ProtocolError
from protocol.formats.json.context import context_problem, refers
from protocol.formats.json.object import read_object, shown
from protocol.settings.source import parse_source, source_document
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.streams import DEFAULT_RETENTION, DEFAULT_TIMESTAMP_PATH, JsonContext, OnInvalid, StreamSettings, TimeKind
from protocol.time import Milliseconds, format_duration, parse_duration

MEMBERS = (
    "iri", "time", "timestampPath", "allowedLateness", "idleTimeout", "retention", "context", "source", "onInvalid",
    "maxAhead", "partitions", "shape", "entailment",
)  # fmt: skip

_NOT_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|\\^`]')
_LONGEST: Milliseconds = 2**52
"""Longer durations would leave the range of instants, and mean nothing."""
_MOST_PARTITIONS = 1024

Choice = TypeVar("Choice", bound=StrEnum)


class InvalidSettings(ProtocolError):
    """A member of the settings that is unknown, or has a value that is not one."""

    title = "The stream's settings are wrong"


def parse_stream_settings(body: bytes, *, default_iri: str) -> StreamSettings:
    """The settings in ``body``, defaults filled in; an empty body asks for all of them.

    Raises InvalidSettings, which names the member (or line and column of what is not JSON), and for a source what
    ``parse_source`` raises, for a shape what ``ShapesGraph.parse`` does; UnknownRegime.
    """
    members = read_object(body, InvalidSettings, '{"time": "event"}') if body.strip() else {}
    for name in members:
        if name not in MEMBERS:
            _wrong(f"there is no setting {shown(name)}: the settings are {', '.join(MEMBERS)}")
    idle_timeout = None if members.get("idleTimeout") is None else _duration(members, "idleTimeout", 0)
    if idle_timeout == 0:
        _wrong("idleTimeout must be longer than zero; leave it out to wait for ever")
    partitions = _partitions(members.get("partitions"))
    if partitions > 1 and members.get("source") is not None:
        _wrong("partitions and source: a source says itself what partitions it reads, so leave partitions out")
    retention = _duration(members, "retention", DEFAULT_RETENTION)
    if retention == 0:
        _wrong("retention must be longer than zero")
    iri = _iri("iri", members["iri"]) if members.get("iri") is not None else default_iri
    return StreamSettings(
        iri=iri,
        time=_choice("time", members.get("time"), TimeKind, TimeKind.ARRIVAL),
        timestamp_path=_path(members.get("timestampPath")),
        allowed_lateness=_duration(members, "allowedLateness", 0),
        retention=retention,
        idle_timeout=idle_timeout,
        context=_context(members.get("context")),
        source=None if members.get("source") is None else parse_source(members["source"]),
        on_invalid=_choice("onInvalid", members.get("onInvalid"), OnInvalid, OnInvalid.REJECT),
        max_ahead=None if members.get("maxAhead") is None else _duration(members, "maxAhead", 0),
        partitions=partitions,
        shape=_shape(members.get("shape"), iri),
        entailment=None if members.get("entailment") is None else parse_regime(members["entailment"], "entailment"),
    )


def stream_settings_document(settings: StreamSettings) -> dict[str, Any]:
    """The settings as ``parse_stream_settings`` takes them."""
    return {
        "iri": settings.iri,
        "time": settings.time.value,
        "timestampPath": list(settings.timestamp_path),
        "allowedLateness": format_duration(settings.allowed_lateness),
        "retention": format_duration(settings.retention),
        **({} if settings.idle_timeout is None else {"idleTimeout": format_duration(settings.idle_timeout)}),
        **({} if settings.context is None else {"context": json.loads(settings.context.given)}),
        **({} if settings.source is None else {"source": source_document(settings.source)}),
        **({} if settings.on_invalid is OnInvalid.REJECT else {"onInvalid": settings.on_invalid.value}),
        **({} if settings.max_ahead is None else {"maxAhead": format_duration(settings.max_ahead)}),
        **({} if settings.partitions == 1 else {"partitions": settings.partitions}),
        **({} if settings.shape is None else {"shape": settings.shape}),
        **({} if settings.entailment is None else {"entailment": settings.entailment.value}),
    }


def settings_warnings(settings: StreamSettings) -> list[str]:
    """Which of the settings say nothing, a sentence each."""
    if settings.time is TimeKind.EVENT:
        return []
    said = {
        "allowedLateness": settings.allowed_lateness,
        "idleTimeout": settings.idle_timeout,
        "maxAhead": settings.max_ahead,
    }
    return [
        f'{name} says nothing in a stream of arrival time, whose elements have the server\'s clock: say "time": "event"'
        for name, value in said.items()
        if value
    ]


def _iri(member: str, value: object) -> str:
    if not isinstance(value, str):
        _wrong(f"{member} must be an absolute IRI in quotes, not {shown(value)}")
    try:
        scheme = urlsplit(value).scheme
    except ValueError as error:
        _wrong(f"{member}: {shown(value)} is not an IRI: {error}")
    if not scheme or value == scheme + ":":
        _wrong(f"{member}: {shown(value)} is not an absolute IRI, such as http://example.org/stream")
    if forbidden := _NOT_IN_IRIS.search(value):
        _wrong(f"{member}: {shown(value)} is not an IRI: {forbidden[0]!r} must be percent-encoded")
    try:
        NamedNode(value)
    except ValueError as error:
        _wrong(f"{member}: {shown(value)} is not an IRI: {error}")
    return value


def _choice(member: str, value: object, kind: type[Choice], default: Choice) -> Choice:
    if value is None:
        return default
    if not isinstance(value, str) or value not in list(kind):
        choices = " or ".join(f'"{one}"' for one in kind)
        _wrong(f"{member} must be {choices}, not {shown(value)}")
    return kind(value)


def _partitions(value: object) -> int:
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PARTITIONS:
        _wrong(f"partitions must be a number from 1 to {_MOST_PARTITIONS}, not {shown(value)}")
    return value


def _path(value: object) -> tuple[str, ...]:
    if value is None:
        return DEFAULT_TIMESTAMP_PATH
    if not isinstance(value, list) or not value:
        _wrong(f"timestampPath must be a list of at least one predicate IRI, not {shown(value)}")
    return tuple(_iri(f"timestampPath[{index}]", step) for index, step in enumerate(value))


def _shape(value: object, base: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        _wrong(f"shape must be a shapes graph in Turtle, or the IRI of a graph, in quotes, not {shown(value)}")
    if StreamSettings(base, shape=value).shapes_graph is not None:
        return _iri("shape", value)
    ShapesGraph.parse(value, base)
    return value


def _context(value: object) -> JsonContext | None:
    if value is None:
        return None
    if not isinstance(value, str | dict | list):
        _wrong(f"context must be a JSON-LD context: an object, a list, or the IRI of one, not {shown(value)}")
    given = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if refers(value):
        return JsonContext(given, None)
    if (problem := context_problem(given)) is not None:
        _wrong(f"context: {problem}")
    return JsonContext(given, given)


def _duration(members: dict[str, Any], member: str, default: Milliseconds) -> Milliseconds:
    value = members.get(member)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int):
        _wrong(f'{member} must be a duration such as "PT5S", or milliseconds, not {shown(value)}')
    try:
        milliseconds = parse_duration(str(value))
    except ValueError as error:
        _wrong(f"{member}: {error}")
    if milliseconds > _LONGEST:
        _wrong(f"{member}: {shown(value)} is longer than any stream")
    return milliseconds


def _wrong(detail: str) -> NoReturn:
    raise InvalidSettings(detail)
