"""A query's text as the oracle reads it: stream clauses by pattern matching, the rest is pyoxigraph's.

docs/language.md.

It reads queries that are right and written plainly: no comment or string that looks like a clause, no nested
brackets in a template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conformance.rsp.oracle.evaluation import OracleQuery
from conformance.rsp.oracle.events import Events, asking, has_operator, read_events, window_of
from conformance.rsp.oracle.facts import Definition, FactsWindow
from conformance.rsp.oracle.facts_text import ONLY_STREAM, FactsText, read_facts
from conformance.rsp.oracle.timestamps import FACTS
from conformance.rsp.oracle.window_text import DURATION, duration, steps_as_written, window
from conformance.rsp.oracle.windows import CHANGE, PERIODIC, Window

_IRI = r"(?:<[^>]*>|[A-Za-z][\w.-]*:[\w./-]*|:[\w./-]*)"
_PREFIX = re.compile(r"\bPREFIX\s+([\w.-]*:)\s*<([^>]*)>", re.IGNORECASE)
_REGISTER = re.compile(
    rf"\bREGISTER\s+(?P<kind>\w+)\s+(?P<name>{_IRI}|[\w-]+)(?:\s+COMPUTED\s+EVERY\s+(?P<every>{DURATION}))?\s+AS\b",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"\b(SELECT|CONSTRUCT)\s+([RID]STREAM)\b", re.IGNORECASE)
_FROM = re.compile(
    rf"""\bFROM\s+(?: NAMED\s+WINDOW\s+(?P<window>{_IRI})\s+ON\s+(?:STREAM\s+)?(?P<on>{_IRI})\s*\[(?P<w_spec>[^\]]*)\]
       | (?P<named>NAMED\s+)?STREAM\s+(?P<stream>{_IRI})\s*\[(?P<s_spec>[^\]]*)\]
       | (?P<named_graph>NAMED\s+)?(?P<graph>{_IRI}) )""",
    re.IGNORECASE | re.VERBOSE,
)
_PATTERN = re.compile(rf"\bSTREAM\s+({_IRI})\s*\[([^\]]*)\]\s*\{{", re.IGNORECASE)
_EVENTS = re.compile(rf"(?<!FROM )\bSTREAM\s+({_IRI})\s*(?:\[([^\]]*)\])?\s*(?=\{{)", re.IGNORECASE)
_WINDOW_VARIABLE = re.compile(r"\bWINDOW\s+(\?\w+)\s*\{", re.IGNORECASE)
_WINDOW_NAME = re.compile(rf"\bWINDOW\s+(?={_IRI})", re.IGNORECASE)
_STEPPED = re.compile(r"\b(?:STEP|SLIDE)\b", re.IGNORECASE)
_TEMPLATE = re.compile(r"\bCONSTRUCT\s*\{([^{}]*)\}", re.IGNORECASE)
_ANY_TRIPLE = "?subject ?predicate ?object"
_GROUP_IN_GROUP = re.compile(r"(?<=\{)\s*\{")
_ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


@dataclass(frozen=True)
class ReadQuery:
    """A query, with the IRIs of its streams, and what REGISTER says: the kind of it and its name (IRI or word).

    ``defines``: the facts that it gives. ``currents``: of facts that it reads and does not define itself the name
    (None: all) and the graph. ``every``: the period in which facts have it evaluated, if not where they change.
    """

    query: OracleQuery
    kind: str | None = None
    name: str | None = None
    defines: Definition | None = None
    currents: tuple[tuple[str | None, str], ...] = ()
    every: int | None = None

    @property
    def publishes(self) -> bool:
        """Whether its answers are a stream that other queries can read."""
        return self.kind not in (None, "QUERY", "FACT") and self.query.template is not None

    def with_facts(self, definitions: Sequence[tuple[str, Definition]]) -> ReadQuery:
        """The query that reads facts of these definitions, by names."""
        windows = list(self.query.windows)
        for wanted, graph in self.currents:
            windows += [
                _facts(definition, graph, self.every)
                for name, definition in definitions
                if wanted in (None, name, definition.name)
            ]
        return replace(self, query=replace(self.query, windows=tuple(windows)))


def read_query(text: str, base: str) -> ReadQuery:
    """The query of a text; ``base``: that of relative IRIs. ValueError for what the oracle cannot read."""
    return _Reader(text, base).read()


class _Reader:
    """A text out of which clause after clause is taken, until what is left is a query that pyoxigraph reads."""

    def __init__(self, text: str, base: str) -> None:
        self._text = text
        self._base = base
        self._prefixes: dict[str, str] = dict(_PREFIX.findall(text))
        self._windows: list[tuple[Window, bool]] = []
        """And whether each reports on change, where no report is written."""
        self._declared: list[str] = []
        """Graphs of windows that WINDOW ranges over."""
        self._events: list[Events] = []
        self._patterns = 0

    def read(self) -> ReadQuery:
        """The query."""
        registered = self._take(_REGISTER)
        kind = None if registered is None else registered["kind"].upper()
        name = None if registered is None else registered["name"]
        operator = self._take(_OPERATOR, r"\1")
        facts = self._take_facts()
        uses = facts.uses or tuple((one.name, f"{FACTS}0") for one in facts.definitions)
        meant = {use: [one for one in facts.definitions if use[0] in (None, one.name)] for use in uses}
        every = facts.every if registered is None or registered["every"] is None else duration(registered["every"])
        default, named = self._take_dataset()
        self._take_events()
        self._name_graphs()
        template = self._take(_TEMPLATE, "SELECT *")
        query = OracleQuery(
            (
                *_with_reports(self._windows, every, beside_facts=bool(uses)),
                *(_facts(definition, graph, every) for (_, graph), those in meant.items() for definition in those),
            ),
            self._text,
            self._operator(kind if operator is None else operator[2].upper()),
            None if template is None else template[1],
            bool(_ORDER.search(self._text)),
            self._prologue(),
            default,
            named,
            tuple(self._events),
        )
        return ReadQuery(
            query,
            kind,
            self._full(name) if name is not None and ":" in name else name,
            facts.definitions[0] if facts.definitions and not facts.uses else None,
            tuple(use for use, those in meant.items() if not those),
            every,
        )

    def _take(self, clause: re.Pattern[str], rest: str = "") -> re.Match[str] | None:
        """The first such clause, all of which are taken but for their ``rest``."""
        found = clause.search(self._text)
        self._text = clause.sub(rest, self._text)
        return found

    def _operator(self, written: str | None) -> str:
        """R, I or DSTREAM: what SELECT or CONSTRUCT says or REGISTER, or what is usual."""
        if written in ("RSTREAM", "ISTREAM", "DSTREAM"):
            return written
        return "ISTREAM" if self._patterns else "RSTREAM"

    def _take_facts(self) -> FactsText:
        """Definitions, CURRENT and what counts facts. A definition alone becomes a query of its facts."""
        facts = read_facts(self._text, self._full)
        self._text = facts.text
        if facts.definitions and not facts.uses:
            graph = f"GRAPH <{FACTS}0> {{ {_ANY_TRIPLE} }}"
            self._text += f" CONSTRUCT {{ {_ANY_TRIPLE} }} WHERE {{ {graph} }}"
        return facts

    def _take_dataset(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The windows that are declared; of the store, the graphs of FROM and of FROM NAMED."""
        graphs: tuple[list[str], list[str]] = ([], [])
        for clause in _FROM.finditer(self._text):
            if clause["graph"]:
                graphs[bool(clause["named_graph"])].append(self._full(clause["graph"]))
                continue
            stream = self._full(clause["on"] or clause["stream"])
            graph = self._full(clause["window"]) if clause["window"] else stream if clause["named"] else None
            if graph is not None:
                self._declared.append(graph)
            spec = clause["w_spec"] or clause["s_spec"]
            self._windows.append((window(spec, stream, graph, pattern=False, full=self._full), False))
        self._text = _FROM.sub("", self._text)
        default, named = graphs
        return tuple(default), tuple(named)

    def _take_events(self) -> None:
        """The event patterns of streams; or, where no stream is named, that of the only one."""
        while any(
            self._take_event(self._full(clause[1]), clause[2], clause.start(), clause.end())
            for clause in _EVENTS.finditer(self._text)
        ):
            pass
        if not self._windows:
            any(
                self._take_event(ONLY_STREAM, None, group.start(), group.start())
                for group in _GROUP_IN_GROUP.finditer(self._text)
            )
        for one in self._events:
            self._text = asking(self._text, one.number)

    def _take_event(self, stream: str, spec: str | None, start: int, place: int) -> bool:
        """Put the place of its matches where an event pattern is; whether there is one."""
        read = read_events(self._text, place, lambda term: _term(term, self._full))
        if read is None or (spec is not None and not has_operator(read[0])):
            return False
        pattern, end = read
        number, graph = self._next_pattern()
        made = None if spec is None else window(spec, stream, graph, pattern=True)
        over = window_of(made, stream, graph, stepped=spec is not None and bool(_STEPPED.search(spec)))
        self._windows.append((over, CHANGE in over.default or spec is None))
        self._events.append(Events(over, pattern, self._prologue(), number))
        self._text = f"{self._text[:start]} ORACLE_EVENTS_{number} {self._text[end:]}"
        return True

    def _name_graphs(self) -> None:
        """STREAM and WINDOW patterns become those of the graphs that the windows are."""
        declared = " ".join(f"<{graph}>" for graph in self._declared)
        self._text = _PATTERN.sub(self._as_graph, self._text)
        self._text = _WINDOW_VARIABLE.sub(rf"VALUES \1 {{ {declared} }} GRAPH \1 {{", self._text)
        self._text = _WINDOW_NAME.sub("GRAPH ", self._text)

    def _as_graph(self, clause: re.Match[str]) -> str:
        """What stands for the beginning of a STREAM pattern."""
        _, graph = self._next_pattern()
        made = window(clause[2], self._full(clause[1]), graph, pattern=True, full=self._full)
        self._windows.append((made, not steps_as_written(clause[2])))
        return f"GRAPH <{graph}> {{"

    def _next_pattern(self) -> tuple[int, str]:
        """The number and the graph of a STREAM pattern."""
        number = self._patterns
        self._patterns += 1
        return number, f"urn:x-oracle:pattern:{number}"

    def _prologue(self) -> str:
        return " ".join(match[0] for match in _PREFIX.finditer(self._text))

    def _full(self, name: str) -> str:
        if name.startswith("<"):
            return name[1:-1] if ":" in name else self._base + name[1:-1]
        prefix, _, local = name.partition(":")
        return self._prefixes[f"{prefix}:"] + local


