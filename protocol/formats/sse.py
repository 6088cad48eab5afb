"""Events of a result stream as bytes (docs/http.md, "Events"; HTML Standard, section 9.2 Server-sent events).

Every function returns one whole event in UTF-8, with the blank line that dispatches it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from protocol.errors import ProtocolError
from protocol.time import FIRST_INSTANT, LAST_INSTANT, Instant, format_instant

HEARTBEAT = b": heartbeat\n\n"
"""A comment: clients skip it, proxies see that the connection lives."""

_WARNING = "warning: "
"""How a comment begins that says what is wrong with a query that is answered."""

RESUME = "resume"
"""The name of an event that is none: see ``resume_point``."""

_TOKEN_SHIFT = 2**52
_DIGITS = 16
_TOKEN = re.compile(rf"(?P<number>[0-9]{{{_DIGITS}}})(?P<incarnation>[1-9][0-9]{{0,15}})?\Z", re.ASCII)
# No incarnation begins with 0: what does is the landmark.
_RESUME_TOKEN = re.compile(
    rf"(?P<number>[0-9]{{{_DIGITS}}})(?:0(?P<landmark>[0-9]{{{_DIGITS}}}))?(?P<incarnation>[1-9][0-9]{{0,15}})?\Z",
    re.ASCII,
)
_LINE_END = re.compile(rb"\r\n|\n|\r")


class InvalidResumePoint(ProtocolError):
    """``Last-Event-ID`` is not an id that this endpoint gave to an event."""

    title = "Invalid resume point"


class ResumeToken(NamedTuple):
    """What an id says: the instant of an evaluation, the ``incarnation`` of the streams that it was made of, and the
    ``landmark`` of its query (see QueryDescription), where answers depend on that.
    """

    instant: Instant
    incarnation: int = 0
    landmark: Instant | None = None


class ElementToken(NamedTuple):
    """What the id of an element says: its number in the stream, and the stream's ``incarnation``."""

    number: int
    incarnation: int = 0


def resume_token(instant: Instant, incarnation: int = 0, landmark: Instant | None = None) -> str:
    """The id of the evaluation at ``instant``: the same after a restart, growing with it as text and as a number.

    The shift makes it positive for every year an ``xsd:dateTime`` can name here, and below 2**53, so that
    JavaScript compares it exactly. A 0 and the ``landmark`` follow where there is one, and the digits of the
    ``incarnation`` where it is not 0: both stay as they are, and in JavaScript too an id is then more than the one of
    the millisecond before.
    """
    since = "" if landmark is None else f"0{_number(landmark)}"
    return f"{_number(instant)}{since}{incarnation or ''}"


def _number(instant: Instant) -> str:
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise ValueError(f"{instant} ms is outside the years 1 to 9999")
    return f"{instant + _TOKEN_SHIFT:0{_DIGITS}d}"


def parse_resume_token(token: str) -> ResumeToken:
    """What the id of an event says. Raises InvalidResumePoint for anything ``resume_token`` never wrote."""
    found = _RESUME_TOKEN.match(token)
    if found is not None:
        instant = int(found["number"]) - _TOKEN_SHIFT
        landmark = None if found["landmark"] is None else int(found["landmark"]) - _TOKEN_SHIFT
        if all(FIRST_INSTANT <= one <= LAST_INSTANT for one in (instant, landmark) if one is not None):
            return ResumeToken(instant, int(found["incarnation"] or 0), landmark)
    raise InvalidResumePoint(
        f"{token!r} is not the id of an event of this endpoint: send the id of the last event received, "
        "or leave it out to start with the next evaluation"
    )


def element_id(number: int, incarnation: int = 0) -> str:
    """The id of an element in a stream's own events, by its number in the stream.

    The digits of the stream's ``incarnation`` follow where it is not 0, as in ``resume_token``.
    """
    return f"{number:0{_DIGITS}d}{incarnation or ''}"


def parse_element_id(token: str) -> ElementToken:
    """What the id of an element says. Raises InvalidResumePoint for anything ``element_id`` never wrote."""
    found = _TOKEN.match(token)
    if found is None:
        raise InvalidResumePoint(
            f"{token!r} is not the id of an element of this stream: send the id of the last event received, "
            "or leave it out to start with the next element"
        )
    return ElementToken(int(found["number"]), int(found["incarnation"] or 0))


def opening(warnings: Sequence[str]) -> bytes:
    """What a result stream begins with: its query's warnings as comments, for people who look at it, or a heartbeat."""
    comments = (f": {_WARNING}{' '.join(warning.split())}\n".encode() for warning in warnings)
    return b"".join(comments) + b"\n" if warnings else HEARTBEAT


def event(data: bytes, *, name: str | None = None, identifier: str | None = None) -> bytes:
    """One event; ``data`` may have several lines, and may be empty.

    Empty data is written as an empty ``data`` field: an event without any is never dispatched.
    """
    lines: list[bytes] = []
    if identifier is not None:
        lines.append(b"id: " + identifier.encode())
    if name is not None:
        lines.append(b"event: " + name.encode())
    for line in _LINE_END.split(data) if b"\n" in data or b"\r" in data else (data,):
        lines.append(b"data: " + line if line else b"data:")
    return b"\n".join(lines) + b"\n\n"


def is_graph(data: bytes) -> bool:
    """Whether an evaluation's data is N-Triples (CONSTRUCT, DESCRIBE) rather than a JSON document."""
    return not data.startswith(b"{")


def evaluation_event(token: ResumeToken, data: bytes, watermark: Instant) -> bytes:
    """The default event of one evaluation; one of triples is followed by the ``progress`` that carries its time.

    ``data`` is as in a backend's Evaluation: a JSON document on one line, or N-Triples.
    """
    instant, identifier = token.instant, resume_token(*token)
    if not is_graph(data):
        return event(data, identifier=identifier)
    return event(data.rstrip(b"\r\n"), identifier=identifier) + progress_event(instant, max(instant, watermark))


def progress_event(time: Instant, watermark: Instant) -> bytes:
    """All evaluations up to ``time`` are out."""
    return _json_event("progress", {"time": show_instant(time), "watermark": show_instant(watermark)})


def error_event(problem: dict[str, Any]) -> bytes:
    """A problem document (RFC 9457)."""
    return _json_event("error", problem)


def reset_event(time: Instant) -> bytes:
    """The resume point is no longer held: what follows starts after ``time``."""
    return _json_event("reset", {"time": show_instant(time)})


def resume_point(instant: Instant) -> bytes:
    """The id from which a client is to resume, and no event: without data none is dispatched.

    It has a name for those clients that dispatch one all the same: they pass over a name that they do not know.
    """
    return f"id: {resume_token(instant)}\nevent: {RESUME}\n\n".encode()


def end_event(reason: str) -> bytes:
    """Nothing follows: the query was removed, or its streams have ended and every evaluation is out."""
    return _json_event("end", {"reason": reason})


def show_instant(instant: Instant) -> str:
    """``format_instant``, held to the years 1 to 9999: the watermark of an ended stream lies beyond them."""
    return format_instant(min(max(instant, FIRST_INSTANT), LAST_INSTANT))


def _json_event(name: str, document: dict[str, Any]) -> bytes:
    return event(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), name=name)
