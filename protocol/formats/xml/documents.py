"""RDF/XML documents are read as XML before the RDF parser may have them.

That parser takes a truncated document for a whole one, expands entities without limit and needs time quadratic in the
depth of elements, so all three are looked at here first. Nor does it know comments, CDATA sections and processing
instructions within text, and it leaves line ends, and white space in attributes, as they are: it is given text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from xml.parsers import expat

_MAX_DEPTH = 500
_MAX_EXPANSION = 16 * 1024 * 1024
"""Bytes that the entities of a document may add to it."""
_ENCODING = re.compile(rb"""\A(<\?xml[^>]*?)\s+encoding\s*=\s*(?:"[^"]*"|'[^']*')""")
_REFERENCE = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|&(?P<name>[^#&;\s][^&;\s]*);", re.DOTALL)
_TO_ESCAPE = re.compile("[&<>\r]")
_TO_ESCAPE_IN_ATTRIBUTES = re.compile('[&<"\t\n\r]')


def without_encoding(document: bytes) -> bytes:
    """The document without the encoding it declares; for one that has been decoded by its Content-Type."""
    return _ENCODING.sub(rb"\1", document, count=1)


def plain_xml(document: bytes) -> bytes:
    """What XML makes of a document (XML 1.0, sections 2.4 to 2.11, 3.3.3 and 4.4), in UTF-8: elements, attributes and
    text, and nothing else.

    Raise SyntaxError, with line and column, if this is not well-formed XML of ordinary depth and size.
    """
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.buffer_text = True
    references = document.count(b"&")
    depth = 0
    known = {"amp", "lt", "gt", "quot", "apos"}
    plain = StringIO()

    def problem(text: str) -> SyntaxError:
        return SyntaxError(text, (None, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, None))

    def start(name: str, attributes: Sequence[str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise problem(f"elements are nested deeper than {_MAX_DEPTH}")
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        said = (f' {attribute}="{_TO_ESCAPE_IN_ATTRIBUTES.sub(_reference, value)}"' for attribute, value in pairs)
        plain.write(f"<{name}{''.join(said)}>")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        plain.write(f"</{name}>")

    def text(data: str) -> None:
        plain.write(_TO_ESCAPE.sub(_reference, data))

    def declared(name: str, is_parameter: bool, value: str | None, *identifiers: str | None) -> None:
        if value is not None and ("&" in value or len(value.encode()) * references > _MAX_EXPANSION):
            raise problem(
                f"the entities of this document expand too far (&{name};); an entity may stand for text, "
                "not for other entities"
            )

        known.add(name)

    def elsewhere(name: str, *identifiers: object) -> int:
        raise problem(f"the entity {name} is not declared in the document, and nothing is fetched: declare it there")

    def all_declared() -> None:
        for match in _REFERENCE.finditer(document):
            if match["name"] is not None and match["name"].decode() not in known:
                elsewhere(match["name"].decode())

    def not_standalone() -> int:
        # What is not declared may be declared elsewhere then: to the parser it is nothing, without a word.
        parser.EndDoctypeDeclHandler = all_declared
        return 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = declared
    parser.ExternalEntityRefHandler = elsewhere
    parser.SkippedEntityHandler = elsewhere
    parser.NotStandaloneHandler = not_standalone
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise SyntaxError(expat.ErrorString(error.code), (None, error.lineno, error.offset + 1, None)) from None
    except (LookupError, ValueError):  # Python's, of encodings that expat has not itself
        raise problem("the encoding that the document declares is not read: send UTF-8") from None
    return plain.getvalue().encode()


def _reference(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
