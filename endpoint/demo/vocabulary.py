"""The terms of the demonstration: SOSA for observations, and names for the parts of this machine."""

from __future__ import annotations

MACHINE = "http://example.org/machine/"

PREFIXES = f"""\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX m: <{MACHINE}>
"""


def literal(text: str) -> str:
    """A string literal of Turtle and SPARQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    # A process may name itself with bytes that are no text; Python carries them as lone surrogates.
    return f'"{escaped.encode("utf-8", "replace").decode()}"'
