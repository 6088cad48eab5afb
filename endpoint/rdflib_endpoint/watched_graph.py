"""An rdflib graph that belongs to the application and lives on: what changes there, and what is changed here.

The graph is what its store says. So the store's methods that change it are noted, as operations of SPARQL Update; where
these would not say the same (blank nodes have no names there), the endpoint's graphs are made anew from the whole.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import pyoxigraph as ox
from oxrdflib._converter import to_ox
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset

from endpoint.graphs.store import GraphStore
from protocol.errors import Unavailable
from protocol.functions.python_functions import rdflib_term

Quad = tuple[Any, Any, Any, str]
"""Subject, predicate, object, and the graph's IRI, "" for the default graph."""

_OTHERS = ("update", "remove_graph", "destroy", "open", "rollback")
_AT_ONCE = 1000
_TRIES = 10

logger = logging.getLogger(__name__)


class WatchedGraph:
    """``graph`` with the changes that were made in it and that nobody has taken. Thread-safe, as far as rdflib is.

    ``tell`` is called, in whatever thread, when there are changes. A Graph is the default graph; of a Dataset each
    graph is one.
    """

    def __init__(self, graph: Graph, tell: Callable[[], None] = lambda: None) -> None:
        self._graph = graph
        self._whole = True
        self._operations: list[str] = []
        # What these add, and the patterns (with a graph's name) of what they remove.
        self._added: list[Quad] = []
        self._removed: list[Quad] = []
        # So many changes are made now, and not noted yet.
        self._under_way = 0
        self._lock = threading.RLock()
        self._quietly = _Quietly()
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
            return " ;\n".join(operations)
        return f"DROP ALL ;\nINSERT DATA {{\n{_data(self._quads())}\n}}"

    def take_all_again(self) -> None:
        """What was taken was lost on its way."""
        self._whole = True

    def become(self, store: GraphStore) -> bool:
        """Have it be what the endpoint's graphs are, but for the changes that nobody has taken yet; False, and nothing,
        where it is not known which these are. None may be on its way there.

        Blank nodes get the labels they have there. A number is left as it is written, where it is the same number.
        """
        wanted = set(store.oxigraph)
        known = _by_oxigraphs(self._quads())
        # What is brought from here to there is no news.
        with self._lock, self._quietly:
            if self._whole or self._under_way:
                return False
            of_ours = self._of_changes()
            for gone in known.keys() - wanted:
                if of_ours(gone):
                    continue
                for subject, predicate, object, graph in known[gone]:
                    self._context(graph).remove((subject, predicate, object))
            for quad in wanted - known.keys():
                if of_ours(quad):
                    continue
                name = quad.graph_name
                context = self._context("" if isinstance(name, ox.DefaultGraph) else name.value)
                context.add((rdflib_term(quad.subject), rdflib_term(quad.predicate), rdflib_term(quad.object)))
        return True

    def _of_changes(self) -> Callable[[ox.Quad], bool]:
        """What tells whether the changes that nobody has taken add or remove a quad."""
        added = _by_oxigraphs(self._added).keys()
        canonical = _canonical(o for _, _, o, _ in self._removed)
        patterns = [
            (to_ox(s), to_ox(p), canonical.get(o) or to_ox(o), ox.NamedNode(g) if g else ox.DefaultGraph())
            for s, p, o, g in self._removed
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
                with self._quietly:
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
        """A change that is made and noted. Several are made at once, but none while it becomes what is here."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def _noted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            try:
                result = method(*args, **kwargs)
            except NotImplementedError:
                raise  # rdflib goes on with the other methods then
            except BaseException:
                self._note(None)
                raise
            self._note(None)
            return result

        return noted

    def _is_ours(self, context: Any) -> bool:
        """A store may have graphs that are none of a Graph's."""
        if isinstance(self._graph, ConjunctiveGraph) or context is None:
            return True
        return bool(getattr(context, "identifier", context) == self._graph.identifier)

    def _note_added(self, quads: Iterable[Any]) -> None:
        ours = [(s, p, o, self._name(g)) for s, p, o, g in quads if self._is_ours(g)]
        if any(isinstance(term, BNode) for quad in ours for term in quad):
            self._note(None)
        elif data := _data(ours):
            self._note(f"INSERT DATA {{ {data} }}", added=ours)

    def _note_removed(self, pattern: Any, context: Any) -> None:
        if not self._is_ours(context):
            return
        name = self._name(context)
        try:
            terms = [to_ox(term) or f"?{place}" for place, term in zip("spo", pattern, strict=True)]
            graph = ox.NamedNode(name) if name else None
        except ValueError:
            return  # what is no RDF was left out there
        if any(isinstance(term, ox.BlankNode) for term in terms) or context is None:
            self._note(None)
            return
        triple = " ".join(map(str, terms))
        removal = f"DELETE WHERE {{ GRAPH {graph} {{ {triple} }} }}" if graph else f"DELETE WHERE {{ {triple} }}"
        self._note(removal, removed=[(*pattern, name)])

    def _note(self, operation: str | None, added: Sequence[Quad] = (), removed: Sequence[Quad] = ()) -> None:
        """A change; None: one that is told by the whole."""
        if self._quietly.depth:
            return
        with self._lock:
            if operation is None or len(self._operations) >= _AT_ONCE:
                self._whole = True
            if self._whole:
                self._forget()
            else:
                assert operation is not None
                self._operations.append(operation)
                self._added += added
                self._removed += removed
        self.tell()

    def _forget(self) -> None:
        self._operations, self._added, self._removed = [], [], []


class _Quietly(threading.local):
    """Nothing is noted of what a thread does within; what others change meanwhile is."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def _data(quads: Iterable[Quad]) -> str:
    """For INSERT DATA. What is no RDF (an IRI with a space, say) is left out, and said."""
    lines: list[str] = []
    for subject, predicate, object, graph in quads:
        try:
            triple = f"{to_ox(subject)} {to_ox(predicate)} {to_ox(object)} ."
            lines.append(f"GRAPH {ox.NamedNode(graph)} {{ {triple} }}" if graph else triple)
        except ValueError as error:
            logger.warning("a triple of the rdflib graph is left out, which is no RDF: %s", error)
    return "\n".join(lines)


def _by_oxigraphs(quads: Iterable[Quad]) -> dict[ox.Quad, list[Quad]]:
    """Quads by what they are in Oxigraph's store, which gives ``"01"^^xsd:integer`` back as ``"1"``."""
    read = list(quads)
    canonical = _canonical(o for _, _, o, _ in read)
    found: dict[ox.Quad, list[Quad]] = {}
    for quad in read:
        subject, predicate, object, graph = quad
        # What is no RDF was left out there, and stays here.
        with contextlib.suppress(ValueError):
            term: Any = canonical.get(object) or to_ox(object)
            name = ox.NamedNode(graph) if graph else ox.DefaultGraph()
            known = ox.Quad(cast("Any", to_ox(subject)), cast("Any", to_ox(predicate)), term, name)
            found.setdefault(known, []).append(quad)
    return found


def _canonical(terms: Iterable[Any]) -> dict[Literal, Any]:
    """What literals with a datatype are in Oxigraph's store."""
    typed = list(dict.fromkeys(term for term in terms if isinstance(term, Literal) and term.datatype))
    store, about = ox.Store(), ox.NamedNode("urn:x:p")
    store.extend(ox.Quad(ox.NamedNode(f"urn:x:{i}"), about, cast("ox.Literal", to_ox(o))) for i, o in enumerate(typed))
    return {typed[int(quad.subject.value[len("urn:x:") :])]: quad.object for quad in store}
