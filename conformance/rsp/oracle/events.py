"""Event patterns by definition: every combination of occurrences is looked at (docs/model.md, "Event patterns").

Where a query has an event pattern, its matches at an instant stand as VALUES, with hidden variables for the interval
and for what tells one match from another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyoxigraph as ox

from conformance.rsp.oracle.elements import OracleStream, Triple
from conformance.rsp.oracle.windows import CHANGE, IntervalWindow, LandmarkWindow, TimeWindow, Window

HIDDEN = "oracle_"
"""What names of variables begin with that no query has."""
_BLANK = "urn:x-oracle:blank:"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_LEVELS = {"OR": 1, "AND": 2, "SEQ": 3, "OPTIONALSEQ": 3, "EQUALS": 4, "EQUALSOPTIONAL": 4}
_TOKEN = re.compile(
    r"""\s*(?: (?P<brace>[{}.])
      | (?P<call>(?:FILTER|BIND)\s*\()
      | (?P<operator>(?:OPTIONAL)?SEQ|EQUALS(?:OPTIONAL)?|AND|OR)\b
      | (?P<term>\?\w+|_:\w+|<[^>]*>|"[^"]*"(?:\^\^(?:<[^>]*>|[\w.-]*:\w+)|@\w+)?|[\w.-]*:[\w-]*
          |-?\d+(?:\.\d+)?|true|false|a)(?=[\s.{}]) )""",
    re.VERBOSE,
)  # fmt: skip
_ASKED = re.compile(r"\bget(DURATION|STARTTIME|ENDTIME)\s*\(\s*\)", re.IGNORECASE)
_PLAIN_SELECT = re.compile(r"\bSELECT\b(?!\s*(?:DISTINCT|REDUCED|\*))", re.IGNORECASE)
_GROUPED = re.compile(r"\bGROUP\s+BY\b|\b(?:COUNT|SUM|AVG|MIN|MAX|SAMPLE|GROUP_CONCAT)\s*\(", re.IGNORECASE)

Occurrence = tuple[Triple, int]


@dataclass(frozen=True)
class Match:
    """A solution, its interval, and the occurrences that it is of; ``path``: by which alternatives."""

    solution: Mapping[str, str]
    start: int
    end: int
    of: tuple[Occurrence, ...]
    path: str = ""


@dataclass(frozen=True)
class TriplePattern:
    parts: tuple[str, str, str]


@dataclass(frozen=True)
class Group:
    """``expressions``: FILTER and BIND as they are written, behind all parts."""

    parts: tuple[TriplePattern | Group | Operation, ...]
    expressions: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    operator: str
    left: Group | Operation
    right: Group | Operation


EventPattern = Group | Operation


@dataclass(frozen=True)
class OccurrenceWindow(TimeWindow):
    """The window of an event pattern: (t − α, t] at any t; its step says when it is evaluated."""

    stepped: bool = False

    def opening(self, t: int) -> int:
        return max(self.origin, t - self.width)

    def closes(self, stream: OracleStream, t: int) -> bool:
        k, rest = divmod(t - (self.origin + self.width), self.slide)
        return k >= 0 and rest == 0

    @property
    def default(self) -> frozenset[str]:
        return super().default if self.stepped else frozenset({CHANGE})


@dataclass(frozen=True)
class Events:
    """An event pattern of a query: its window, its pattern, the prologue for its expressions, and its number."""

    window: IntervalWindow
    pattern: EventPattern
    prologue: str
    number: int

    def started(self, start: int | None) -> Events:
        """The event pattern in a query that starts there."""
        window = self.window.started(start)
        assert isinstance(window, IntervalWindow)
        return replace(self, window=window)

    def values(self, stream: OracleStream, t: int) -> str:
        """The matches at t as a VALUES block."""
        matches = self.matches(stream, t)
        names = sorted({name for match in matches for name in match.solution} | set(_variables(self.pattern)))
        hidden = [f"{HIDDEN}{what}{self.number}" for what in ("match", "start", "end", "duration")]
        rows = []
        for match in matches:
            told = f'"{_identity(match)}"'
            row = [_iri(match.solution[name]) if name in match.solution else "UNDEF" for name in names]
            rows.append(f"({' '.join([*row, told, *_interval(match)])})")
        return f"VALUES ({' '.join(f'?{name}' for name in (*names, *hidden))}) {{ {' '.join(rows)} }}"

    def matches(self, stream: OracleStream, t: int) -> list[Match]:
        """The matches of the occurrences that take part at t, and are in the window."""
        opening = self.window.opening(t)
        there = {
            (triple, element.time)
            for element in stream.elements
            if element.takes_part(t) and element.time > opening
            for triple in element.triples
        }
        return self._of(self.pattern, sorted(there, key=lambda one: (one[1], one[0])))

    def _of(self, pattern: TriplePattern | EventPattern, there: Sequence[Occurrence]) -> list[Match]:
        match pattern:
            case TriplePattern(parts):
                return [match for one in there if (match := _matched(parts, one)) is not None]
            case Group(parts, expressions):
                found = self._of(parts[0], there)
                for part in parts[1:]:
                    found = list(_pairs(found, self._of(part, there), lambda one, other: True))
                return [match for one in found if (match := self._filtered(one, expressions)) is not None]
            case Operation(operator, left, right):
                first, second = self._of(left, there), self._of(right, there)
                if operator == "OR":
                    return [
                        replace(one, path=f"({side} {one.path})")
                        for side, of in (("l", first), ("r", second))
                        for one in of
                    ]
                follows = _CONDITIONS[operator]
                found = list(_pairs(first, second, follows))
                if "OPTIONAL" in operator:
                    found += [
                        replace(one, path=f"({one.path} alone)")
                        for one in first
                        if not any(follows(one, other) and _compatible(one, other) for other in second)
                    ]
                return found
        raise AssertionError(pattern)

    def _filtered(self, match: Match, expressions: Sequence[str]) -> Match | None:
        """The match with what BIND adds; None where a FILTER drops it."""
        if not expressions:
            return match
        _, start, end, duration = ("", *_interval(match))
        told = {"DURATION": duration, "STARTTIME": start, "ENDTIME": end}
        asked = " ".join(_ASKED.sub(lambda found: told[found[1].upper()], one) for one in expressions)
        names = list(match.solution)
        row = " ".join(_iri(match.solution[name]) for name in names)
        values = f"VALUES ({' '.join(f'?{name}' for name in names)}) {{ ({row}) }}"
        result = ox.Store().query(f"{self.prologue} SELECT * WHERE {{ {values} {asked} }}")
        assert isinstance(result, ox.QuerySolutions)
        for solution in result:
            bound = zip(result.variables, solution, strict=True)
            return replace(match, solution={v.value: _term(str(term)) for v, term in bound if term is not None})
        return None


_CONDITIONS: dict[str, Callable[[Match, Match], bool]] = {
    "AND": lambda one, other: True,
    "SEQ": lambda one, other: one.end < other.start,
    "OPTIONALSEQ": lambda one, other: one.end < other.start,
    "EQUALS": lambda one, other: (one.start, one.end) == (other.start, other.end),
    "EQUALSOPTIONAL": lambda one, other: (one.start, one.end) == (other.start, other.end),
}


def _matched(parts: tuple[str, str, str], occurrence: Occurrence) -> Match | None:
    triple, time = occurrence
    solution: dict[str, str] = {}
    for part, term in zip(parts, triple, strict=True):
        if part[0] in "?_":
            if solution.setdefault(part.lstrip("?").replace("_:", f"{HIDDEN}blank_"), term) != term:
                return None
        elif part != term:
            return None
    return Match(solution, time, time, (occurrence,))


def _pairs(first: Sequence[Match], second: Sequence[Match], goes: Callable[[Match, Match], bool]) -> Iterator[Match]:
    for one in first:
        for other in second:
            if goes(one, other) and _compatible(one, other):
                yield Match(
                    {**one.solution, **other.solution},
                    min(one.start, other.start),
                    max(one.end, other.end),
                    (*one.of, *other.of),
                    f"({one.path} {other.path})",
                )


def _compatible(one: Match, other: Match) -> bool:
    return all(other.solution.get(name, term) == term for name, term in one.solution.items())


def _identity(match: Match) -> str:
    text = match.path + "".join(f"{time} {' '.join(triple)} " for triple, time in match.of)
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _interval(match: Match) -> list[str]:
    length = match.end - match.start
    seconds = f"{length // 1000}.{length % 1000:03}"
    times = [f'"{_date_time(t)}"^^<{_XSD}dateTime>' for t in (match.start, match.end)]
    return [*times, f'"PT{seconds}S"^^<{_XSD}dayTimeDuration>']


def _date_time(t: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=t)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _iri(term: str) -> str:
    """VALUES takes no blank node: it is an IRI on the way."""
    return f"<{_BLANK}{term[2:]}>" if term.startswith("_:") else term


def _term(text: str) -> str:
    return f"_:{text[len(_BLANK) + 1 : -1]}" if text.startswith(f"<{_BLANK}") else text


def restored(term: str) -> str:
    """The term of an answer, of blank nodes themselves."""
    return _term(term)


def _variables(pattern: TriplePattern | EventPattern) -> Iterator[str]:
    match pattern:
        case TriplePattern(parts):
            for part in parts:
                if part[0] == "?":
                    yield part[1:]
        case Group(parts, expressions):
            for inner in parts:
                yield from _variables(inner)
            for expression in expressions:
                yield from re.findall(r"\bAS\s+\?(\w+)", expression)
        case Operation(_, left, right):
            yield from _variables(left)
            yield from _variables(right)


# --- the text --------------------------------------------------------------------------------


def read_events(text: str, place: int, term: Callable[[str], str]) -> tuple[EventPattern, int] | None:
    """The event pattern whose first group opens at ``place``, and where it ends; None if what is there is none.

    ``term``: what a term of a triple pattern is in N-Triples.
    """
    try:
        return _Reader(text, place, term).whole()
    except ValueError:
        return None


def has_operator(pattern: TriplePattern | EventPattern) -> bool:
    """Whether one stands in the pattern."""
    return isinstance(pattern, Operation) or (isinstance(pattern, Group) and any(map(has_operator, pattern.parts)))


def asking(text: str, number: int) -> str:
    """The query with hidden variables for what is asked of its matches, and selected where it selects matches."""
    names = {"DURATION": "duration", "STARTTIME": "start", "ENDTIME": "end"}
    text = _ASKED.sub(lambda found: f"?{HIDDEN}{names[found[1].upper()]}{number}", text)
    if not _GROUPED.search(text):
        text = _PLAIN_SELECT.sub(f"SELECT ?{HIDDEN}match{number} ", text, count=1)
    return text


def window_of(made: Window | None, stream: str, graph: str, *, stepped: bool) -> IntervalWindow:
    """The window of an event pattern from that of a graph pattern; None: all of the stream."""
    if made is None:
        return LandmarkWindow(stream, graph)
    if isinstance(made, TimeWindow):
        fields = {name: getattr(made, name) for name in ("strategies", "period", "width", "slide", "origin")}
        return OccurrenceWindow(stream, graph, stepped=stepped, **fields)
    assert isinstance(made, IntervalWindow)
    return made


class _Reader:
    """Raises ValueError for what is no event pattern."""

    def __init__(self, text: str, place: int, term: Callable[[str], str]) -> None:
        self._text = text
        self._place = place
        self._term = term

    def whole(self) -> tuple[EventPattern, int]:
        return self._operands(1), self._place

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._place)
        if found is None:
            raise ValueError(self._text[self._place :])
        return found

    def _operands(self, least: int) -> EventPattern:
        left: EventPattern = self._group()
        while (found := _TOKEN.match(self._text, self._place)) and _LEVELS.get(found["operator"] or "", 0) >= least:
            self._place = found.end()
            left = Operation(found["operator"], left, self._operands(_LEVELS[found["operator"]] + 1))
        return left

    def _group(self) -> Group:
        if self._next()["brace"] != "{":
            raise ValueError("no group")
        self._place = self._next().end()
        parts: list[TriplePattern | EventPattern] = []
        expressions: list[str] = []
        terms: list[str] = []
        while (found := self._next())["brace"] != "}":
            if found["brace"] == "{":
                parts.append(self._operands(1))
                continue
            self._place = found.end()
            if found["call"]:
                expressions.append(self._call(found.start()))
            elif found["term"]:
                terms.append(self._term(found["term"]))
                if len(terms) == 3:
                    parts.append(TriplePattern((terms[0], terms[1], terms[2])))
                    terms = []
            elif found["operator"]:
                raise ValueError("an operator without a group")
        self._place = found.end()
        if terms or not parts:
            raise ValueError("no triple patterns")
        return Group(
            tuple(parts), tuple(sorted(expressions, key=lambda one: one.lstrip().upper().startswith("FILTER")))
        )

    def _call(self, start: int) -> str:
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self._text[self._place], 0)
            self._place += 1
        return self._text[start : self._place]
