"""What is too long for Oxigraph's parsers, which hold a literal, an IRI or a comment as a whole, up to 16 MiB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from protocol.formats.json.depth import JSON_STRING
from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN

LONGEST_TOKEN = 16 * 2**20
"""Bytes."""
LONG_TOKEN = f"a literal, an IRI or a comment is longer than {LONGEST_TOKEN // 2**20} MiB, the most that is read"


@contextmanager
def long_token_refused(document: bytes, syntax: RdfSyntax) -> Iterator[None]:
    """Around the parsing of a document: raises SyntaxError, with line and column, for a token that is too long."""
    try:
        yield
    except MemoryError as error:
        if not is_long_token(error):
            raise
        raise _too_long(document, syntax) from None


def is_long_token(error: MemoryError) -> bool:
    """Whether it is a token that is too long, and not the machine's memory that has come to its end."""
    return "buffer maximal size" in str(error)


def _too_long(document: bytes, syntax: RdfSyntax) -> SyntaxError:
    pattern = JSON_STRING if syntax is RdfSyntax.JSON_LD else TURTLE_TOKEN
    tokens = (match for match in pattern.finditer(document) if len(match[0]) > LONGEST_TOKEN // 2)
    # What ends nowhere is no token, and is told without its place.
    start = max(tokens, key=lambda match: len(match[0]), default=None)
    if start is None:
        return SyntaxError(LONG_TOKEN)
    before = document[: start.start()]
    line_start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    column = len(before[line_start:].decode(errors="replace")) + 1
    return SyntaxError(LONG_TOKEN, (None, len(LINE_END.findall(before)) + 1, column, None))
