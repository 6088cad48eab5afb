"""Property paths of a shapes graph (SHACL, section 2.3.1)."""

from __future__ import annotations

from protocol.shapes.errors import ill_formed
from protocol.shapes.graph import Graph
from protocol.shapes.lists import members_of
from protocol.shapes.paths import OPERATORS, Alternative, Path, Predicate, Sequence
from protocol.shapes.values import kind_of
from protocol.shapes.vocabulary import RDF_FIRST, RDF_REST, sh

_DEEPEST = 32
_EXPECTED = (
    "a property path must be an IRI, a list of at least two paths, or a blank node with one of sh:inversePath, "
    "sh:alternativePath, sh:zeroOrMorePath, sh:oneOrMorePath, sh:zeroOrOnePath"
)


def read_path(graph: Graph, node: str, depth: int = 0) -> Path:
    """The path that a node of the shapes graph stands for. Raises InvalidShapes."""
    kind = kind_of(node)
    if kind == "<" and not graph.objects(node, RDF_FIRST):
        return Predicate(node)
    if depth > _DEEPEST:
        raise ill_formed(node, f"a property path must not contain itself, nor {_DEEPEST} others in each other")
    if kind not in "<_":
        raise ill_formed(node, _EXPECTED)
    said = graph.forward.get(node, {})
    if RDF_FIRST in said or RDF_REST in said:
        return Sequence(_paths(graph, node, depth))
    operators = [name for name in (*OPERATORS, "alternativePath") if sh(name) in said]
    if len(operators) != 1 or len(said[sh(operators[0])]) != 1:
        raise ill_formed(node, _EXPECTED)
    (operand,) = said[sh(operators[0])]
    if operators[0] == "alternativePath":
        return Alternative(_paths(graph, operand, depth))
    return OPERATORS[operators[0]](read_path(graph, operand, depth + 1))


def _paths(graph: Graph, head: str, depth: int) -> tuple[Path, ...]:
    members = members_of(graph, head, "a sequence or the value of sh:alternativePath")
    if len(members) < 2:
        raise ill_formed(head, "a list of paths must have at least two")
    return tuple(read_path(graph, one, depth + 1) for one in members)
