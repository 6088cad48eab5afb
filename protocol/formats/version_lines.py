"""``VERSION "1.2"`` in N-Triples and N-Quads (RDF 1.2), which Oxigraph does not read there."""

from __future__ import annotations

import re

_VERSION_LINE = re.compile(
    rb"(?<![^\r\n])[ \t]*+version[ \t]+\"[^\"\\\r\n]*+\"(?=[ \t]*+(?:[#\r\n]|\Z))", re.IGNORECASE
)


def without_version_lines(document: bytes) -> bytes:
    """The document with spaces instead of these lines, so that places in it stay as they are."""
    if b"version" not in document.lower():
        return document
    return _VERSION_LINE.sub(lambda line: b" " * len(line[0]), document)
