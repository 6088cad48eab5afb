"""Shapes as they validate a node, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from protocol.shapes.graph import Graph
from protocol.shapes.paths import Path
from protocol.shapes.vocabulary import sh


class Result(NamedTuple):
    """A validation result (SHACL, section 3.6.2). ``value``: None where no single value node is at fault.

    ``component``: the local name of the constraint component. ``message``: what to say where the shape has no message.
    ``path``: the shape's, or ``other_path``.
    """

    shape: Shape
    component: str
    focus: str
    value: str | None
    message: str
    other_path: Path | None = None

    @property
    def path(self) -> Path | None:
        return self.other_path or self.shape.path


MOST_RESULTS = 100
"""A report tells so many results, the first ones."""


@dataclass
class Results:
    """Validation results: the first ones, and the ``count`` of all.

    Shapes within each other reach a node by more ways than there is memory for, each with its results.
    """

    first: list[Result] = field(default_factory=list)
    count: int = 0

    def append(self, result: Result) -> None:
        self.count += 1
        if len(self.first) < MOST_RESULTS:
            self.first.append(result)

    def extend(self, others: Results) -> None:
        self.count += others.count
        self.first += others.first[: MOST_RESULTS - len(self.first)]

    def __bool__(self) -> bool:
        return self.count > 0


Check = Callable[[Graph, str, Collection[str], Results], None]
"""A constraint: given the graph, the focus node and its value nodes, it adds what it finds to the results."""


@dataclass(eq=False)
class Shape:
    """A node shape, or (with a ``path``) a property shape. ``node``: the term that names it in the shapes graph.

    ``messages``: literals. ``size``: how many shapes it has validate, itself one, each as often as it is reached.
    """

    node: str
    path: Path | None
    severity: str = sh("Violation")
    messages: tuple[str, ...] = ()
    deactivated: bool = False
    checks: list[Check] = field(default_factory=list)
    size: int = 1

    def validate(self, graph: Graph, focus: str, results: Results) -> None:
        """Validate a focus node (SHACL, section 3.4)."""
        if self.deactivated:
            return
        values: Collection[str] = (focus,) if self.path is None else self.path.nodes(graph, focus)
        for check in self.checks:
            check(graph, focus, values, results)

    def found(self, graph: Graph, focus: str) -> Results:
        """The results of a focus node, remembered: other shapes lead to it by many ways."""
        key = id(self), focus
        known: Results | None = graph.found.get(key)
        if known is None:
            known = Results()
            self.validate(graph, focus, known)
            graph.found[key] = known
        return known

    def accepts(self, graph: Graph, node: str) -> bool:
        """Whether the node conforms to the shape (SHACL, section 3.7)."""
        key = id(self), node
        known = graph.conforming.get(key)
        if known is None:
            results = Results()
            self.validate(graph, node, results)
            known = graph.conforming[key] = not results
        return known
