"""What is done with an RDF document before Oxigraph's parsers may have it, and what they say of one that is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from protocol.formats.json.depth import check_json_depth
from protocol.formats.long_tokens import long_token_refused
from protocol.formats.media_types import RdfSyntax
from protocol.formats.triple_term_depth import check_nesting
from protocol.formats.xml.documents import plain_xml

_POSITION = re.compile(
    r"Parser error (?:at|between) line \d+ (?:column \d+|between columns \d+ and (?:column )?\d+)"
    r"(?: and line \d+ column \d+)?: "
)
_LINE_END = re.compile(rb"\r\n?|\n")
_BARE = re.compile(rb"[ \t\r\n]*+(?P<value>[^ \t\r\n{\[])")
"""What begins a document of JSON that is neither an object nor an array."""
_OF_RUST = "pyo3_runtime"
"""The module of a panic's class, which cannot be imported, and is no Exception."""


def checked(document: bytes, syntax: RdfSyntax) -> bytes:
    """The document as Oxigraph's parser is to have it. Places in it stay as they are, where that parser tells any.

    Raises SyntaxError, with line and column, for one that the parser would not get done with, or take for another.
    """
    if syntax is RdfSyntax.RDF_XML:
        return plain_xml(document)
    if syntax is RdfSyntax.JSON_LD:
        check_json_depth(document)
        _check_bare(document)
    else:
        check_nesting(document)
    return document


def _check_bare(document: bytes) -> None:
    """Raise SyntaxError for a bare value, which to Oxigraph says nothing: JSON-LD is an object or an array."""
    found = _BARE.match(document)
    if found is not None:
        before = document[: found.start("value")]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        bare = "a document of JSON-LD is an object or an array, and no bare value"
        raise SyntaxError(bare, (None, line, column, None))


@contextmanager
def errors_placed(document: bytes, syntax: RdfSyntax) -> Iterator[None]:
    """Around the parsing of a document that was ``checked``: what Oxigraph says of it is a SyntaxError, whose column is
    one in characters.

    A panic is one too, without a place: the document would bring about the next however often it is sent.
    """
    with long_token_refused(document, syntax):
        try:
            yield
        except SyntaxError as error:
            if syntax is RdfSyntax.JSON_LD and error.lineno is not None and error.offset is not None:
                # There it counts bytes, and a return alone ends a line, too.
                line = _LINE_END.split(document, error.lineno)[error.lineno - 1]
                error.offset = len(line[: error.offset - 1].decode(errors="replace")) + 1
            raise
        except BaseException as error:
            if type(error).__module__ != _OF_RUST:
                raise
            raise SyntaxError(f"the parser cannot read it, and has failed: {error}") from error


def syntax_problem(error: SyntaxError) -> str:
    """What is wrong, without the position, which the error carries beside it."""
    problem = _POSITION.sub("", error.msg)
    if "LoadDocumentCallback" in problem:
        return "remote contexts are not fetched: write the context itself into the document"
    return problem


def placed_problem(error: SyntaxError) -> str:
    """What is wrong, and where if that is known."""
    place = "" if error.lineno is None else f" (line {error.lineno}, column {error.offset})"
    return f"{syntax_problem(error)}{place}"
