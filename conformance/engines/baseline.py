"""Oxigraph called in process, without HTTP and without serialisers: what an endpoint on it should not fall behind."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox

from conformance.answers.cases import Dataset, QueryCase, UpdateCase
from conformance.answers.comparison import GraphAnswer, QueryResult, Solutions
from conformance.engines.engine import Contents, EngineFailure, Language


class OxigraphEngine:
    """``Engine`` over ``pyoxigraph.Store``. It answers from the store's own graphs; SERVICE is not offered."""

    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        if case.services:
            raise EngineFailure("the baseline has no endpoints to ask")
        text = f"BASE <{case.base}>\n{case.text}"
        store = _store(case.data)
        try:
            found = store.query(text)
            if isinstance(found, ox.QueryBoolean):
                return {"store": bool(found)}
            if isinstance(found, ox.QueryTriples):
                return {"store": GraphAnswer(frozenset(found))}
            names = tuple(variable.value for variable in found.variables)
            rows = tuple(
                {name: term for name, term in zip(names, solution, strict=True) if term is not None}
                for solution in found
            )
        except (SyntaxError, RuntimeError, OSError) as error:
            raise EngineFailure(str(error)) from None
        return {"store": Solutions(names, rows)}

    def after(self, case: UpdateCase) -> Contents:
        store = _store(case.before)
        try:
            store.update(f"BASE <{case.base}>\n{case.text}")
        except (SyntaxError, RuntimeError, OSError) as error:
            raise EngineFailure(str(error)) from None
        graphs: dict[str, set[ox.Triple]] = {}
        for quad in store:
            name = quad.graph_name
            graphs.setdefault("" if isinstance(name, ox.DefaultGraph) else name.value, set()).add(quad.triple)
        default = GraphAnswer(frozenset(graphs.pop("", ())))
        return Contents(default, {name: GraphAnswer(frozenset(triples)) for name, triples in graphs.items()})

    def accepts(self, text: str, language: Language) -> str | None:
        store = ox.Store()
        try:
            # Nothing is evaluated before an answer is read; an update runs over nothing.
            (store.query if language is Language.QUERY else store.update)(text, base_iri="http://example.org/")
        except SyntaxError as error:
            return str(error)
        except (RuntimeError, OSError):
            return None  # understood, and it cannot be done
        return None


def _store(data: Dataset) -> ox.Store:
    """The dataset as it is, or the documents that FROM names, where the test leaves them to the query."""
    store = ox.Store()
    for document in data.default:
        store.extend(ox.Quad(one.subject, one.predicate, one.object) for one in document.quads())
    for name, document in data.named:
        store.add_graph(ox.NamedNode(name))
        store.extend(ox.Quad(one.subject, one.predicate, one.object, ox.NamedNode(name)) for one in document.quads())
    return store
