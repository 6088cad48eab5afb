"""Instants and durations: milliseconds since the epoch, written as ``xsd:dateTime`` in UTC.

docs/model.md, "Time" (time) and docs/language.md, "Durations and times" (``Duration``, ``Unit``).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

Instant = int
"""Milliseconds since 1970-01-01T00:00:00Z; may be negative."""

Milliseconds = int

BEFORE_ALL: Instant = -(2**62)
"""Before every instant: the watermark of a stream that has none yet, the opening of a window without a first instant.

The logs have it on the disk.
"""

FIRST_INSTANT: Instant = -62_135_596_800_000
LAST_INSTANT: Instant = 253_402_300_799_999
"""The instants that are an ``xsd:dateTime`` everyone reads: of the years 1 to 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Digits are those of ASCII, as in XML Schema; white space is any, also a no-break space.
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DATE_TIME = re.compile(
    r"(?P<year>-?\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<fraction>\.\d+)?"
    r"(?P<zone>Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?\Z",
    re.ASCII,
)
_XSD_DURATION = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?\Z",
    re.IGNORECASE | re.ASCII,
)
_DAMAGED_DURATION = re.compile(r"[Pp]?[Tt]?(?P<count>[0-9]{1,15})\s*(?P<unit>[A-Za-z]+)\Z")
_UNIT_DURATION = re.compile(r"(?P<count>[0-9]+)\s*(?P<unit>[A-Za-z]*)\Z")

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
UNITS: dict[str, Milliseconds] = {
    "": 1,
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": _SECOND, "sec": _SECOND, "second": _SECOND, "seconds": _SECOND,
    "m": _MINUTE, "min": _MINUTE, "minute": _MINUTE, "minutes": _MINUTE,
    "h": _HOUR, "hour": _HOUR, "hours": _HOUR,
    "d": _DAY, "day": _DAY, "days": _DAY,
    "w": 7 * _DAY, "week": 7 * _DAY, "weeks": 7 * _DAY,
}  # fmt: skip
"""Unit names of docs/language.md, "Durations and times", lower case, in milliseconds."""


_LONGEST = 200
"""Characters: Python reads no number of some thousands of digits, and says so in words of its own."""


def _of_readable_length(text: str, what: str) -> str:
    text = text.strip()
    if len(text) > _LONGEST:
        raise ValueError(f"'{text[:40]}…' is not {what}: it has {len(text)} characters")
    return text


def parse_instant(text: str) -> Instant:
    """An ``xsd:dateTime`` (no zone means UTC) or an integer of milliseconds.

    Fractions of a second beyond milliseconds are cut off. Raises ValueError, saying what would be right.
    """
    text = _of_readable_length(text, "a time")
    if _INTEGER.match(text):
        return int(text)
    match = _DATE_TIME.match(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a time: write an xsd:dateTime such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
        )
    hour, day_shift = int(match["hour"]), 0
    if hour == 24:
        # XSD 1.1 Part 2, 3.3.7: 24:00:00 is the first instant of the following day.
        if match["minute"] != "00" or match["second"] != "00" or (match["fraction"] or ".0").strip(".0"):
            raise ValueError(f"{text!r} is not a time: hour 24 only as 24:00:00")
        hour, day_shift = 0, 1
    try:
        moment = datetime(
            int(match["year"]), int(match["month"]), int(match["day"]),
            hour, int(match["minute"]), int(match["second"]), tzinfo=UTC,
        )  # fmt: skip
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1) + day_shift * _DAY
    if match["fraction"]:
        milliseconds += int((match["fraction"][1:] + "00")[:3])
    zone = match["zone"]
    if zone and zone != "Z":
        offset = int(zone[1:3]) * _HOUR + int(zone[4:6]) * _MINUTE
        milliseconds -= offset if zone[0] == "+" else -offset
    return milliseconds


def format_instant(instant: Instant) -> str:
    """The ``xsd:dateTime`` of an instant, in UTC with a ``Z``; milliseconds only where there are any."""
    try:
        moment = _EPOCH + timedelta(milliseconds=instant)
    except OverflowError:
        raise ValueError(f"{instant} ms is outside the years 1 to 9999") from None
    text = moment.strftime("%Y-%m-%dT%H:%M:%S") if moment.year >= 1000 else moment.isoformat()[:19]
    milliseconds = instant % 1000
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"


def parse_duration(text: str) -> Milliseconds:
    """``PT10S``, ``P1D``, ``10s``, ``10 SECONDS`` or a bare integer (milliseconds).

    Raises ValueError for anything else; years and months have no fixed length and are refused.
    """
    text = _of_readable_length(text, "a duration")
    match = _XSD_DURATION.match(text)
    if match is not None and any(value is not None for value in match.groups()) and not text.upper().endswith("T"):
        if match["years"] or match["months"]:
            raise ValueError(f"{text!r}: years and months have no fixed length; use days (P30D) or shorter units")
        seconds, _, fraction = (match["seconds"] or "0").partition(".")
        return (
            int(match["days"] or 0) * _DAY
            + int(match["hours"] or 0) * _HOUR
            + int(match["minutes"] or 0) * _MINUTE
            + int(seconds) * _SECOND
            + int((fraction + "000")[:3])
        )
    match = _UNIT_DURATION.match(text)
    if match is not None and match["unit"].lower() in UNITS:
        return int(match["count"]) * UNITS[match["unit"].lower()]
    meant = _meant(text)
    right = "PT10S, 10s, 10 SECONDS or milliseconds" if meant is None else format_duration(meant)
    raise ValueError(f"{text!r} is not a duration: write {right}")


def _meant(text: str) -> Milliseconds | None:
    """What a damaged duration such as P3SEC or T3S tells all the same; None if it tells nothing."""
    match = _DAMAGED_DURATION.match(text)
    unit = match["unit"].lower() if match is not None else ""
    return int(match["count"]) * UNITS[unit] if match is not None and unit in UNITS else None


def format_duration(milliseconds: Milliseconds) -> str:
    """The ``xsd:dayTimeDuration`` of a number of milliseconds, in hours, minutes and seconds."""
    seconds, rest = divmod(milliseconds, _SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{rest:03d}".rstrip("0") if rest else ""
    parts = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    parts += f"{seconds}{fraction}S" if seconds or rest or not parts else ""
    return "PT" + parts
