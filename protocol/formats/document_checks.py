"""What is looked at in an RDF document before Oxigraph's parsers may have it."""

from __future__ import annotations

from protocol.formats.json_depth import check_json_depth
from protocol.formats.media_types import RdfSyntax
from protocol.formats.xml.documents import check_xml


def check_document(document: bytes, syntax: RdfSyntax) -> None:
    """Raise SyntaxError, with line and column, for a document that the parser of its syntax would not get done with."""
    if syntax is RdfSyntax.RDF_XML:
        check_xml(document)
    elif syntax is RdfSyntax.JSON_LD:
        check_json_depth(document)
