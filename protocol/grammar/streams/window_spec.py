"""What stands in a window's brackets: WindowSpec, Duration and Time (docs/language.md, "Window specifications").

This part is read from the characters, not from SPARQL's tokens, which would cut ``2026-01-01T00:00:00Z`` and
``PT0.5S`` to pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.sparql.source import Source
from protocol.sparql.tokens import skip
from protocol.time import FIRST_INSTANT, LAST_INSTANT, UNITS, Instant, Milliseconds, parse_duration, parse_instant
from protocol.windows.spec import Partition, Report, Strategy, Unit

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGITS = re.compile(r"[0-9]+")
_XSD_DURATION = re.compile(r"[Pp][0-9A-Za-z.]*")
_TIME = re.compile(r"[^\s\[\]{}()<>\"'#,;]+")
_QUOTED = re.compile(r"""(["'])([^"'\\\r\n]*)\1(?:\s*\^\^\s*(?:<([^<>\s]*)>|([A-Za-z0-9_.\-]*:[A-Za-z0-9_.\-]*)))?""")

_DATATYPE_NAMES = {
    "dateTime": ("dateTime", "dateTimeStamp", "integer", "long"),
    "duration": ("duration", "dayTimeDuration"),
}
_XSD = "http://www.w3.org/2001/XMLSchema#"

_STEP = ("STEP", "SLIDE", "SLIDING")
_AFTER_DURATION = frozenset({*_STEP, "TUMBLING", "OFFSET", "TO", "PARTITION", "T0", "REPORT", "AS", *Strategy})
_AFTER_DURATION |= {"FIXED", "FROM", "WHERE", "SELECT", "CONSTRUCT", "ASK", "DESCRIBE"}
_LONGEST: Milliseconds = 365_250 * 86_400_000
_LARGEST = 10**9


@dataclass(frozen=True)
class WrittenTime:
    """A time window as the query writes it, before defaults; all in milliseconds, None where nothing is written.

    ``of_now``: it is written as in SPARQLStream, ``[FROM NOW - 1 MINUTE TO NOW STEP 10s]`` or ``[1 MINUTE SLIDE 10s]``.
    ``offset``: how long before NOW it ends, 0 where nothing is written.
    """

    width: Milliseconds
    slide: Milliseconds | None = None
    origin: Instant | None = None
    report: Report | None = None
    of_now: bool = False
    offset: Milliseconds = 0


@dataclass(frozen=True)
class WrittenCount:
    """A count window as the query writes it, None where nothing is written."""

    size: int
    unit: Unit
    step: int | None = None
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None
    where: str | None = None


@dataclass(frozen=True)
class WrittenNow:
    """``NOW`` as the query writes it, None where nothing is written."""

    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenLandmark:
    """``LANDMARK`` as the query writes it; all in milliseconds, None where nothing is written."""

    landmark: Instant | None = None
    step: Milliseconds | None = None
    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenNothing:
    """No window: all of the stream so far, as an event pattern has it. It says nothing of origins and reports."""

    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenSession:
    """``SESSION`` as the query writes it; all in milliseconds, None where nothing is written."""

    gap: Milliseconds
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None


WrittenWindow: TypeAlias = WrittenTime | WrittenCount | WrittenNow | WrittenLandmark | WrittenSession | WrittenNothing


KeyReader: TypeAlias = Callable[[int], tuple[Partition, int]]
"""Reads what follows PARTITION, from an offset on, and says where it ends: IRIs are SPARQL's tokens."""

ConditionReader: TypeAlias = Callable[[int], tuple[str, int]]
"""Reads the group after WHERE, from an offset on, as ``CountWindow.where``, and says where it ends."""


class SpecificationReader:
    """Reads durations and window specifications from ``offset`` on; ``offset`` then is right after them."""

    def __init__(
        self, source: Source, offset: int, keys: KeyReader | None = None, condition: ConditionReader | None = None
    ) -> None:
        self.offset = offset
        self._keys = keys
        self._condition = condition
        self._source = source
        self._text = source.text

    def window(self) -> WrittenWindow:
        """``[ … ]``.

        Raises QuerySyntaxError, and QuerySemanticError for what lasts, counts or steps by nothing or can never report.
        """
        self._skip()
        if not self._take("["):
            raise self._unexpected("a window specification such as [RANGE 10s STEP 5s]")
        self._skip()
        start, kind = self.offset, self._peek_word()
        if kind == "RANGE":
            self._word("RANGE")
            self._skip()
            kind = "TRIPLES" if self._peek_word() == "TRIPLES" else "RANGE"
        elif not kind and _DIGITS.match(self._text, self.offset):
            kind = "1 MINUTE SLIDE 10s"
        written = self._body(kind)
        if self._word("OFFSET"):
            written = self._shifted(written)
        if self._keys is not None and self._word("PARTITION"):
            partition, self.offset = self._keys(self.offset)
            if isinstance(written, WrittenCount | WrittenSession):  # what lies in an interval does so whatever its key
                written = replace(written, partition=partition)
        if self._condition is not None and (place := self._at_word("WHERE")) is not None:
            if not isinstance(written, WrittenCount):
                counting = "only a window that counts has a WHERE: [ELEMENTS 1 PARTITION BY key WHERE { … }]"
                raise self._error(f"expected ] before WHERE; {counting}", place)
            self._word("WHERE")
            where, self.offset = self._condition(self.offset)
            written = replace(written, where=where)
        if self._word("T0"):
            written = replace(written, origin=self._time())
        if self._word("REPORT"):
            written = replace(written, report=self._report())
        self._skip()
        if not self._take("]"):
            raise self._unexpected_in_window(written)
        strategies = frozenset() if written.report is None else written.report.strategies
        if isinstance(written, WrittenLandmark) and written.step is None and Strategy.ON_WINDOW_CLOSE in strategies:
            raise self._error(
                "a LANDMARK window without STEP never closes: give it one (LANDMARK STEP 10s), or another REPORT",
                start,
                QuerySemanticError,
            )
        return written

    def bare_window(self) -> WrittenWindow:
        """Streaming SPARQL's, behind WINDOW (Table 1): ``RANGE 30 MINUTE SLIDE``, ``RANGE 5 S FIXED``, ``ELEMS 5``.

        SLIDE alone is by one of RANGE's unit. Raises as ``window``.
        """
        if self._word("ELEMS"):
            return WrittenCount(self._count("ELEMS"), Unit.TRIPLES)
        if not self._word("RANGE"):
            raise self._unexpected("RANGE or ELEMS after WINDOW")
        self._skip()
        start = self.offset
        width = self.duration("RANGE")
        unit = _WORD.search(self._text, start, self.offset)
        if self._word("FIXED"):
            return WrittenTime(width, width)
        if not self._word("SLIDE"):
            return WrittenTime(width)
        self._skip()
        if _DIGITS.match(self._text, self.offset):
            return WrittenTime(width, self.duration("SLIDE"))
        return WrittenTime(width, UNITS.get(unit[0].lower(), 1) if unit else 1)

    def duration(self, of: str, *, least: Milliseconds = 1) -> Milliseconds:
        """A duration of at least so much. ``of`` is the keyword it belongs to, for the errors."""
        self._skip()
        start = self.offset
        if quoted := self._quoted("duration"):
            written = quoted
        elif match := _XSD_DURATION.match(self._text, start):
            self.offset = match.end()
            written = match[0]
        else:
            written = self._count_and_unit(of)
        if len(written) > 100:
            raise self._too_long(start)
        try:
            length = parse_duration(written)
        except ValueError as error:
            raise self._error(str(error), start) from None
        if length < least:
            raise self._error(
                f"{of} {written} lasts no time: write at least a millisecond, such as {of} 1s or {of} PT1S",
                start,
                QuerySemanticError,
            )
        if length > _LONGEST:
            raise self._too_long(start)
        return length

    def _body(self, kind: str) -> WrittenWindow:
        match kind:
            case "RANGE":
                return self._time_body()
            case "FROM":
                return self._from_now_body()
            case "1 MINUTE SLIDE 10s":
                start = self.offset
                width = self.duration("the window")
                step = self._word(*_STEP)
                if step is None:
                    raise self._error(
                        "expected RANGE before the window's length, or STEP and a duration after it", start
                    )
                return WrittenTime(width, self.duration(step), of_now=True)
            case "TRIPLES" | "ELEMENTS":
                self._word(kind)
                size = self._count(kind)
                return WrittenCount(size, Unit(kind), self._count("STEP") if self._word("STEP") else None)
            case "NOW":
                self._word(kind)
                return WrittenNow()
            case "LANDMARK":
                self._word(kind)
                self._skip()
                landmark = None
                if self._peek_word() not in (
                    "STEP",
                    "PARTITION",
                    "WHERE",
                    "T0",
                    "REPORT",
                ) and not self._text.startswith("]", self.offset):
                    landmark = self._time()
                return WrittenLandmark(landmark, self.duration("STEP") if self._word("STEP") else None)
            case "SESSION":
                self._word(kind)
                return WrittenSession(self.duration(kind))
            case _:
                raise self._unexpected("RANGE, TRIPLES, ELEMENTS, NOW, LANDMARK, SESSION or FROM NOW")

    def _from_now_body(self) -> WrittenTime:
        """``FROM NOW - a TO NOW - b STEP s`` (SPARQLStream)."""
        self._word("FROM")
        self._now("FROM")
        if not self._minus():
            raise self._unexpected("- and a duration after FROM NOW")
        since = self.duration("NOW -")
        if not self._word("TO"):
            raise self._unexpected("TO NOW after FROM NOW - …")
        self._now("TO")
        place = self.offset
        upto = self.duration("NOW -", least=0) if self._minus() else 0
        if upto >= since:
            raise self._error("a window ends after it begins: FROM NOW - 10m TO NOW - 5m", place, QuerySemanticError)
        step = self._word(*_STEP)
        slide = self.duration(step) if step else None
        return WrittenTime(since - upto, slide, of_now=True, offset=upto)

    def _shifted(self, written: WrittenWindow) -> WrittenTime:
        """The window with what stands behind OFFSET."""
        place = self.offset - len("OFFSET")
        if not isinstance(written, WrittenTime):
            said = "OFFSET shifts a time window into the past, and no other: write RANGE, such as [RANGE 1h OFFSET 1d]"
            raise self._error(said, place, QuerySemanticError)
        if written.offset:
            said = "TO NOW - … says already how far in the past the window ends: leave OFFSET out"
            raise self._error(said, place, QuerySemanticError)
        return replace(written, offset=self.duration("OFFSET", least=0))

    def _now(self, after: str) -> None:
        if not self._word("NOW"):
            raise self._unexpected(f"NOW after {after}")

    def _minus(self) -> bool:
        self._skip()
        return self._take("-")

    def _time_body(self) -> WrittenTime:
        width = self.duration("RANGE")
        step = self._word(*_STEP)
        if step:
            return WrittenTime(width, self.duration(step))
        return WrittenTime(width, width if self._word("TUMBLING") else None)

    def _count(self, of: str) -> int:
        self._skip()
        start = self.offset
        match = _DIGITS.match(self._text, start)
        if match is None:
            raise self._unexpected(f"a whole number after {of}, such as {of} 10")
        digits = match[0].lstrip("0")
        if not digits:
            raise self._error(f"{of} {match[0]}: write at least {of} 1", start, QuerySemanticError)
        if len(digits) > len(str(_LARGEST)) or int(digits) > _LARGEST:
            raise self._error(f"count windows hold and step by at most {_LARGEST}", start, QuerySemanticError)
        self.offset = match.end()
        return int(digits)

    def _count_and_unit(self, of: str) -> str:
        match = _DIGITS.match(self._text, self.offset)
        if match is None or self._text[match.end() : match.end() + 1] == ".":
            raise self._unexpected(f"a duration after {of}: a whole number with or without a unit (10s, 500) or PT10S")
        self.offset = match.end()
        start = skip(self._text, self.offset)
        unit = _WORD.match(self._text, start)
        if unit is None or (start > self.offset and unit[0].upper() in _AFTER_DURATION):
            return match[0]
        if unit[0].lower() not in UNITS:
            raise self._error(
                f"{unit[0]} is no unit of time: use ms, s, m, h, d, w or their names in full (10 seconds)", start
            )
        self.offset = unit.end()
        return match[0] + unit[0]

    def _time(self) -> Instant:
        self._skip()
        start = self.offset
        written = self._quoted("dateTime")
        if written is None:
            match = _TIME.match(self._text, start)
            if match is None:
                raise self._unexpected("a time: an xsd:dateTime such as 2026-01-31T12:00:00Z, or milliseconds")
            self.offset, written = match.end(), match[0]
        if len(written) > 100:
            raise self._error("a time this long is outside the years 1 to 9999", start)
        try:
            instant = parse_instant(written)
        except ValueError as error:
            raise self._error(str(error), start) from None
        if not FIRST_INSTANT <= instant <= LAST_INSTANT:
            raise self._error(f"{written} is outside the years 1 to 9999", start, QuerySemanticError)
        return instant

    def _report(self) -> Report:
        strategies: set[Strategy] = set()
        period: Milliseconds | None = None
        while True:
            self._skip()
            start = self.offset
            word = self._word(*Strategy)
            if word is None:
                break
            strategies.add(Strategy(word))
            if word == Strategy.PERIODIC:
                again = self.duration("PERIODIC")
                if period not in (None, again):
                    raise self._error("a window has one period: write PERIODIC once", start, QuerySemanticError)
                period = again
        if not strategies:
            raise self._unexpected(f"{', '.join(list(Strategy)[:-1])} or PERIODIC <duration> after REPORT")
        return Report(frozenset(strategies), period)

    def _quoted(self, kind: str) -> str | None:
        match = _QUOTED.match(self._text, self.offset)
        if match is None:
            return None
        prefix, _, local = (match[4] or "").partition(":")
        known = [_XSD + name for name in _DATATYPE_NAMES[kind]]
        if (match[3] and match[3] not in known) or (match[4] and (prefix != "xsd" or _XSD + local not in known)):
            raise self._error(f"{match[0]} is no xsd:{kind}{self._right_case(match, kind)}", self.offset)
        self.offset = match.end()
        return match[2]

    def _right_case(self, quoted: re.Match[str], kind: str) -> str:
        """What to write for ``"PT3S"^^xsd:Duration``."""
        datatype = (quoted[3] or quoted[4]).removeprefix(_XSD).removeprefix("xsd:")
        return f", but of {datatype}: write ^^xsd:{kind}" if datatype.lower() == kind.lower() else ""

    def _skip(self) -> None:
        self.offset = skip(self._text, self.offset)

    def _take(self, character: str) -> bool:
        found = self._text.startswith(character, self.offset)
        self.offset += found
        return found

    def _peek_word(self) -> str:
        match = _WORD.match(self._text, self.offset)
        return match[0].upper() if match else ""

    def _at_word(self, word: str) -> int | None:
        """The place of this word, if it is next."""
        self._skip()
        return self.offset if self._peek_word() == word else None

    def _word(self, *words: str) -> str | None:
        self._skip()
        word = self._peek_word()
        if word not in words:
            return None
        self.offset += len(word)
        return word

    def _error(
        self, detail: str, offset: int | None = None, kind: type[ProtocolError] = QuerySyntaxError
    ) -> ProtocolError:
        return self._source.error(detail, self.offset if offset is None else offset, kind)

    def _too_long(self, offset: int) -> ProtocolError:
        return self._error("windows and periods longer than 1000 years are not evaluated", offset, QuerySemanticError)

    def _unexpected_in_window(self, written: WrittenWindow) -> ProtocolError:
        if written.report is not None:
            wanted = [*Strategy, "]"]
        else:
            wanted = ["REPORT", "]"]
            if written.origin is None:
                wanted = ["T0", *wanted]
                match written:
                    case WrittenTime(slide=None, offset=0):
                        wanted = [*_STEP, "TUMBLING", "OFFSET", *wanted]
                    case WrittenTime(offset=0):
                        wanted = ["OFFSET", *wanted]
                    case WrittenCount(where=str()):
                        pass
                    case WrittenCount(step=None, partition=None):
                        wanted = ["STEP", "PARTITION BY", "WHERE", *wanted]
                    case WrittenCount(partition=None):
                        wanted = ["PARTITION BY", "WHERE", *wanted]
                    case WrittenCount():
                        wanted = ["WHERE", *wanted]
                    case WrittenSession(partition=None):
                        wanted = ["PARTITION BY", *wanted]
                    case WrittenLandmark(step=None):
                        wanted = ["STEP", *wanted]
        return self._unexpected(f"{', '.join(wanted[:-1])} or {wanted[-1]} in the window specification")

    def _unexpected(self, wanted: str) -> ProtocolError:
        found = re.compile(r"[^\s\[\]]+|.|\Z", re.DOTALL).match(self._text, self.offset)
        shown = found[0][:60] if found and found[0] else "the end of the query"
        return self._error(f"expected {wanted}, found {shown}")
