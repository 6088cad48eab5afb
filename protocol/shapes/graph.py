"""A small RDF graph, indexed for validation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from protocol.shapes.vocabulary import RDF_TYPE, SUBCLASS_OF

_NOTHING: dict[str, dict[str, None]] = {}
_NONE: dict[str, None] = {}


class Hierarchy:
    """Classes and their superclasses, as rdfs:subClassOf says."""

    def __init__(self, direct: Mapping[str, Collection[str]]) -> None:
        self._direct = direct
        self._closures: dict[str, frozenset[str]] = {}

    def upwards(self, name: str) -> frozenset[str]:
        """The class and its superclasses."""
        closure = self._closures.get(name)
        if closure is None:
            found, waiting = {name}, [name]
            while waiting:
                new = [one for one in self._direct.get(waiting.pop(), ()) if one not in found]
                found.update(new)
                waiting += new
            closure = frozenset(found)
            # Messages name classes without end; what the shapes know of is bounded.
            if name in self._direct:
                self._closures[name] = closure
        return closure

    def extended(self, graph: Graph) -> Hierarchy:
        """With what a graph says besides; itself, if that says nothing."""
        if not graph.says(SUBCLASS_OF):
            return self
        direct = {name: dict.fromkeys(above) for name, above in self._direct.items()}
        for name, above in graph.pairs(SUBCLASS_OF):
            direct.setdefault(name, {})[above] = None
        return Hierarchy(direct)


class Graph:
    """Triples of canonical terms, each once. ``forward``: objects by subject and predicate.

    ``hierarchy``: the classes by which its nodes are instances (SHACL, section 1.1).
    """

    __slots__ = ("_backward", "_predicates", "conforming", "forward", "found", "hierarchy")

    def __init__(
        self,
        subjects: Iterable[str],
        predicates: Collection[str],
        objects: Iterable[str],
        hierarchy: Hierarchy | None = None,
    ) -> None:
        forward: dict[str, dict[str, dict[str, None]]] = {}
        for s, p, o in zip(subjects, predicates, objects, strict=True):
            of_subject = forward.get(s)
            if of_subject is None:
                forward[s] = {p: {o: None}}
                continue
            values = of_subject.get(p)
            if values is None:
                of_subject[p] = {o: None}
            else:
                values[o] = None
        self.forward = forward
        self._predicates = predicates
        self._backward: dict[str, dict[str, dict[str, None]]] | None = None
        self.conforming: dict[tuple[int, str], bool] = {}
        """Whether nodes conform to shapes, as far as that was asked (by ``id`` of the shape)."""
        self.found: dict[tuple[int, str], Any] = {}
        """The ``Results`` of nodes, likewise; shapes know of graphs, and not the other way round."""
        self.hierarchy = (hierarchy or Hierarchy({})).extended(self)

    def says(self, predicate: str) -> bool:
        """Whether a triple has this predicate."""
        return predicate in self._predicates

    def objects(self, subject: str, predicate: str) -> dict[str, None]:
        """The objects of triples with this subject and predicate."""
        return self.forward.get(subject, _NOTHING).get(predicate, _NONE)

    def object(self, subject: str, predicate: str) -> str | None:
        """The first of the objects, None without one."""
        return next(iter(self.objects(subject, predicate)), None)

    def subjects(self, predicate: str, object: str) -> dict[str, None]:
        """The subjects of triples with this predicate and object."""
        if self._backward is None:
            self._backward = {}
            for s, of_subject in self.forward.items():
                for p, values in of_subject.items():
                    for o in values:
                        self._backward.setdefault(o, {}).setdefault(p, {})[s] = None
        return self._backward.get(object, _NOTHING).get(predicate, _NONE)

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        """Subject and object of all triples with this predicate."""
        return [(s, o) for s, of_subject in self.forward.items() for o in of_subject.get(predicate, ())]

    def is_instance(self, node: str, classes: Collection[str]) -> bool:
        """Whether the node is a SHACL instance of one of the classes."""
        upwards = self.hierarchy.upwards
        return any(not upwards(kind).isdisjoint(classes) for kind in self.objects(node, RDF_TYPE))
