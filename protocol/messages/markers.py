"""``# @message`` comments, which divide a document into messages (W3C RSP CG, *RDF Messages*).

A marker is a comment with nothing before it on its line; text after ``@message`` is a remark. A marker at the start
opens the first message instead of ending an empty one, and nothing after a last marker is no message; two markers with
no statement between them enclose an empty message. Prefixes and the base carry over from message to message in Turtle
and TriG.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN
from protocol.messages.message import Message

MARKER = b"# @message"
"""A marker as programs write it."""

MARKER_COMMENT = r"#[ \t]*@message(?:[^\r\n0-9A-Za-z_-][^\r\n]*)?"
"""Any marker, from its ``#`` to the end of the line, as a regular expression (Python's, and RE2's)."""

_MARKER = re.compile(rf"{MARKER_COMMENT}(?=[\r\n]|\Z)".encode())
_DIRECTIVE = (
    rb"@prefix\s+[^\s:]*:\s*<[^<>\r\n]*>\s*\.|prefix\s+[^\s:]*:\s*<[^<>\r\n]*>"
    rb"|@base\s+<[^<>\r\n]*>\s*\.|base\s+<[^<>\r\n]*>"
)
_PREAMBLE = re.compile(
    rb"(?:[ \t\r\n]++|#[^\r\n]*+|" + _DIRECTIVE + rb"|@version\s+\S+\s*\.|version\s+[\"'][^\r\n]*)*+",
    re.IGNORECASE,
)
_DECLARES = re.compile(rb"prefix|base", re.IGNORECASE)
_DIRECTIVE_OR_TOKEN = re.compile(
    rb"(?P<directive>(?<![^\s.}>])(?:" + _DIRECTIVE + rb"))|" + TURTLE_TOKEN.pattern, re.DOTALL | re.IGNORECASE
)


def find_markers(document: bytes, syntax: RdfSyntax) -> list[tuple[int, int]]:
    """Where the markers stand: start and end of each, in bytes. ``syntax`` is one with comments."""
    if not syntax.has_a_statement_a_line and (b'"""' in document or b"'''" in document):
        comments = (match.span() for match in TURTLE_TOKEN.finditer(document) if match[0].startswith(b"#"))
        spans = [span for span in comments if _MARKER.fullmatch(document, *span)]
    else:
        # Without long quotes no token spans lines, so what starts a line with '#' is a comment.
        spans = [match.span() for match in _MARKER.finditer(document)]
    return [(start, end) for start, end in spans if _begins_line(document, start)]


def _begins_line(document: bytes, position: int) -> bool:
    """Whether nothing but white space stands before the position in its line."""
    if not position or document[position - 1] in b"\r\n":
        return True
    start = document.rfind(b"\n", 0, position) + 1
    return not document[document.rfind(b"\r", start, position) + 1 or start : position].strip(b" \t")


def is_preamble(document: bytes, end: int | None = None) -> bool:
    """Whether there is nothing in it, up to ``end``, but directives, comments and white space."""
    last = len(document) if end is None else end
    return preamble_end(document, last) == last


def preamble_end(document: bytes, end: int | None = None) -> int:
    """Where the directives, comments and white space that it begins with end, up to ``end``."""
    found = _PREAMBLE.match(document, 0, len(document) if end is None else end)
    return 0 if found is None else found.end()


def message_bounds(counts: Sequence[int]) -> tuple[int, int]:
    """Which of the segments between markers are messages: from the first of these two to before the second.

    ``counts``: how many statements each has. An empty one at either end is no message; there is always one at least.
    """
    first = int(len(counts) > 1 and counts[0] == 0)
    return first, len(counts) - int(len(counts) - first > 1 and counts[-1] == 0)


def divide(document: Iterable[bytes], syntax: RdfSyntax) -> Iterator[Message]:
    """The messages of a document, of which one without markers is one.

    A document that comes in lines (with their ends), in a syntax with a statement a line, is divided as it comes.
    """
    pieces = document if syntax.has_a_statement_a_line else (b"".join(document),)
    declared: dict[bytes, None] = {}
    number = 0
    for opened, text, closed in _segments(pieces, syntax):
        if (opened and closed) or not is_preamble(text) or not (closed or number):
            yield Message(text, tuple(declared))
            number += 1
        if not syntax.has_a_statement_a_line:
            for directive in _directives(text):
                # Last, even where it was declared before: what holds is what was said last.
                declared.pop(directive, None)
                declared[directive] = None


def _segments(pieces: Iterable[bytes], syntax: RdfSyntax) -> Iterator[tuple[bool, bytes, bool]]:
    """What stands between markers, and whether there is one before it and one after it."""
    segment: list[bytes] = []
    opened = False
    for piece in pieces:
        position = 0
        for start, end in find_markers(piece, syntax):
            yield opened, b"".join([*segment, piece[position:start]]), True
            line_end = LINE_END.match(piece, end)
            segment, opened, position = [], True, end if line_end is None else line_end.end()
        segment.append(piece[position:])
    yield opened, b"".join(segment), False


def _directives(text: bytes) -> Iterator[bytes]:
    """The declarations of prefixes and bases in a text, each on one line."""
    # Nearly all messages declare nothing, which is seen sooner than what their tokens are.
    if _DECLARES.search(text) is None:
        return
    for match in _DIRECTIVE_OR_TOKEN.finditer(text):
        if match["directive"] is not None:
            yield b" ".join(match[0].split())


def join(messages: Sequence[Message]) -> bytes:
    """One document of these messages, divided by markers."""
    parts: list[bytes] = []
    declared: tuple[bytes, ...] = ()
    for message in messages:
        # What the messages before it declared holds already; said again only where something was added.
        added = message.preamble if message.preamble != declared else ()
        declared = message.preamble
        parts += [MARKER + b"\n", *(directive + b"\n" for directive in added), message.body, b"\n"]
    # Closed by a marker of its own, or an empty message at the end would be none.
    return b"".join([*parts, MARKER + b"\n"])
