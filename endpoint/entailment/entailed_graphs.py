"""The graphs of a store with all that follows from them, in a store of their own that is kept up to date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyoxigraph as ox

from protocol.entailment.closure import Closure, Vocabulary, rdf_triples
from protocol.entailment.lists import LIST_PROPERTIES, OF_LISTS, Triple
from protocol.entailment.matching import Triples
from protocol.entailment.regimes import Regime
from protocol.entailment.relation import Relation
from protocol.entailment.rules import Term, named
from protocol.entailment.schema import SCHEMA_KINDS, SCHEMA_PROPERTIES, TYPE, is_schema

Graph = ox.NamedNode | ox.BlankNode | ox.DefaultGraph

_MANY = 10_000
"""More quads than these are written past the log of the database."""

_OF_FORMER = 100_000
"""Terms that only former states had are known at the most so many, besides as many as the quads of now may have:
then all is made anew, which takes as long as those took to come.
"""

_TERMS = 3
"""Of a quad, besides its graph."""

_DEFAULT = ox.DefaultGraph()
_OF_LISTS: frozenset[Term] = frozenset({*map(named, LIST_PROPERTIES), *OF_LISTS})


class EntailedGraphs:
    """Each graph with what follows from it and the schema, under one regime.

    What comes is added to the closures there are. What goes, and what changes a list, has the closures in which it was
    made anew; what is written is the difference.
    """

    def __init__(self, regime: Regime, schema: Sequence[str], directory: Path) -> None:
        """``schema`` are IRIs of the graphs that the schema is taken from; none: it is that of the default graph.
        ``directory`` is not there yet.
        """
        self._regime = regime
        self._of_schema: frozenset[Graph] = frozenset(map(ox.NamedNode, schema)) or frozenset({_DEFAULT})
        self.store = ox.Store(str(directory))
        self._begin()

    def _begin(self) -> None:
        """Know of no graph."""
        self._vocabulary = Vocabulary()
        self._axioms = Closure(self._regime, self._vocabulary)
        self._schema = self._axioms.copy()
        self._closures: dict[Graph, Closure] = {}
        self._lines: set[bytes] = set()
        self.store.clear()

    @property
    def contradictions(self) -> dict[str, list[str]]:
        """By graph ("" is the default graph), the rules that it contradicts."""
        return {
            "" if isinstance(graph, ox.DefaultGraph) else str(graph): sorted(closure.contradictions)
            for graph, closure in self._closures.items()
            if closure.contradictions
        }

    def bring_up_to(self, graphs: ox.Store) -> None:
        """Make it what follows from these graphs."""
        lines = set((graphs.dump(format=ox.RdfFormat.N_QUADS) or b"").splitlines())
        if len(self._vocabulary) > _TERMS * len(lines) + _OF_FORMER:
            self._begin()
        added, removed = _quads(lines - self._lines), _quads(self._lines - lines)
        names: set[Graph] = {_DEFAULT, *graphs.named_graphs()}
        self._lines = lines
        again = {graph for graph, quads in removed.items() if quads}
        if self._regime is Regime.OWL_RL:
            # A list may have been longer, or none, before.
            again |= {graph for graph, quads in added.items() if any(one.predicate in _OF_LISTS for one in quads)}
        coming = [one for graph in self._of_schema for one in _schema(added.get(graph, ()))]
        if any(_changes(graph, removed, added) for graph in self._of_schema & again):
            self._schema = self._axioms.copy()
            self._schema.add_terms(one for graph in self._of_schema for one in _whole_schema(graphs, graph))
            again, coming = names, []
        else:
            self._schema.add_terms(coming)
        for graph in self._closures.keys() - names:
            del self._closures[graph]
            self.store.remove_graph(graph)
        for graph in sorted(names, key=str):
            known = self._closures.get(graph)
            if known is None or graph in again:
                closure = self._schema.copy()
                # Of one that is new, all has come.
                quads = added.get(graph, ()) if known is None else graphs.quads_for_pattern(None, None, None, graph)
                closure.add_terms(_triples(quads))
                self._replace(graph, {} if known is None else known.relations, closure.relations)
                self._closures[graph] = closure
            else:
                self._write(graph, known.add_terms([*coming, *_triples(added.get(graph, ()))]))

    def _replace(self, graph: Graph, former: Triples, new: Triples) -> None:
        gone = {
            predicate: Relation(new.get(predicate, Relation()).without(relation.pairs))
            for predicate, relation in former.items()
        }
        for one in rdf_triples(gone, self._vocabulary):
            self.store.remove(ox.Quad(*one, graph))  # type: ignore[arg-type]
        self._write(
            graph,
            {
                predicate: Relation(former.get(predicate, Relation()).without(relation.pairs))
                for predicate, relation in new.items()
            },
        )

    def _write(self, graph: Graph, triples: Triples) -> None:
        if isinstance(graph, ox.NamedNode | ox.BlankNode):
            # Also where it has no triple.
            self.store.add_graph(graph)
        quads = (ox.Quad(*one, graph) for one in rdf_triples(triples, self._vocabulary))  # type: ignore[arg-type]
        if sum(map(len, triples.values())) > _MANY:
            self.store.bulk_extend(quads)
        else:
            self.store.extend(quads)


def _quads(lines: Iterable[bytes]) -> Mapping[Graph, list[ox.Quad]]:
    """What lines of N-Quads say, by graph."""
    found: dict[Graph, list[ox.Quad]] = {}
    for quad in ox.parse(b"\n".join(lines), format=ox.RdfFormat.N_QUADS, lenient=True):
        found.setdefault(quad.graph_name, []).append(quad)
    return found


def _changes(graph: Graph, *changes: Mapping[Graph, list[ox.Quad]]) -> bool:
    """Whether one of the changes is of the schema that the graph has."""
    return any(is_schema(one.predicate, one.object) for change in changes for one in change.get(graph, ()))


def _triples(quads: Iterable[ox.Quad]) -> Iterator[Triple]:
    return ((one.subject, one.predicate, one.object) for one in quads)


def _whole_schema(graphs: ox.Store, graph: Graph) -> Iterator[Triple]:
    """The schema of a graph, by what the database finds at once."""
    for predicate in SCHEMA_PROPERTIES:
        assert isinstance(predicate, ox.NamedNode)
        yield from _triples(graphs.quads_for_pattern(None, predicate, None, graph))
    for kind in SCHEMA_KINDS:
        yield from _triples(graphs.quads_for_pattern(None, TYPE, kind, graph))


def _schema(quads: Iterable[ox.Quad]) -> Iterator[Triple]:
    return (one for one in _triples(quads) if is_schema(one[1], one[2]))
