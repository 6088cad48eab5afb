"""RDF lists of a shapes graph."""

from __future__ import annotations

from protocol.shapes.errors import ill_formed
from protocol.shapes.graph import Graph
from protocol.shapes.vocabulary import RDF_FIRST, RDF_NIL, RDF_REST


def members_of(graph: Graph, head: str, what: str) -> list[str]:
    """The members of a list, ``what`` says what for. Raises InvalidShapes for what is none (SHACL, section 1.1)."""
    members: list[str] = []
    seen: set[str] = set()
    node = head
    while node != RDF_NIL:
        first, rest = graph.objects(node, RDF_FIRST), graph.objects(node, RDF_REST)
        if node in seen or len(first) != 1 or len(rest) != 1:
            problem = f"{what} must be a list, such as ( ex:a ex:b ), each node with one rdf:first and one rdf:rest"
            raise ill_formed(node, problem)
        seen.add(node)
        members += first
        (node,) = rest
    return members
