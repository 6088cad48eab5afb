"""A query's answers by definition: pyoxigraph over the windows' contents at each instant, then R2S.

RSP-QL Definitions 14, 17, 20 to 22 and 24; contract section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from protocol.time import Instant
from tests.spark_backend.oracle.streams import Stream, Triple
from tests.spark_backend.oracle.windows import Window, evaluation_instants

Solution = frozenset[tuple[str, str]]
"""A solution mapping: pairs of a variable's name and a term in N-Triples."""


@dataclass(frozen=True)
class Query:
    """A continuous query.

    ``sparql`` is its standard part with GRAPH for WINDOW: a SELECT, of all of the pattern's solutions if it is a
    CONSTRUCT, or an ASK. ``template`` makes it a CONSTRUCT, with variables as ``?name``.
    """

    windows: tuple[Window, ...]
    sparql: str
    operator: str = "RSTREAM"
    template: tuple[Triple, ...] | None = None
    ordered: bool = False


@dataclass(frozen=True)
class Graphs:
    """The static part of the dataset: the store's default graph and named graphs."""

    default: frozenset[Triple] = frozenset()
    named: Mapping[str, frozenset[Triple]] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What is expected at one instant. ``content``: a boolean, triples, or solutions in order (else sorted)."""

    content: bool | frozenset[Triple] | tuple[Solution, ...]
    bounds: tuple[tuple[Instant, Instant], ...]


def answers(
    query: Query,
    streams: Mapping[str, Stream],
    graphs: Graphs,
    start: Instant | None,
    horizon: tuple[Instant, Instant],
) -> dict[Instant, Answer]:
    """The answers of a query at each instant of its ET after ``start``."""
    found: dict[Instant, Answer] = {}
    previous: list[Solution] = []
    for t in evaluation_instants(query.windows, streams, start, horizon):
        bounds = tuple(window.bounds(streams[window.stream], t) for window in query.windows)
        result = _store(query, streams, graphs, t).query(query.sparql, use_default_graph_as_union=False)
        if isinstance(result, ox.QueryBoolean):
            found[t] = Answer(bool(result), bounds)
            continue
        assert isinstance(result, ox.QuerySolutions)
        names = [variable.value for variable in result.variables]
        current = [
            frozenset((name, str(term)) for name, term in zip(names, solution, strict=True) if term is not None)
            for solution in result
        ]
        chosen = _streamed(query.operator, current, previous)
        previous = current
        if query.template is not None:
            found[t] = Answer(frozenset(_instantiated(query.template, chosen)), bounds)
        else:
            found[t] = Answer(tuple(chosen) if query.ordered else tuple(sorted(chosen, key=sorted)), bounds)
    return found


def _store(query: Query, streams: Mapping[str, Stream], graphs: Graphs, t: Instant) -> ox.Store:
    store = ox.Store()
    for triple in graphs.default:
        _add(store, triple, ox.DefaultGraph())
    contents: list[tuple[str | None, frozenset[Triple]]] = list(graphs.named.items())
    contents += [(window.graph, window.content(streams[window.stream], t)) for window in query.windows]
    for graph, triples in contents:
        name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
        if graph is not None:
            store.add_graph(name)
        for triple in triples:
            _add(store, triple, name)
    return store


def _add(store: ox.Store, triple: Triple, graph: ox.NamedNode | ox.DefaultGraph) -> None:
    text = f"{' '.join(triple)} ."
    store.extend(
        ox.Quad(q.subject, q.predicate, q.object, graph) for q in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)
    )  # fmt: skip


def _streamed(operator: str, current: list[Solution], previous: list[Solution]) -> list[Solution]:
    if operator == "ISTREAM":
        return [solution for solution in current if solution not in previous]
    if operator == "DSTREAM":
        return [solution for solution in previous if solution not in current]
    return current


def _instantiated(template: Sequence[Triple], solutions: Sequence[Solution]) -> list[Triple]:
    found = []
    for solution in solutions:
        terms = {f"?{name}": term for name, term in solution}
        for s, p, o in template:
            triple = (terms.get(s, s), terms.get(p, p), terms.get(o, o))
            if not any(part.startswith("?") for part in triple):
                found.append(triple)
    return found
