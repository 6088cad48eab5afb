"""Other endpoints in memory, for SERVICE: each an Oxigraph store, and what went to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyoxigraph as ox

from protocol.errors import ServiceFailed
from protocol.formats.solution_rows import solution_rows
from spark_backend.federation.records import Row


class Endpoints:
    """Stores by address. ``before`` is called with each request, and may fail in its place."""

    limits = ("as many requests as are made",)

    def __init__(
        self, stores: dict[str, ox.Store], before: Callable[[str, str], None] = lambda iri, query: None
    ) -> None:
        self.stores = stores
        self.before = before
        self.requests: list[tuple[str, str]] = []
        self.sessions = 0

    def permits(self, iri: str) -> bool:
        return iri.startswith("http://other.example/")

    def session(self) -> Endpoints:
        self.sessions += 1
        return self

    def solutions(self, iri: str, query: str, variables: Sequence[str]) -> list[Row]:
        self.requests.append((iri, query))
        self.before(iri, query)
        if iri not in self.stores:
            raise ServiceFailed(f"there is nobody at <{iri}>")
        answer = self.stores[iri].query(query)
        assert isinstance(answer, ox.QuerySolutions)
        return solution_rows(answer.serialize(format=ox.QueryResultsFormat.JSON) or b"", variables)


def store(turtle: str, graph: ox.NamedNode | None = None) -> ox.Store:
    """A store of these triples."""
    made = ox.Store()
    made.load(f"PREFIX : <http://ex/> {turtle}".encode(), ox.RdfFormat.TURTLE, to_graph=graph)
    return made
