"""An rdflib graph that belongs to the application and lives on: what changes there, and what is changed here.

The graph is what its store says. So the store's methods that change it are noted, as operations of SPARQL Update; where
these would not say the same (blank nodes have no names there), the endpoint's graphs are made anew from the whole.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, cast
from weakref import WeakKeyDictionary

import pyoxigraph as ox
from oxrdflib._converter import to_ox
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, QuotedGraph
from rdflib.store import Store

from endpoint.graphs.store import GraphStore
from protocol.errors import Unavailable
from protocol.functions.python_functions import rdflib_term
from protocol.terms import rename_blank_nodes

Quad = tuple[Any, Any, Any, str]
"""Subject, predicate, object, and the graph's IRI, "" for the default graph."""

_OTHERS = ("update", "remove_graph", "destroy", "open", "rollback")
_INSERT, _DELETE, _DELETE_MATCHES = "INSERT DATA", "DELETE DATA", "DELETE WHERE"
_AT_ONCE = 100_000
_TRIES = 10
_ANY = URIRef("urn:x:any")

logger = logging.getLogger(__name__)

_locks: WeakKeyDictionary[Store, threading.RLock] = WeakKeyDictionary()
"""Of each store that is watched, one for all who watch it: with one each, they would wait for each other."""


class WatchedGraph:
    """``graph`` with the changes that were made in it and that nobody has taken. Thread-safe, as far as rdflib is.

    ``tell`` is called, in whatever thread, when there are changes. A Graph is the default graph, and named graphs are
    none of its affair; of a Dataset each graph is one.
    """

    def __init__(self, graph: Graph, tell: Callable[[], None] = lambda: None) -> None:
        self._graph = graph
        self._whole = True
        # What is added, and the patterns of what is removed, each with its operation and the text in that. Of those
        # with the same quad only the last one says what is there in the end.
        self._operations: dict[Quad, tuple[str, str]] = {}
        self._at_once = _AT_ONCE
        # Whoever changes something holds it until that is noted: in another order the changes would say something else.
        self._lock = _locks.setdefault(graph.store, threading.RLock())
        self._quiet = 0
        self.tell = tell
        self._watch(graph.store)

    @property
    def changed(self) -> bool:
        """Whether there are changes."""
        return self._whole or bool(self._operations)

    def take(self) -> str:
        """The changes as the text of an update; none are there then, if no others come.

        Raises Unavailable where the graph is changed all the time while it is read.
        """
        with self._lock:
            whole, operations = self._whole, self._operations
            self._whole = False
            self._forget()
        if not whole:
            return _update(operations.values())
        others = "DROP ALL" if isinstance(self._graph, ConjunctiveGraph) else "CLEAR DEFAULT"
        return f"{others} ;\nINSERT DATA {{\n{_data(self._quads())}\n}}"

    def take_all_again(self) -> None:
        """What was taken was lost on its way."""
        self._whole = True

    def become(self, store: GraphStore) -> bool:
        """Have it be what the endpoint's graphs are, but for the changes that nobody has taken yet; False, and nothing,
        where it is not known which these are. None may be on its way there.

        Blank nodes get the labels they have there. A number is left as it is written, where it is the same number.
        """
        all_graphs = isinstance(self._graph, ConjunctiveGraph)
        wanted = {quad for quad in store.oxigraph if all_graphs or quad.graph_name == ox.DefaultGraph()}
        known = _by_oxigraphs(self._quads())
        # What is brought from here to there is no news.
        with self._lock, self._quietly():
            if self._whole:
                return False
            of_ours = self._of_changes()
            for gone in known.keys() - wanted:
                if of_ours(gone):
                    continue
                for subject, predicate, object, name in known[gone]:
                    self._context(name).remove((subject, predicate, object))
            for quad in wanted - known.keys():
                if of_ours(quad):
                    continue
                of = quad.graph_name
                context = self._context("" if isinstance(of, ox.DefaultGraph) else of.value)
                context.add((rdflib_term(quad.subject), rdflib_term(quad.predicate), rdflib_term(quad.object)))
        return True

    def _of_changes(self) -> Callable[[ox.Quad], bool]:
        """What tells whether the changes that nobody has taken add or remove a quad."""
        added = _by_oxigraphs(quad for quad, (kind, _) in self._operations.items() if kind == _INSERT).keys()
        removed = [pattern for pattern, (kind, _) in self._operations.items() if kind != _INSERT]
        canonical = _canonical(o for _, _, o, _ in removed)
        patterns = [
            (to_ox(s), to_ox(p), canonical.get(o) or to_ox(o), ox.NamedNode(g) if g else ox.DefaultGraph())
            for s, p, o, g in removed
        ]

        def of_changes(quad: ox.Quad) -> bool:
            return quad in added or any(
                all(term is None or term == part for term, part in zip(pattern, quad, strict=True))
                for pattern in patterns
            )

        return of_changes

    # What is there

    def _quads(self) -> list[Quad]:
        for _ in range(_TRIES):
            # Another thread may change it: then rdflib's own tables refuse to be gone through.
            with contextlib.suppress(RuntimeError):
                return self._read()
        raise Unavailable("the rdflib graph is changed all the time while it is read: ask again")

    def _read(self) -> list[Quad]:
        if not isinstance(self._graph, ConjunctiveGraph):
            return [(*triple, "") for triple in self._graph]
        return [(s, p, o, self._name(g)) for s, p, o, g in self._graph.quads()]

    def _name(self, context: Any) -> str:
        """The name here of a graph there."""
        identifier = getattr(context, "identifier", context)
        if identifier is None or identifier in (DATASET_DEFAULT_GRAPH_ID, self._default_identifier):
            return ""
        return f"urn:x-rdflib:{identifier}" if isinstance(identifier, BNode) else str(identifier)

    @property
    def _default(self) -> Graph:
        graph = self._graph
        if isinstance(graph, Dataset):
            return cast("Graph", graph.default_graph)
        return graph.default_context if isinstance(graph, ConjunctiveGraph) else graph

    @property
    def _default_identifier(self) -> Any:
        return self._default.identifier

    def _context(self, name: str) -> Graph:
        if not isinstance(self._graph, ConjunctiveGraph):
            return self._graph
        if not name:
            return self._default
        blank = name.removeprefix("urn:x-rdflib:")
        return self._graph.get_context(URIRef(name) if blank == name else BNode(blank))

    # What changes

    def _watch(self, store: Any) -> None:
        add, add_many, remove = store.add, store.addN, store.remove

        def noted_add(triple: Any, context: Any = None, quoted: bool = False) -> None:
            with self._change():
                add(triple, context, quoted)
                self._note_added([(*triple, context)])

        def noted_add_many(quads: Iterable[Any]) -> None:
            added = list(quads)
            with self._change():
                with self._quietly():
                    add_many(added)
                self._note_added(added)

        def noted_remove(triple: Any, context: Any = None) -> None:
            with self._change():
                remove(triple, context)
                self._note_removed(triple, context)

        store.add, store.addN, store.remove = noted_add, noted_add_many, noted_remove
        for name in _OTHERS:
            if callable(known := getattr(store, name, None)):
                setattr(store, name, self._noted(known))

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """A change that is made and noted, before any other is."""
        with self._lock:
            try:
                yield
            except NotImplementedError:
                raise  # rdflib goes on with the other methods then
            except BaseException:
                # Some of it may have been done.
                self._note(None)
                raise

    @contextlib.contextmanager
    def _quietly(self) -> Iterator[None]:
        """Nothing is noted of what is done within, by whoever holds the lock."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def _noted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            with self._change():
                result = method(*args, **kwargs)
                self._note(None)
            return result

        return noted

    def _is_ours(self, context: Any) -> bool:
        """A store may have graphs that are none of a Graph's, and formulas, which are nobody's."""
        if isinstance(context, QuotedGraph):
            return False
        if isinstance(self._graph, ConjunctiveGraph) or context is None:
            return True
        return bool(getattr(context, "identifier", context) == self._graph.identifier)

    def _note_added(self, quads: Iterable[Any]) -> None:
        ours = [(s, p, o, self._name(g)) for s, p, o, g in quads if self._is_ours(g)]
        if any(isinstance(term, BNode) for quad in ours for term in quad):
            self._note(None)
        elif lines := list(_lines(ours)):
            self._note([(quad, (_INSERT, line)) for quad, line in lines])

    def _note_removed(self, pattern: Any, context: Any) -> None:
        if self._quiet or not self._is_ours(context):
            return
        name = self._name(context)
        try:
            _triple(*(_ANY if term is None else term for term in pattern))
            terms = [to_ox(term) or f"?{place}" for place, term in zip("spo", pattern, strict=True)]
            graph = ox.NamedNode(name) if name else None
        except ValueError:
            return  # what is no RDF was left out there
        if any(isinstance(term, ox.BlankNode) for term in terms) or context is None:
            self._note(None)
            return
        if self._has_same(pattern, name):
            # Of one triple, nothing has changed here.
            if None in pattern:
                self._note(None)
            return
        line = _line(" ".join(map(str, terms)), graph)
        self._note([((*pattern, name), (_DELETE_MATCHES if None in pattern else _DELETE, line))])

    def _has_same(self, pattern: Any, name: str) -> bool:
        """Whether a triple is there that was not removed and is none other to Oxigraph: ``1.50`` beside ``1.5``."""
        subject, predicate, object = pattern
        if not isinstance(object, Literal) or object.datatype is None:
            return False
        found = _canonical([object, *(o for _, _, o in self._context(name).triples((subject, predicate, None)))])
        return list(found.values()).count(found[object]) > 1

    def _note(self, operations: Iterable[tuple[Quad, tuple[str, str]]] | None) -> None:
        """A change; None: one that is told by the whole."""
        if self._quiet:
            return
        if operations is None:
            self._whole = True
        if not self._whole:
            for quad, operation in operations or ():
                self._operations.pop(quad, None)
                self._operations[quad] = operation
            # With the whole an update of a client's may be lost: only where it is shorter.
            if len(self._operations) > self._at_once:
                self._at_once = 2 * len(self._operations)
                self._whole = not self._has(len(self._operations))
        if self._whole:
            self._forget()
        self.tell()

    def _has(self, count: int) -> bool:
        """Whether so many quads are there."""
        quads = self._graph.quads() if isinstance(self._graph, ConjunctiveGraph) else iter(self._graph)
        return next(islice(quads, count - 1, None), None) is not None

    def _forget(self) -> None:
        self._operations, self._at_once = {}, _AT_ONCE


def _triple(subject: Any, predicate: Any, object: Any) -> ox.Triple:
    """Raises ValueError for what is no RDF and rdflib takes: an IRI with a space, a literal as a subject, a formula."""
    terms = (subject, predicate, object)
    with contextlib.suppress(TypeError):
        if not any(isinstance(one, Graph) for one in terms):
            return ox.Triple(*map(cast("Any", to_ox), terms))
    raise ValueError(" ".join(one.n3() for one in terms))


def _update(operations: Iterable[tuple[str, str]]) -> str:
    """Operations, and the text in each, as the text of an update: those that follow each other are one."""
    texts: list[str] = []
    for kind, of_kind in groupby(operations, itemgetter(0)):
        lines = [line for _, line in of_kind]
        # Patterns of one DELETE WHERE would have to match together.
        parts = lines if kind == _DELETE_MATCHES else ["\n".join(lines)]
        texts += (f"{kind} {{ {part} }}" for part in parts)
    return " ;\n".join(texts)


def _line(triple: str, graph: ox.NamedNode | None) -> str:
    """A triple, or a pattern of some, as it stands in an operation of an update."""
    return f"{triple} ." if graph is None else f"GRAPH {graph} {{ {triple} . }}"


def _data(quads: Iterable[Quad]) -> str:
    """For INSERT DATA. What is no RDF is left out, and said."""
    return "\n".join(line for _, line in _lines(quads))


def _lines(quads: Iterable[Quad]) -> Iterator[tuple[Quad, str]]:
    """Quads, and each as it stands in INSERT DATA. What is no RDF is left out, and said."""
    # Not all that rdflib calls a blank node may be written so in SPARQL; others get another name there anyway.
    labels: dict[str, str] = {}
    for quad in quads:
        *terms, graph = quad
        try:
            named = rename_blank_nodes(str(_triple(*terms)), lambda node: labels.setdefault(node, f"_:n{len(labels)}"))
            yield quad, _line(named, ox.NamedNode(graph) if graph else None)
        except ValueError as error:
            logger.warning("a triple of the rdflib graph is left out, which is no RDF: %s", error)


def _by_oxigraphs(quads: Iterable[Quad]) -> dict[ox.Quad, list[Quad]]:
    """Quads by what they are in Oxigraph's store, which gives ``"01"^^xsd:integer`` back as ``"1"``."""
    read = list(quads)
    canonical = _canonical(o for _, _, o, _ in read)
    found: dict[ox.Quad, list[Quad]] = {}
    for quad in read:
        *terms, graph = quad
        # What is no RDF was left out there, and stays here.
        with contextlib.suppress(ValueError):
            triple = _triple(*terms)
            name = ox.NamedNode(graph) if graph else ox.DefaultGraph()
            known = ox.Quad(triple.subject, triple.predicate, canonical.get(terms[-1]) or triple.object, name)
            found.setdefault(known, []).append(quad)
    return found


def _canonical(terms: Iterable[Any]) -> dict[Literal, Any]:
    """What literals with a datatype are in Oxigraph's store."""
    typed = list(dict.fromkeys(term for term in terms if isinstance(term, Literal) and term.datatype))
    store, written = ox.Store(), list[ox.Quad]()
    for number, term in enumerate(typed):
        with contextlib.suppress(ValueError):
            written.append(ox.Quad(*_triple(URIRef(f"urn:x:{number}"), _ANY, term)))
    store.extend(written)
    return {typed[int(quad.subject.value[len("urn:x:") :])]: quad.object for quad in store}
