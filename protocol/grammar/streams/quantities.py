"""Durations, times and counts, as they stand in a window's brackets and behind EVERY.

They are read from the characters, not from SPARQL's tokens, which would cut ``2026-01-01T00:00:00Z`` and ``PT0.5S``
to pieces.
"""

from __future__ import annotations

import re

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, TokenKind, skip, tokens
from protocol.terms import XSD
from protocol.time import FIRST_INSTANT, LAST_INSTANT, UNITS, Instant, Milliseconds, parse_duration, parse_instant
from protocol.windows.spec import Strategy

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DIGITS = re.compile(r"[0-9]+")
_XSD_DURATION = re.compile(r"[Pp][0-9A-Za-z.]*")
_DURATION_START = re.compile(r"[0-9\"']|[Pp][Tt]?[0-9]")
_TIME = re.compile(r"[^\s\[\]{}()<>\"'#,;]+")
_QUOTED = re.compile(r"""(["'])([^"'\\\r\n]*)\1""")

_DATATYPE_NAMES = {
    "dateTime": ("dateTime", "dateTimeStamp", "integer", "long"),
    "duration": ("duration", "dayTimeDuration"),
}

STEPS = ("STEP", "SLIDE", "SLIDING")
_AFTER_DURATION = frozenset({*STEPS, "TUMBLING", "OFFSET", "TO", "PARTITION", "T0", "REPORT", "AS", *Strategy})
_AFTER_DURATION |= {"FIXED", "FROM", "WHERE", "SELECT", "CONSTRUCT", "ASK", "DESCRIBE"}
_LONGEST: Milliseconds = 365_250 * 86_400_000
_LARGEST = 10**9


class QuantityReader:
    """Reads words and quantities from ``offset`` on; ``offset`` then is right after them."""

    def __init__(self, source: Source, namespaces: Namespaces, offset: int) -> None:
        self.offset = offset
        self._source = source
        self._namespaces = namespaces
        self._text = source.text

    def duration(self, of: str, *, least: Milliseconds = 1) -> Milliseconds:
        """A duration of at least so much. ``of`` is the keyword it belongs to, for the errors."""
        return self._as_written(of, least)[0]

    def _as_written(self, of: str, least: Milliseconds = 1) -> tuple[Milliseconds, str]:
        """A duration, and how it is written: a number and its unit are one word."""
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
        return length, written

    @property
    def _at_duration(self) -> bool:
        """Whether a duration is next, and no keyword."""
        return _DURATION_START.match(self._text, self.offset) is not None

    def _count(self, of: str) -> int:
        self._skip()
        start = self.offset
        match = DIGITS.match(self._text, start)
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
        match = DIGITS.match(self._text, self.offset)
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

    def _quoted(self, kind: str) -> str | None:
        match = _QUOTED.match(self._text, self.offset)
        if match is None:
            return None
        start, self.offset = self.offset, match.end()
        carets = skip(self._text, self.offset)
        if self._text.startswith("^^", carets):
            token = next(tokens(self._text, carets + len("^^")))
            if token.kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
                self.offset = token.start
                raise self._unexpected("a datatype after ^^")
            datatype = self._datatype(token)
            if datatype not in [XSD + name for name in _DATATYPE_NAMES[kind]]:
                written = self._text[start : token.end]
                raise self._error(f"{written} is no xsd:{kind}{self._instead(datatype, token, kind)}", start)
            self.offset = token.end
        return match[2]

    def _datatype(self, token: Token) -> str:
        prefix, _, local = token.text.partition(":")
        if prefix == "xsd" and self._namespaces.known(token) is None:
            return XSD + local  # papers print queries without their prologue
        return self._namespaces.iri(token)

    def _instead(self, datatype: str, token: Token, kind: str) -> str:
        """What the datatype is, and what to write for ``"PT3S"^^xsd:Duration``."""
        name = datatype.removeprefix(XSD)
        if name.lower() == kind.lower():
            return f", but of {name}: write ^^{token.text.replace(name, kind)}"
        return f", but of <{datatype}>" if name == datatype else ""

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

    def _unexpected(self, wanted: str) -> ProtocolError:
        found = re.compile(r"[^\s\[\]]+|.|\Z", re.DOTALL).match(self._text, self.offset)
        shown = found[0][:60] if found and found[0] else "the end of the query"
        return self._error(f"expected {wanted}, found {shown}")
