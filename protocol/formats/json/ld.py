"""Writing JSON-LD, which has no triple terms (RDF 1.2)."""

from __future__ import annotations

from protocol.formats.xml.text import NotExpressible

_SAID = "JSON-LD does not support RDF 1.2"
_INSTEAD = "JSON-LD has no way to write triple terms (RDF 1.2): ask for Turtle, TriG, N-Triples or N-Quads"


def json_ld_lacks(error: OSError) -> NotExpressible | None:
    """What an error of Oxigraph's serializer of JSON-LD is to the client; None if it is another error."""
    return NotExpressible(_INSTEAD) if _SAID in str(error) else None
