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
from conformance.rsp.oracle.facts_text import ONLY_STREAM, read_facts
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
    prefixes: dict[str, str] = dict(_PREFIX.findall(text))

    def full(name: str) -> str:
        if name.startswith("<"):
            return name[1:-1] if ":" in name else base + name[1:-1]
        prefix, _, local = name.partition(":")
        return prefixes[f"{prefix}:"] + local

    registered = _REGISTER.search(text)
    text = _REGISTER.sub("", text)
    operator = (found := _OPERATOR.search(text)) and found[2].upper()
    text = _OPERATOR.sub(r"\1", text)
    facts = read_facts(text, full)
    text = facts.text
    uses = facts.uses or tuple((one.name, f"{FACTS}0") for one in facts.definitions)
    if facts.definitions and not facts.uses:
        text += f" CONSTRUCT {{ {_ANY_TRIPLE} }} WHERE {{ GRAPH <{FACTS}0> {{ {_ANY_TRIPLE} }} }}"
    written: list[tuple[Window, bool]] = []
    default: list[str] = []
    named: list[str] = []
    for clause in _FROM.finditer(text):
        if clause["graph"]:
            (named if clause["named_graph"] else default).append(full(clause["graph"]))
            continue
        stream = full(clause["on"] or clause["stream"])
        graph = full(clause["window"]) if clause["window"] else stream if clause["named"] else None
        written.append((window(clause["w_spec"] or clause["s_spec"], stream, graph, pattern=False, full=full), False))
    declared = [one.graph for one, _ in written if one.graph is not None]
    text = _FROM.sub("", text)
    patterns = 0

    def as_graph(clause: re.Match[str]) -> str:
        nonlocal patterns
        graph = f"urn:x-oracle:pattern:{patterns}"
        patterns += 1
        made = window(clause[2], full(clause[1]), graph, pattern=True, full=full)
        written.append((made, not steps_as_written(clause[2])))
        return f"GRAPH <{graph}> {{"

    events: list[Events] = []

    def take_events(stream: str, spec: str | None, start: int, place: int) -> bool:
        """Put the place of its matches where an event pattern is; whether there is one."""
        nonlocal patterns, text
        read = read_events(text, place, lambda term: _term(term, full))
        if read is None or (spec is not None and not has_operator(read[0])):
            return False
        graph = f"urn:x-oracle:pattern:{patterns}"
        made = None if spec is None else window(spec, stream, graph, pattern=True)
        over = window_of(made, stream, graph, stepped=spec is not None and bool(_STEPPED.search(spec)))
        written.append((over, CHANGE in over.default or spec is None))
        events.append(Events(over, read[0], " ".join(_prologue(text)), patterns))
        patterns += 1
        text = f"{text[:start]} ORACLE_EVENTS_{events[-1].number} {text[read[1] :]}"
        return True

    while any(
        take_events(full(clause[1]), clause[2], clause.start(), clause.end()) for clause in _EVENTS.finditer(text)
    ):
        pass
    if not written:
        any(
            take_events(ONLY_STREAM, None, found.start(), found.start()) for found in re.finditer(r"(?<=\{)\s*\{", text)
        )
    for one in events:
        text = asking(text, one.number)
    text = _PATTERN.sub(as_graph, text)
    values = " ".join(f"<{graph}>" for graph in declared)
    text = _WINDOW_VARIABLE.sub(rf"VALUES \1 {{ {values} }} GRAPH \1 {{", text)
    text = _WINDOW_NAME.sub("GRAPH ", text)
    template = (made := _TEMPLATE.search(text)) and made[1]
    text = _TEMPLATE.sub("SELECT *", text)
    kind = None if registered is None else registered["kind"].upper()
    operator = operator or (kind if kind in ("RSTREAM", "ISTREAM", "DSTREAM") else None)
    every = facts.every if registered is None or registered["every"] is None else duration(registered["every"])
    own = {use: [one for one in facts.definitions if use[0] in (None, one.name)] for use in uses}
    query = OracleQuery(
        (
            *_with_reports(written, every, beside_facts=bool(uses)),
            *(_facts(definition, graph, every) for (_, graph), meant in own.items() for definition in meant),
        ),
        text,
        operator or ("ISTREAM" if patterns else "RSTREAM"),
        template,
        bool(_ORDER.search(text)),
        " ".join(_prologue(text)),
        tuple(default),
        tuple(named),
        tuple(events),
    )
    name = None if registered is None else registered["name"]
    return ReadQuery(
        query,
        kind,
        full(name) if name is not None and ":" in name else name,
        facts.definitions[0] if facts.definitions and not facts.uses else None,
        tuple(use for use, meant in own.items() if not meant),
        every,
    )


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


def _prologue(text: str) -> list[str]:
    return [match[0] for match in _PREFIX.finditer(text)]


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
