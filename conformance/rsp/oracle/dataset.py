"""The RSP-QL dataset at an instant, as an RDF store (RSP-QL Definition 14; docs/model.md, "The dataset")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from conformance.rsp.oracle.elements import OracleStream, Triple
from conformance.rsp.oracle.windows import Window


@dataclass(frozen=True)
class Graphs:
    """The static part of the dataset: the store's default graph and named graphs, as they are at an instant."""

    default: frozenset[Triple] = frozenset()
    named: Mapping[str, frozenset[Triple]] = field(default_factory=dict)

    def chosen(self, default: Sequence[str], named: Sequence[str]) -> Graphs:
        """What FROM and FROM NAMED leave of them; without any, all."""
        if not default and not named:
            return self
        merged = frozenset(triple for graph in default for triple in self.named.get(graph, ()))
        return Graphs(merged, {graph: self.named.get(graph, frozenset()) for graph in named})


def dataset(windows: Sequence[Window], streams: Mapping[str, OracleStream], graphs: Graphs, t: int) -> ox.Store:
    """G0 with the content of the windows without a name, the named graphs, and each named window's content.

    A window without a name is the graph of its stream's IRI, too (C-SPARQL section 2.6), if no window has that.
    """
    contents = [(window, window.content(streams[window.stream], t)) for window in windows]
    iris = {window.stream for window in windows if window.graph is None and ":" in window.stream}
    beside = iris - {window.graph for window in windows}
    store = ox.Store()
    _add(store, graphs.default, None)
    for name, triples in graphs.named.items():
        if name not in beside:
            _add(store, triples, name)
    for window, content in contents:
        _add(store, content, window.graph)
        if window.graph is None and window.stream in beside:
            _add(store, content, window.stream)
    return store


def _add(store: ox.Store, triples: Iterable[Triple], graph: str | None) -> None:
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    if isinstance(name, ox.NamedNode):
        store.add_graph(name)
    text = "".join(f"{' '.join(triple)} .\n" for triple in triples)
    # Labels are kept: a blank node is the same one in all windows and at all instants.
    store.extend(
        ox.Quad(q.subject, q.predicate, q.object, name)
        for q in ox.parse(text, format=ox.RdfFormat.N_TRIPLES, rename_blank_nodes=False)
    )
