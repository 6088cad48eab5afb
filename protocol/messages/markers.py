"""``# @message`` comments, which divided documents in the first drafts of *RDF Messages* (W3C RSP CG); still read.

A marker is a comment with nothing before it on its line; text after ``@message`` is a remark. A marker at the start
opens the first message instead of ending an empty one, and nothing after a last marker is no message; two markers with
no statement between them enclose an empty message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import TURTLE_TOKEN, has_long_quotes

MARKER = b"# @message"
"""A marker as programs write it."""

MARKER_COMMENT = r"#[ \t]*@message(?:[^\r\n0-9A-Za-z_-][^\r\n]*)?"
"""Any marker, from its ``#`` to the end of the line, as a regular expression (Python's, and RE2's)."""

_MARKER = re.compile(rf"{MARKER_COMMENT}(?=[\r\n]|\Z)".encode())


def find_markers(document: bytes, syntax: RdfSyntax) -> list[tuple[int, int]]:
    """Where the markers stand: start and end of each, in bytes. ``syntax`` is one with comments."""
    if not syntax.has_a_statement_a_line and has_long_quotes(document):
        comments = (match.span() for match in TURTLE_TOKEN.finditer(document) if match[0].startswith(b"#"))
        spans = [span for span in comments if _MARKER.fullmatch(document, *span)]
    else:
        # Without long quotes no token spans lines, so what starts a line with '#' is a comment.
        spans = [match.span() for match in _MARKER.finditer(document)]
    return [(start, end) for start, end in spans if _begins_line(document, start)]


def _begins_line(document: bytes, position: int) -> bool:
    """Whether nothing but white space stands before the position in its line."""
    while position and document[position - 1] in b" \t":
        position -= 1
    return not position or document[position - 1] in b"\r\n"


def marker_bounds(counts: Sequence[int]) -> tuple[int, int]:
    """Which of the segments between markers are messages: from the first of these two to before the second.

    ``counts``: how many statements each has. An empty one at either end is no message; there is always one at least.
    """
    first = int(len(counts) > 1 and counts[0] == 0)
    return first, len(counts) - int(len(counts) - first > 1 and counts[-1] == 0)
