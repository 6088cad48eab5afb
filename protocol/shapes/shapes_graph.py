"""A shapes graph, compiled: which nodes of a data graph are focus nodes, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_quads
from protocol.shapes.errors import InvalidShapes
from protocol.shapes.graph import Graph
from protocol.shapes.reading import ShapesReader
from protocol.shapes.shape import Results, Shape
from protocol.shapes.vocabulary import CLASSES, RDF_TYPE, sh
from protocol.terms import term_text

Triple = tuple[str, str, str]


class ShapesGraph:
    """Validates data graphs (SHACL, section 3). Knows nothing of any of them afterwards; thread-safe.

    ``hierarchy``: the shapes graph's classes, which hold for the data graphs too (``Graph.hierarchy``).
    """

    def __init__(self, triples: Iterable[Triple]) -> None:
        """Compile the triples of a shapes graph.

        Raises InvalidShapes, which names the node that is ill-formed and what would be right; UnsupportedFeature for
        what is not SHACL Core.
        """
        s, p, o = zip(*triples, strict=True) if (triples := list(triples)) else ((), (), ())
        graph = Graph(s, p, o)
        self.hierarchy = graph.hierarchy
        self._of_class: dict[str, list[Shape]] = {}
        self._of_node: dict[str, list[Shape]] = {}
        self._of_subjects: dict[str, list[Shape]] = {}
        self._of_objects: dict[str, list[Shape]] = {}
        kinds = {
            "targetClass": self._of_class,
            "targetNode": self._of_node,
            "targetSubjectsOf": self._of_subjects,
            "targetObjectsOf": self._of_objects,
        }
        for shape in ShapesReader(graph).all_shapes():
            for kind, shapes in kinds.items():
                for target in graph.objects(shape.node, sh(kind)):
                    shapes.setdefault(target, []).append(shape)
            if graph.is_instance(shape.node, CLASSES):
                self._of_class.setdefault(shape.node, []).append(shape)
        if not any(kinds.values()):
            raise InvalidShapes(
                "no shape says what it is for, so that nothing would be validated: give one a target, such as "
                "sh:targetClass or sh:targetSubjectsOf"
            )

    @classmethod
    def parse(cls, turtle: str, base: str) -> ShapesGraph:
        """Compile a shapes graph in Turtle. Raises InvalidShapes, also with line and column, and UnsupportedFeature."""
        try:
            parsed = list(read_quads(turtle.encode(), RdfSyntax.TURTLE, base))
        except SyntaxError as error:
            raise InvalidShapes(
                f"line {error.lineno}, column {error.offset}: {error.msg}", line=error.lineno, column=error.offset
            ) from None
        return cls((str(one.subject), str(one.predicate), term_text(one.object)) for one in parsed)

    def graph(self, triples: Iterable[Triple]) -> Graph:
        """A data graph."""
        s, p, o = zip(*triples, strict=True) if (triples := list(triples)) else ((), (), ())
        return Graph(s, p, o, self.hierarchy)

    def validate(self, graph: Graph) -> Results:
        """The results for a data graph, none if it conforms (of any severity: SHACL, section 3.6.1.1)."""
        results = Results()
        for shape, nodes in self._targets(graph).items():
            for node in nodes:
                shape.validate(graph, node, results)
        return results

    def _targets(self, graph: Graph) -> dict[Shape, dict[str, None]]:
        """The focus nodes of each shape (SHACL, section 2.1.3), each once."""
        found: dict[Shape, dict[str, None]] = {}
        for node, shapes in self._of_node.items():
            for shape in shapes:
                found.setdefault(shape, {})[node] = None
        if self._of_class:
            of_class, upwards = self._of_class, graph.hierarchy.upwards
            for node, said in graph.forward.items():
                for kind in said.get(RDF_TYPE, ()):
                    for name in upwards(kind):
                        for shape in of_class.get(name, ()):
                            found.setdefault(shape, {})[node] = None
        for predicate, shapes in self._of_subjects.items():
            for node, said in graph.forward.items():
                if predicate in said:
                    for shape in shapes:
                        found.setdefault(shape, {})[node] = None
        for predicate, shapes in self._of_objects.items():
            for said in graph.forward.values():
                for node in said.get(predicate, ()):
                    for shape in shapes:
                        found.setdefault(shape, {})[node] = None
        return found
