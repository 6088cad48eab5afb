"""What RDF/XML documents must satisfy before the RDF parser may have them.

That parser takes a truncated document for a whole one, expands entities without limit and needs time
quadratic in the depth of elements, so all three are looked at here first.
"""

from __future__ import annotations

import re
from xml.parsers import expat

_MAX_DEPTH = 500
_MAX_EXPANSION = 16 * 1024 * 1024
"""Bytes that the entities of a document may add to it."""
_ENCODING = re.compile(rb"""\A(<\?xml[^>]*?)\s+encoding\s*=\s*(?:"[^"]*"|'[^']*')""")


def without_encoding(document: bytes) -> bytes:
    """The document without the encoding it declares; for one that has been decoded by its Content-Type."""
    return _ENCODING.sub(rb"\1", document, count=1)


def check_xml(document: bytes) -> None:
    """Raise SyntaxError, with line and column, if this is not well-formed XML of ordinary depth and size."""
    parser = expat.ParserCreate()
    references = document.count(b"&")
    depth = 0

    def problem(text: str) -> SyntaxError:
        return SyntaxError(text, (None, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, None))

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise problem(f"elements are nested deeper than {_MAX_DEPTH}")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def declared(name: str, is_parameter: bool, value: str | None, *identifiers: str | None) -> None:
        if value is not None and ("&" in value or len(value.encode()) * references > _MAX_EXPANSION):
            raise problem(
                f"the entities of this document expand too far (&{name};); an entity may stand for text, "
                "not for other entities"
            )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise SyntaxError(expat.ErrorString(error.code), (None, error.lineno, error.offset + 1, None)) from None
    except (LookupError, ValueError):  # Python's, of encodings that expat has not itself
        raise problem("the encoding that the document declares is not read: send UTF-8") from None