def _term(term: str, full: Callable[[str], str]) -> str:
    """A term of a triple pattern in N-Triples; variables and labels as they are."""
    if term[0] in "?_":
        return term
    if term[0] == "<" or (":" in term and term[0] != '"'):
        return f"<{full(term)}>"
    return "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>" if term == "a" else _literal(term, full)


def _literal(term: str, full: Callable[[str], str]) -> str:
    if term[0] == '"':
        value, _, datatype = term.partition("^^")
        return f"{value}^^<{full(datatype)}>" if datatype else term
    kind = "boolean" if term in ("true", "false") else "decimal" if "." in term else "integer"
    return f'"{term}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'


def _facts(definition: Definition, graph: str, every: int | None) -> FactsWindow:
    strategies = frozenset({CHANGE if every is None else PERIODIC})
    return FactsWindow(definition.stream, graph, strategies, every or 0, definition)


def _with_reports(
    written: Sequence[tuple[Window, bool]], every: int | None, *, beside_facts: bool
) -> tuple[Window, ...]:
    """The windows with when they report; those that report on change by default are marked."""
    if every is not None:
        return tuple(
            replace(w, strategies=(w.strategies or frozenset()) | {PERIODIC}, period=every) for w, _ in written
        )
    usual = not any(on_change for _, on_change in written) and not beside_facts
    if usual or any(w.strategies is not None for w, _ in written):
        return tuple(w for w, _ in written)
    return tuple(replace(w, strategies=frozenset({CHANGE}) if on_change else w.default) for w, on_change in written)
