"""What stands in a window's brackets: WindowSpec (docs/language.md, "Window specifications")."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from protocol.errors import ProtocolError, QuerySemanticError
from protocol.grammar.streams.quantities import STEPS, QuantityReader
from protocol.grammar.streams.written_windows import (
    WrittenCount,
    WrittenLandmark,
    WrittenNow,
    WrittenSession,
    WrittenTime,
    WrittenWindow,
)
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.time import UNITS, Milliseconds
from protocol.windows.spec import Partition, Report, Strategy, Unit

KeyReader: TypeAlias = Callable[[int], tuple[Partition, int]]
"""Reads what follows PARTITION, from an offset on, and says where it ends: IRIs are SPARQL's tokens."""

_BEFORE_UNIT = re.compile(r".*[^A-Za-z]")

ConditionReader: TypeAlias = Callable[[int], tuple[str, int]]
"""Reads the group after WHERE, from an offset on, as ``CountWindow.where``, and says where it ends."""


class SpecificationReader(QuantityReader):
    """Reads window specifications from ``offset`` on; ``offset`` then is right after them."""

    def __init__(
        self,
        source: Source,
        namespaces: Namespaces,
        offset: int,
        keys: KeyReader | None = None,
        condition: ConditionReader | None = None,
    ) -> None:
        super().__init__(source, namespaces, offset)
        self._keys = keys
        self._condition = condition

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
        elif self._at_duration:
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
        width, written = self._as_written("RANGE")
        if self._word("FIXED"):
            return WrittenTime(width, width)
        if not self._word("SLIDE"):
            return WrittenTime(width)
        self._skip()
        if self._at_duration:
            return WrittenTime(width, self.duration("SLIDE"))
        return WrittenTime(width, UNITS[_BEFORE_UNIT.sub("", written.strip()).lower()])

    def _body(self, kind: str) -> WrittenWindow:
        match kind:
            case "RANGE":
                return self._time_body()
            case "FROM":
                return self._from_now_body()
            case "1 MINUTE SLIDE 10s":
                start = self.offset
                width = self.duration("the window")
                step = self._word(*STEPS)
                if step is None:
                    raise self._error(
                        "expected RANGE before the window's length, or STEP and a duration after it", start
                    )
                return WrittenTime(width, self.duration(step), of_now=True)
            case "TRIPLES" | "ELEMENTS":
                self._word(kind)
                size = self._count(kind)
                step = self._word(*STEPS)
                return WrittenCount(size, Unit(kind), self._count(step) if step else None)
            case "NOW":
                self._word(kind)
                return WrittenNow()
            case "LANDMARK":
                self._word(kind)
                self._skip()
                landmark = None
                if self._peek_word() not in (
                    *STEPS,
                    "PARTITION",
                    "WHERE",
                    "T0",
                    "REPORT",
                ) and not self._text.startswith("]", self.offset):
                    landmark = self._time()
                step = self._word(*STEPS)
                return WrittenLandmark(landmark, self.duration(step) if step else None)
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
        step = self._word(*STEPS)
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
        step = self._word(*STEPS)
        if step:
            return WrittenTime(width, self.duration(step))
        return WrittenTime(width, width if self._word("TUMBLING") else None)

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

    def _unexpected_in_window(self, written: WrittenWindow) -> ProtocolError:
        if written.report is not None:
            wanted = [*Strategy, "]"]
        else:
            wanted = ["REPORT", "]"]
            if written.origin is None:
                wanted = ["T0", *wanted]
                match written:
                    case WrittenTime(slide=None, offset=0):
                        wanted = [*STEPS, "TUMBLING", "OFFSET", *wanted]
                    case WrittenTime(offset=0):
                        wanted = ["OFFSET", *wanted]
                    case WrittenCount(where=str()):
                        pass
                    case WrittenCount(step=None, partition=None):
                        wanted = [*STEPS, "PARTITION BY", "WHERE", *wanted]
                    case WrittenCount(partition=None):
                        wanted = ["PARTITION BY", "WHERE", *wanted]
                    case WrittenCount():
                        wanted = ["WHERE", *wanted]
                    case WrittenSession(partition=None):
                        wanted = ["PARTITION BY", *wanted]
                    case WrittenLandmark(step=None):
                        wanted = [*STEPS, *wanted]
        said = f"{', '.join(wanted[:-1])} or {wanted[-1]} in the window specification"
        self._skip()
        word = self._peek_word()
        if isinstance(written, WrittenTime) and written.slide is None and word in STEPS:
            return self._unexpected(f"{said}, where the order is STEP, OFFSET, T0, REPORT")
        if isinstance(written, WrittenNow) and self._text.startswith("-", self.offset):
            return self._unexpected(f"{said}, where what goes back from now is FROM NOW - 10m TO NOW")
        if isinstance(written, WrittenCount) and word.lower() in UNITS:
            return self._unexpected(f"{said}, which counts and has no durations")
        return self._unexpected(said)
