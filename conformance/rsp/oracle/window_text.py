"""Durations, times and what stands in a window's brackets, word by word (docs/language.md, "Window specifications")."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from conformance.rsp.oracle.windows import (
    CHANGE,
    CLOSE,
    NON_EMPTY,
    PERIODIC,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    SessionWindow,
    TimeWindow,
    Window,
)

_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_NAMES = {"ms": "millisecond", "s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_MS |= {f"{name}{end}": _MS[unit] for unit, name in _NAMES.items() for end in ("", "s")}
_MS |= {"sec": 1000, "min": 60_000}
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
DURATION = (
    r"(?:P[0-9DTHMS.]+"
    r"|\d+\s*(?!STEP|SLIDE|TUMBLING|OFFSET|PARTITION|TO\b|T0|REPORT|AS\b|ON_|NON_|PERIODIC)[a-z]*)"
)
_TIME = r"""(?:"[^"]*"(?:\^\^(?:<[^>]*>|[\w.-]*:[\w.-]*))?|-?[0-9][^\s\]]*)"""
_SPECIFICATION = re.compile(
    rf"""(?: RANGE\s+(?P<width>(?!TRIPLES){DURATION}) (?:\s+(?:STEP|SLIDE)\s+(?P<slide>{DURATION}) | \s+TUMBLING)?
         (?:\s+OFFSET\s+(?P<offset>{DURATION}))?
       | FROM\s+NOW\s*-\s*(?P<begin>{DURATION}) \s+TO\s+NOW (?:\s*-\s*(?P<end>{DURATION}))?
         (?:\s+(?:STEP|SLIDE)\s+(?P<of_now>{DURATION}))?
       | (?:RANGE\s+)?(?P<by>TRIPLES|ELEMENTS)\s+(?P<size>\d+) (?:\s+STEP\s+(?P<count_step>\d+))?
       | (?P<now>NOW)
       | SESSION\s+(?P<gap>{DURATION})
       | (?P<landmark>LANDMARK) (?:\s+(?P<since>(?!STEP|PARTITION|T0|REPORT){_TIME}))?
         (?:\s+STEP\s+(?P<step>{DURATION}))? )
       (?:\s+PARTITION\s+BY(?P<keys>(?:\s+(?!WHERE\b|T0\b|REPORT\b)[^\s\]]+)+))?
       (?:\s+WHERE\s*(?P<where>\{{.*\}}))?
       (?:\s+T0\s+(?P<origin>{_TIME}))? (?:\s+REPORT\s+(?P<report>.+))?""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


_NAME = re.compile(r'<[^>]*>|"[^"]*"|(?:[A-Za-z][\w-]*)?:[\w-]+')
"""A prefixed name; or an IRI or a string, in which there is none."""


def duration(text: str) -> int:
    """``PT10S``, ``10 s`` or ``10``, in ms."""
    if found := _ISO.fullmatch(text.strip()):
        days, hours, minutes, seconds = found.groups(default="0")
        return round(((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60_000 + float(seconds) * 1000)
    number, unit = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text.strip()).groups()  # type: ignore[union-attr]  # a case's own
    return int(number) * (_MS[unit.lower()] if unit else 1)


def instant(text: str) -> int:
    """An ``xsd:dateTime``, without a zone in UTC, or an integer, in ms since the epoch; in quotes or without."""
    text = text.strip().partition("^^")[0].strip('"')
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def window(
    text: str, stream: str, graph: str | None, *, pattern: bool, full: Callable[[str], str] = lambda iri: iri[1:-1]
) -> Window:
    """The window of a specification without its brackets. ``pattern``: it is that of a graph pattern (CQELS).

    ``full``: the IRI that one in brackets or a prefixed name stands for.
    """
    found = _SPECIFICATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"[{text}] is no window that the oracle knows")
    origin = None if found["origin"] is None else instant(found["origin"])
    words = (found["keys"] or "").split()
    keys = tuple(word.upper() if re.match(r"\w+$", word) else f"<{full(word)}>" for word in words)
    made: Window
    if found["width"] or found["begin"]:
        offset = duration(found["offset"] or found["end"] or "0")
        width = duration(found["width"]) if found["width"] else duration(found["begin"]) - offset
        continuous = pattern and "TUMBLING" not in text.upper()
        sliding = found["slide"] or found["of_now"]
        slide = duration(sliding) if sliding else 1 if continuous else width
        made = TimeWindow(stream, graph, None, 0, width, slide, -width if origin is None else origin, offset)
    elif found["by"]:
        step = int(found["count_step"] or 1)
        made = CountWindow(stream, graph, None, 0, int(found["size"]), found["by"].upper(), step, origin, keys)
        where = found["where"] and _NAME.sub(lambda one: _in_full(one[0], full), found["where"])
        made = replace(made, where=where, steps=found["count_step"] is not None)
    elif found["gap"]:
        made = SessionWindow(stream, graph, None, 0, duration(found["gap"]), origin, keys)
    elif found["now"]:
        made = NowWindow(stream, graph, None, 0, origin)
    else:
        since = None if found["since"] is None else instant(found["since"])
        every = None if found["step"] is None else duration(found["step"])
        made = LandmarkWindow(stream, graph, None, 0, since, every, origin, since is None)
    return made if found["report"] is None else _reporting(made, found["report"])


def _in_full(name: str, full: Callable[[str], str]) -> str:
    return name if name[0] in '<"' else f"<{full(name)}>"


def steps_as_written(text: str) -> bool:
    """Whether a count or LANDMARK window has a STEP, which says when it reports in a graph pattern, too."""
    found = _SPECIFICATION.fullmatch(text.strip())
    return found is not None and bool(found["count_step"] or found["step"])


def _reporting(made: Window, text: str) -> Window:
    words = text.upper()
    strategies = frozenset(one for one in (CLOSE, NON_EMPTY, CHANGE, PERIODIC) if one in words)
    beat = re.search(rf"{PERIODIC}\s+({DURATION})", text, re.IGNORECASE)
    return replace(made, strategies=strategies, period=0 if beat is None else duration(beat[1]))
