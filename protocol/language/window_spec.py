"""What stands in a window's brackets: WindowSpec, Duration and Time (contract section 3).

This part is read from the characters, not from SPARQL's tokens, which would cut ``2026-01-01T00:00:00Z`` and
``PT0.5S`` to pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.language.source import Source
from protocol.language.tokens import skip
from protocol.time import UNITS, Instant, Milliseconds, parse_duration, parse_instant
from protocol.windows.spec import Report, Strategy

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

_AFTER_DURATION = frozenset({"STEP", "SLIDE", "TUMBLING", "T0", "REPORT", "AS", *Strategy})
_LONGEST: Milliseconds = 365_250 * 86_400_000
_EARLIEST, _LATEST = parse_instant("0001-01-01T00:00:00Z"), parse_instant("9999-12-31T23:59:59.999Z")


@dataclass(frozen=True)
class WrittenWindow:
    """A time window as the query writes it, before defaults; all in milliseconds, None where nothing is written."""

    width: Milliseconds
    slide: Milliseconds | None
    origin: Instant | None
    report: Report | None


class SpecificationReader:
    """Reads durations and window specifications from ``offset`` on; ``offset`` then is right after them."""

    def __init__(self, source: Source, offset: int) -> None:
        self.offset = offset
        self._source = source
        self._text = source.text

    def window(self) -> WrittenWindow:
        """``[ … ]``.

        Raises QuerySyntaxError, QuerySemanticError for what lasts or steps by nothing, and
        UnsupportedFeature for windows that are not time windows.
        """
        self._skip()
        if not self._take("["):
            raise self._unexpected("a window specification such as [RANGE 10s STEP 5s]")
        self._skip()
        start, kind = self.offset, self._peek_word()
        body: Callable[[], tuple[Milliseconds, Milliseconds | None]] | None = None
        if kind == "RANGE":
            self._word("RANGE")
            self._skip()
            if self._peek_word() == "TRIPLES":
                start, kind = self.offset, "TRIPLES"
            else:
                body = self._time_body
        if body is not None:
            width, slide = body()
        elif kind in ("TRIPLES", "ELEMENTS", "NOW", "LANDMARK"):
            width, slide = 0, None
            self._other_body(kind)
        else:
            raise self._unexpected("RANGE, TRIPLES, ELEMENTS, NOW or LANDMARK")
        origin = self._time() if self._word("T0") else None
        report = self._report() if self._word("REPORT") else None
        self._skip()
        if not self._take("]"):
            raise self._unexpected_in_window(kind, slide, origin, report)
        if kind != "RANGE":
            raise self._error(
                f"{kind} windows are not evaluated by this version; use a time window such as [RANGE 10s STEP 5s]",
                start,
                UnsupportedFeature,
            )
        return WrittenWindow(width, slide, origin, report)

    def duration(self, of: str) -> Milliseconds:
        """A duration longer than zero. ``of`` is the keyword it belongs to, for the errors."""
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
        if length == 0:
            raise self._error(
                f"{of} {written} lasts no time: write at least a millisecond, such as {of} 1s or {of} PT1S",
                start,
                QuerySemanticError,
            )
        if length > _LONGEST:
            raise self._too_long(start)
        return length

    def _time_body(self) -> tuple[Milliseconds, Milliseconds | None]:
        width = self.duration("RANGE")
        step = self._word("STEP", "SLIDE")
        if step:
            return width, self.duration(step)
        return width, width if self._word("TUMBLING") else None

    def _other_body(self, kind: str) -> None:
        self._word(kind)
        if kind == "NOW":
            return
        if kind == "LANDMARK":
            self._skip()
            if self._peek_word() not in ("STEP", "T0", "REPORT") and not self._text.startswith("]", self.offset):
                self._time()
            if self._word("STEP"):
                self.duration("STEP")
            return
        self._count(kind)
        if self._word("STEP"):
            self._count("STEP")

    def _count(self, of: str) -> None:
        self._skip()
        start = self.offset
        match = _DIGITS.match(self._text, start)
        if match is None:
            raise self._unexpected(f"a whole number after {of}, such as {of} 10")
        if not match[0].strip("0"):
            raise self._error(f"{of} {match[0]}: write at least {of} 1", start, QuerySemanticError)
        self.offset = match.end()

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
        if not _EARLIEST <= instant <= _LATEST:
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
            raise self._error(f"{match[0]} is no xsd:{kind}", self.offset)
        self.offset = match.end()
        return match[2]

    def _skip(self) -> None:
        self.offset = skip(self._text, self.offset)

    def _take(self, character: str) -> bool:
        found = self._text.startswith(character, self.offset)
        self.offset += found
        return found

    def _peek_word(self) -> str:
        match = _WORD.match(self._text, self.offset)
        return match[0].upper() if match else ""

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

    def _unexpected_in_window(
        self, kind: str, slide: Milliseconds | None, origin: Instant | None, report: Report | None
    ) -> ProtocolError:
        wanted = ["]"]
        if report is not None:
            wanted = [*Strategy, *wanted]
        else:
            wanted = ["REPORT", *wanted]
            if origin is None:
                wanted = ["T0", *wanted]
                if slide is None and kind == "RANGE":
                    wanted = ["STEP", "SLIDE", "TUMBLING", *wanted]
        return self._unexpected(f"{', '.join(wanted[:-1])} or {wanted[-1]} in the window specification")

    def _unexpected(self, wanted: str) -> ProtocolError:
        found = re.compile(r"[^\s\[\]]+|.|\Z", re.DOTALL).match(self._text, self.offset)
        shown = found[0][:60] if found and found[0] else "the end of the query"
        return self._error(f"expected {wanted}, found {shown}")
