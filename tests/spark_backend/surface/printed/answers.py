"""What the engine, or for a one-shot query the store, answers to a case's data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from protocol.evaluations import Failed
from protocol.grammar.one_shot import as_standard
from protocol.language.model import ContinuousQuery
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import BASE, Graphs, SteppedBackend
from tests.spark_backend.surface.printed.case import Case

LATENESS = 3
"""What every stream allows, in the case's unit."""
Rows = list[tuple[str, ...]]


def answers(directory: Path, text: str, query: ContinuousQuery | None, case: Case) -> dict[int, Rows]:
    """Sorted solutions by instant in milliseconds; ``query`` is what the text says, None for a one-shot query."""
    prefixes = " ".join(re.findall(r"PREFIX\s+[\w-]*:\s*<[^>]*>", text))
    stored = list(ox.parse(f"{prefixes} {case.stored}", format=ox.RdfFormat.TRIG))
    if query is None:
        return {0: of_store(text, stored)}
    return of_streams(directory, text, prefixes, query, case, stored)


def of_store(text: str, stored: Iterable[ox.Quad]) -> Rows:
    store = ox.Store()
    store.extend(stored)
    found = store.query(as_standard(text, BASE), base_iri=BASE)
    assert isinstance(found, ox.QuerySolutions)
    return sorted(tuple("-" if term is None else local(value(term)) for term in row) for row in found)


def of_streams(
    directory: Path, text: str, prefixes: str, query: ContinuousQuery, case: Case, stored: Sequence[ox.Quad]
) -> dict[int, Rows]:
    arrivals = list(case.arrivals())
    iris = {name: f"http://example.org/{name}" for name, _, _ in arrivals} | {
        local(iri): iri for iri in query.streams if iri
    }
    stepped = SteppedBackend(directory, Graphs([quad(one) for one in stored]))
    try:
        for name, iri in iris.items():
            stepped.event_stream(name, iri, lateness=LATENESS * case.unit)
        stepped.register("q", text)
        for name, at, triples in arrivals:
            stepped.post(name, f"{prefixes} {triples}", at)
        for name in iris:
            stepped.backend.end_stream(name)
        stepped.run()
        assert not [notice for notice in stepped.notices if isinstance(notice, Failed)]
        told = {at: rows(data.decode()) for at, data in stepped.answers("q").items()}
        return {at: found for at, found in told.items() if found}
    finally:
        stepped.close()


def quad(one: ox.Quad) -> Quad:
    graph = "" if isinstance(one.graph_name, ox.DefaultGraph) else str(one.graph_name)
    return graph, str(one.subject), str(one.predicate), str(one.object)


def rows(document: str) -> Rows:
    """A document's solutions, or its triples."""
    if not document.startswith("{"):
        triples = ox.parse(document, format=ox.RdfFormat.N_TRIPLES)
        return sorted(tuple(local(value(part)) for part in one.triple) for one in triples)
    parsed: dict[str, Any] = json.loads(document)
    return sorted(
        tuple(local(row[name]["value"]) if name in row else "-" for name in parsed["head"]["vars"])
        for row in parsed["results"]["bindings"]
    )


def value(term: object) -> str:
    assert isinstance(term, ox.NamedNode | ox.Literal)
    return term.value


def local(term: str) -> str:
    """What stands behind the last slash or number sign."""
    return re.split("[/#]", term)[-1]
