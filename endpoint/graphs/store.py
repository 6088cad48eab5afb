"""The endpoint's own graphs: an rdflib Dataset over Oxigraph, in a directory that is kept or a temporary one."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from endpoint.graphs import processor as oxigraph_processor
from endpoint.graphs.dataset import dataset_over, one_shot
from endpoint.graphs.fetching import Fetching, documents
from endpoint.graphs.processor import OxigraphResult
from protocol.sparql.dataset import with_using
from protocol.sparql.prologue import with_one_prologue
from protocol.terms import parse_term


class AnyNamed:
    """The kind of ``ANY_NAMED``."""

    def __repr__(self) -> str:
        return "ANY_NAMED"


ANY_NAMED: Final = AnyNamed()
"""Stands for every named graph in ``GraphStore.quads``."""


Terms = tuple[str, str, str, str]


class GraphStore:
    """The default graph and the named graphs, for requests and for the compiler of continuous queries.

    Thread-safe. Reads see a whole state; changes happen one after another, each all or nothing.
    """

    def __init__(
        self, directory: Path | None = None, load: Sequence[Path] = (), *, fetching: Fetching | None = None
    ) -> None:
        """Open the store in the directory (None: a temporary one, removed at the end) and read the files into it.

        It is on disk in any case: only then can Oxigraph make a snapshot of it (``backup``) within milliseconds.

        ``fetching`` says what LOAD and SERVICE may fetch: by default nothing.
        ValueError names a file that is no RDF; OSError, with the directory, a store that cannot be opened.
        """
        self._remove: Callable[[], object] | None = None
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix="sparql-streams-store-"))
            self._remove = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.oxigraph = ox.Store(str(directory))
        except OSError as error:
            busy = " (another server is using this data directory)" if "lock" in str(error).lower() else ""
            raise OSError(f"the store in {directory} cannot be opened{busy}: {error}") from error
        self.dataset = dataset_over(self.oxigraph)
        self.fetching = fetching if fetching is not None else Fetching()
        self._version = 0
        self._closed = False
        self._changing = threading.RLock()
        for path in load:
            self._load(path)

    def _load(self, path: Path) -> None:
        syntax = ox.RdfFormat.from_extension(path.suffix.lstrip(".").lower())
        if syntax is None:
            raise ValueError(f"load: {str(path)!r} has no extension of an RDF syntax (ttl, nt, trig, nq, jsonld, rdf)")
        try:
            with self.changing():
                self.oxigraph.bulk_load(path=str(path), format=syntax, base_iri=path.resolve().as_uri())
        except (SyntaxError, OSError, ValueError, MemoryError) as error:
            raise ValueError(f"load: {str(path)!r} cannot be read: {error}") from error

    def close(self) -> None:
        """Write what is in memory to the directory and let go of it, or remove it; the store is of no use then."""
        with self._changing:
            if self._closed:
                return
            self._closed = True
            self.oxigraph.flush()
            # Oxigraph closes when nothing refers to it; rdflib's graphs, being cycles, would hold it for a while.
            self.dataset.close()
            del self.oxigraph
            if self._remove is not None:
                self._remove()

    # Requests

    def query(
        self,
        text: str,
        *,
        base: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> OxigraphResult:
        """Answer a one-shot query. The graphs given, of either kind, are its dataset instead of FROM's.

        Raises ProtocolError for what is no query, cannot be answered, or is refused.
        """
        return one_shot(
            self.dataset,
            text,
            base=base,
            default_graphs=default_graphs,
            named_graphs=named_graphs,
            allow_fetch=self.fetching.allowed,
        )

    def update(
        self,
        text: str,
        *,
        base: str | None = None,
        using_graphs: Sequence[str] = (),
        using_named_graphs: Sequence[str] = (),
    ) -> None:
        """Run an update, all of it or nothing; the graphs given act as USING and USING NAMED."""
        text = with_one_prologue(with_using(text, using_graphs, using_named_graphs))
        # Before the store is locked: nobody waits for another server.
        loaded = documents(text, self.fetching, base)
        with self.changing():
            self.dataset.update(
                text,
                processor=oxigraph_processor.NAME,
                use_store_provided=False,
                base=base,
                allow_fetch=self.fetching.allowed,
                loaded=loaded,
            )

    @contextmanager
    def changing(self) -> Iterator[ox.Store]:
        """Alone to change the store; the version grows unless an error leaves the block."""
        with self._changing:
            yield self.oxigraph
            self._version += 1

    def backup(self, directory: Path) -> int:
        """Make a snapshot of the store as it is now in a directory that is not there yet; its version or a later one.

        Does not wait for a change that is going on: that is a transaction, of which the snapshot has all or nothing.
        """
        version = self._version
        # Read before, for an old version's name on a newer state does no harm; the reverse would.
        self.oxigraph.backup(str(directory))
        return version

    # The compiler of continuous queries

    @property
    def version(self) -> int:
        """Grows with each successful change."""
        return self._version

    def named_graphs(self) -> list[str]:
        """IRIs of the named graphs, in order; those named by blank nodes as ``_:label``."""
        return sorted(_graph_name(graph) for graph in self.oxigraph.named_graphs())

    def quads(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        graph: str | AnyNamed | None = None,
    ) -> Iterator[Terms]:
        """The quads that match, as (g, s, p, o), from one state of the store.

        Terms go in and come out as canonical N-Triples; None matches any. ``graph`` is None for the
        default graph, an IRI without brackets, or ``ANY_NAMED``; g is "" for the default graph.
        """
        s, p, o = (None if text is None else parse_term(text) for text in (subject, predicate, object))
        if not (s is None or isinstance(s, ox.NamedNode | ox.BlankNode)):
            return
        if not (p is None or isinstance(p, ox.NamedNode)):
            return
        if isinstance(graph, AnyNamed):
            for quad in self.oxigraph.quads_for_pattern(s, p, o):
                if not isinstance(quad.graph_name, ox.DefaultGraph):
                    yield str(quad.graph_name), str(quad.subject), str(quad.predicate), str(quad.object)
            return
        name = ox.DefaultGraph() if graph is None else _graph(graph)
        shown = "" if graph is None else str(name)
        for quad in self.oxigraph.quads_for_pattern(s, p, o, name):
            yield shown, str(quad.subject), str(quad.predicate), str(quad.object)


def _graph(name: str) -> ox.NamedNode | ox.BlankNode:
    if name.startswith("_:"):
        return ox.BlankNode(name[2:])
    return ox.NamedNode(name.removeprefix("<").removesuffix(">"))


def _graph_name(graph: ox.NamedNode | ox.BlankNode) -> str:
    return graph.value if isinstance(graph, ox.NamedNode) else str(graph)
