"""The answers of a continuous query: the algebra at each instant, then R2S, then the form (RSP-QL Definition 24)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyoxigraph as ox

from conformance.rsp.oracle.dataset import Graphs, dataset
from conformance.rsp.oracle.elements import OracleStream, Triple
from conformance.rsp.oracle.events import HIDDEN, Events, restored
from conformance.rsp.oracle.instants import evaluation_instants
from conformance.rsp.oracle.r2s import Solution, streamed
from conformance.rsp.oracle.timestamps import with_times
from conformance.rsp.oracle.windows import Window

_NOW = re.compile(r"\bNOW\s*\(\s*\)", re.IGNORECASE)
_ASK = re.compile(r"\bASK\b", re.IGNORECASE)
_PREFIX = re.compile(r"\bPREFIX\s+([\w.-]*:)\s*<([^>]*)>", re.IGNORECASE)
_BLANK = "urn:x-oracle:blank:"


@dataclass(frozen=True)
class OracleQuery:
    """A continuous query.

    ``sparql`` is its standard part with GRAPH for WINDOW: an ASK or a SELECT, of all of the pattern's solutions if
    it is a CONSTRUCT. ``template`` makes it a CONSTRUCT: its triple patterns, with the prefixes of ``prologue``.
    ``default_graphs`` and ``named_graphs``: FROM and FROM NAMED. ``events``: its event patterns, whose matches are put
    where ``sparql`` has ``ORACLE_EVENTS_number``.
    """

    windows: tuple[Window, ...]
    sparql: str
    operator: str = "RSTREAM"
    template: str | None = None
    ordered: bool = False
    prologue: str = ""
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    events: tuple[Events, ...] = ()


@dataclass(frozen=True)
class OracleAnswer:
    """What is expected at one instant. ``content``: a boolean, triples, or solutions in order (else sorted).

    ``bounds``: (o, t] of each of the query's windows. ``variables``: those of a SELECT.
    """

    content: bool | frozenset[Triple] | tuple[Solution, ...]
    bounds: tuple[tuple[int, int], ...]
    variables: tuple[str, ...] = field(default=(), compare=False)


def answers(
    query: OracleQuery,
    streams: Mapping[str, OracleStream],
    graphs: Graphs | Callable[[int], Graphs],
    start: int | None,
    horizon: tuple[int, int],
) -> dict[int, OracleAnswer]:
    """The answers of a query at each instant of its ET after ``start``.

    ``graphs``: the static ones, or what they are at an instant. ``horizon``: all instants that are looked at, in ms.
    """
    found: dict[int, OracleAnswer] = {}
    # ASK is whether the operator gives any solution.
    asks = query.operator != "RSTREAM" and _ASK.search(query.sparql) is not None
    sparql = _ASK.sub("SELECT *", query.sparql, count=1) if asks else query.sparql
    timed = with_times(sparql, dict(_PREFIX.findall(sparql)))
    previous: list[Solution] = []
    for t in evaluation_instants(query.windows, streams, start, horizon):
        bounds = tuple(window.bounds(streams[window.stream], t) for window in query.windows)
        static = graphs if isinstance(graphs, Graphs) else graphs(t)
        store = dataset(query.windows, streams, static.chosen(query.default_graphs, query.named_graphs), t)
        text = sparql if timed is None else timed.text
        text = _NOW.sub(f'"{_date_time(t)}"^^<http://www.w3.org/2001/XMLSchema#dateTime>', text)
        for one in query.events:
            text = text.replace(f"ORACLE_EVENTS_{one.number} ", one.values(streams[one.window.stream], t))
        functions = {} if timed is None else timed.functions(_times(query, streams, t), _date_time)
        result = store.query(text, use_default_graph_as_union=False, custom_functions=functions)
        if isinstance(result, ox.QueryBoolean):
            found[t] = OracleAnswer(bool(result), bounds)
            continue
        assert isinstance(result, ox.QuerySolutions)
        names = tuple(variable.value for variable in result.variables)
        current = [
            frozenset(
                (name, restored(str(term))) for name, term in zip(names, solution, strict=True) if term is not None
            )
            for solution in result
        ]
        chosen = streamed(query.operator, current, previous)
        previous = current
        if asks:
            found[t] = OracleAnswer(bool(chosen), bounds)
            continue
        if query.events:
            chosen = [frozenset((name, term) for name, term in one if not name.startswith(HIDDEN)) for one in chosen]
            names = tuple(name for name in names if not name.startswith(HIDDEN))
        if query.template is not None:
            found[t] = OracleAnswer(_instantiated(query, chosen), bounds)
        else:
            found[t] = OracleAnswer(
                tuple(chosen) if query.ordered else tuple(sorted(chosen, key=sorted)), bounds, names
            )
    return found


def _times(query: OracleQuery, streams: Mapping[str, OracleStream], t: int) -> dict[str | None, dict[Triple, int]]:
    """The latest time of each streamed triple of each graph."""
    times: dict[str | None, dict[Triple, int]] = {}
    for window in query.windows:
        known = times.setdefault(window.graph, {})
        for triple, time in window.timed(streams[window.stream], t).items():
            known[triple] = max(time, known.get(triple, time))
    return times


def _date_time(t: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=t)).isoformat().replace("+00:00", "Z")


def _instantiated(query: OracleQuery, solutions: Sequence[Solution]) -> frozenset[Triple]:
    """The template with each solution's terms (SPARQL 1.1 section 16.2); its blank nodes are new each time."""
    triples: set[Triple] = set()
    for number, solution in enumerate(solutions):
        # VALUES takes no blank node: those of the data are IRIs on the way.
        row = {name: f"<{_BLANK}{term[2:]}>" if term.startswith("_:") else term for name, term in solution}
        values = f"VALUES ({' '.join(f'?{name}' for name in row)}) {{ ({' '.join(row.values())}) }}"
        text = f"{query.prologue} CONSTRUCT {{ {query.template} }} WHERE {{ {values} }}"
        result = ox.Store().query(text)
        assert isinstance(result, ox.QueryTriples)
        labels: dict[str, str] = {}
        for triple in result:
            s, p, o = (_restored(term, number, labels) for term in (triple.subject, triple.predicate, triple.object))
            triples.add((s, p, o))
    return frozenset(triples)


def _restored(term: object, number: int, labels: dict[str, str]) -> str:
    """The term as in the data, or a blank node of the template by a label that is the same in every run."""
    if isinstance(term, ox.BlankNode):
        return labels.setdefault(term.value, f"_:s{number}n{len(labels)}")
    text = str(term)
    return f"_:{text[len(_BLANK) + 1 : -1]}" if text.startswith(f"<{_BLANK}") else text
