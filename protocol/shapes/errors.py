"""What is wrong with a shapes graph."""

from __future__ import annotations

from protocol.errors import ProtocolError


class InvalidShapes(ProtocolError):
    """A shapes graph that is no RDF, or ill-formed by SHACL's syntax rules (SHACL, appendix A)."""

    title = "The shapes graph is wrong"


def ill_formed(node: str, problem: str) -> InvalidShapes:
    """The error that says which node of the shapes graph is wrong (a canonical term), and what would be right."""
    return InvalidShapes(f"{node}: {problem}", extra={"node": node})
