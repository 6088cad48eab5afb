"""A pattern of quads, matched in whichever process has the store open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import islice

import pyoxigraph as ox

from endpoint.processes.frames import Frame
from protocol.terms import parse_term, term_text

Terms = tuple[str, str, str, str]

_QUADS_AT_ONCE = 10_000


@dataclass(frozen=True)
class QuadPattern:
    """Terms as canonical N-Triples, None for any; names of graphs (IRIs, ``_:label``), None for the default one."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    graphs: tuple[str, ...] | None = None

    def encoded(self) -> bytes:
        return json.dumps(astuple(self)).encode("ascii")

    @classmethod
    def decoded(cls, received: Frame) -> QuadPattern:
        subject, predicate, object, graphs = json.loads(received.content)
        return cls(subject, predicate, object, None if graphs is None else tuple(graphs))

    def quads(self, store: ox.Store) -> Iterator[ox.Quad]:
        """What matches, of each graph in turn."""
        s, p, o = (None if text is None else parse_term(text) for text in (self.subject, self.predicate, self.object))
        if not (s is None or isinstance(s, ox.NamedNode | ox.BlankNode)):
            return
        if not (p is None or isinstance(p, ox.NamedNode)):
            return
        for graph in [ox.DefaultGraph()] if self.graphs is None else map(_graph, self.graphs):
            yield from store.quads_for_pattern(s, p, o, graph)

    def n_quads(self, store: ox.Store) -> Iterator[bytes]:
        """What matches, as canonical N-Quads, some at once."""
        found = self.quads(store)
        while some := ox.serialize(islice(found, _QUADS_AT_ONCE), format=ox.RdfFormat.N_QUADS):
            yield some


def terms(quad: ox.Quad) -> Terms:
    """The quad as (g, s, p, o), canonical N-Triples; g is "" for the default graph."""
    graph = "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)
    return graph, str(quad.subject), str(quad.predicate), term_text(quad.object)


def graph_names(store: ox.Store) -> list[str]:
    """IRIs of the named graphs, in order; those named by blank nodes as ``_:label``."""
    return sorted(
        graph.value if isinstance(graph, ox.NamedNode) else str(graph) for graph in store.named_graphs()
    )  # fmt: skip


def _graph(name: str) -> ox.NamedNode | ox.BlankNode:
    return ox.BlankNode(name[2:]) if name.startswith("_:") else ox.NamedNode(name)
