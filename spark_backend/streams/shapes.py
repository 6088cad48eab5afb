"""The shapes that the messages of streams have to conform to, as they are at the moment (docs/shapes.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from protocol.errors import Unavailable, UnsupportedFeature
from protocol.shapes.errors import InvalidShapes
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.streams import StreamSettings

_REMEMBERED = 64


class Graphs(Protocol):
    """The endpoint's dataset, as far as shapes are read of it. Terms are canonical N-Triples."""

    @property
    def version(self) -> int:
        """Grows with every change."""

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterable[tuple[str, str, str, str]]:
        """(g, s, p, o) matching these terms (None: any) in the graphs of these names, or None for the default graph."""


class StreamShapes:
    """The shapes of all streams: those in Turtle, and those of graphs of the store, which are read anew when the store
    has changed. Thread-safe.
    """

    def __init__(self, graphs: Graphs | None = None) -> None:
        self._graphs = graphs
        self._parsed = lru_cache(_REMEMBERED)(ShapesGraph.parse)
        self._compiled = lru_cache(_REMEMBERED)(ShapesGraph)
        self._known: dict[str, tuple[int, ShapesGraph]] = {}

    def check(self, settings: StreamSettings) -> None:
        """Raises what is wrong with the shapes of a new stream: InvalidShapes, UnsupportedFeature."""
        if settings.shapes_graph is not None:
            self._of_graph(settings.shapes_graph)

    def of(self, settings: StreamSettings) -> ShapesGraph | None:
        """What messages that come now have to conform to. Raises Unavailable while the store's graph is not right: that
        is no fault of the message, which nobody can judge.
        """
        if settings.shape is None:
            return None
        graph = settings.shapes_graph
        if graph is None:
            return self._parsed(settings.shape, settings.iri)
        try:
            return self._of_graph(graph)
        except (InvalidShapes, UnsupportedFeature) as error:
            raise Unavailable(
                "messages cannot be validated, so none are taken: the stream's shape is the store's graph "
                f"<{graph}>, and {error.detail}"
            ) from error

    def _of_graph(self, graph: str) -> ShapesGraph:
        if self._graphs is None:
            raise UnsupportedFeature("there is no store to read a shapes graph of: give the shapes as Turtle")
        version = self._graphs.version  # before it is read: a change meanwhile has it read again
        known = self._known.get(graph)
        if known is not None and known[0] == version:
            return known[1]
        # In one order, so that two stores that have the same say the same of a message.
        triples = tuple(sorted((s, p, o) for _, s, p, o in self._graphs.quads(None, None, None, [graph])))
        if not triples:
            raise InvalidShapes(f"there is no graph <{graph}>: put the shapes there (PUT /graphs?graph={graph})")
        shapes = self._compiled(triples)
        # What was read before the store changed is of no more use. Others may look at the same time.
        others = {one: of for one, of in list(self._known.items()) if of[0] == version}
        self._known = {**others, graph: (version, shapes)}
        return shapes
