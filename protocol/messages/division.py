"""Documents of several messages: what divides them, taken apart message by message, and put together.

Prefixes and the base carry over from message to message in Turtle and TriG.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END
from protocol.messages.delimiters import (
    DELIMITER,
    DELIMITER_LINE,
    delimiter_bounds,
    find_delimiters,
    plain_segments,
)
from protocol.messages.markers import MARKER, MARKER_COMMENT, find_markers, marker_bounds
from protocol.messages.message import Message
from protocol.messages.preambles import VERSIONS_WITH_MESSAGES, announces_messages, declared_behind, is_preamble

VERSION = VERSIONS_WITH_MESSAGES[0]
"""The version that documents of several messages are written in."""

VERSION_LINE = f'VERSION "{VERSION}"\n'.encode()


@dataclass(frozen=True)
class Division:
    """What stands between messages: ``usual`` as programs write it, ``line`` any on a line of its own (a regular
    expression, also RE2's); ``find`` gives all in a document as start and end in bytes, ``bounds`` which of the
    segments between them are messages, by how many statements each has. ``word``, in small letters, is in all of them.
    ``name`` is for a person.
    """

    name: str
    usual: bytes
    word: bytes
    line: str
    find: Callable[[bytes, RdfSyntax], list[tuple[int, int]]]
    bounds: Callable[[Sequence[int]], tuple[int, int]]

    def plain_segments(self, document: bytes) -> list[bytes] | None:
        """See ``delimiters.plain_segments``."""
        return plain_segments(document, self.usual, self.word)


MARKERS = Division("marker", MARKER, b"@message", MARKER_COMMENT, find_markers, marker_bounds)
DELIMITERS = Division("delimiter", DELIMITER, b"message", DELIMITER_LINE, find_delimiters, delimiter_bounds)


def divide(document: Iterable[bytes], syntax: RdfSyntax, *, announced: bool = False) -> Iterator[Message]:
    """The messages of a document: divided by delimiters if it is ``announced`` that it has messages, or it announces
    that itself, else by markers; without any of these it is one message.

    A document that comes in lines (with their ends), in a syntax with a statement a line, is divided as it comes. A
    byte order mark before it is in none of them.
    """
    pieces = _without_mark(document if syntax.has_a_statement_a_line else (b"".join(document),))
    declared: tuple[bytes, ...] = ()
    number = 0
    for division, opened, text, closed in _segments(pieces, syntax, announced=announced):
        if division is DELIMITERS:
            is_message = closed or not is_preamble(text)
        else:
            is_message = (opened and closed) or not is_preamble(text) or not (closed or number)
        if is_message:
            yield Message(text, declared)
            number += 1
        if not syntax.has_a_statement_a_line:
            declared = declared_behind(declared, text)


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    return (piece if number else piece.removeprefix(BOM_UTF8) for number, piece in enumerate(pieces))


def _segments(
    pieces: Iterable[bytes], syntax: RdfSyntax, *, announced: bool
) -> Iterator[tuple[Division, bool, bytes, bool]]:
    """What stands between what divides, by which, and whether there is one before it and one after it."""
    division = DELIMITERS if announced else MARKERS
    segment: list[bytes] = []
    opened = False
    for piece in pieces:
        if division is MARKERS and not opened and announces_messages(piece) and is_preamble(b"".join(segment)):
            division = DELIMITERS
        position = 0
        for start, end in division.find(piece, syntax):
            yield division, opened, b"".join([*segment, piece[position:start]]), True
            line_end = LINE_END.match(piece, end)
            segment, opened, position = [], True, end if line_end is None else line_end.end()
        segment.append(piece[position:])
    yield division, opened, b"".join(segment), False


def join(messages: Sequence[Message], *, announced: bool = False) -> bytes:
    """One document of these messages, divided by delimiters, which announces that itself unless its type does.

    If it does, lines are counted as in the document that the messages were divided from, from the first of them on:
    an error at a line is one at that line of a user's file. Declarations that have to be said again stand before a
    message on its first line.
    """
    parts: list[bytes] = [] if announced else [VERSION_LINE]
    declared: tuple[bytes, ...] = ()
    for message in messages:
        # What the messages before it declared holds already; said again only where something was added.
        added = message.preamble if message.preamble != declared else ()
        declared = message.preamble
        text = with_declarations(added, message.body)
        ended = b"" if text.endswith(b"\n") or not text else b"\n"
        # Each is closed by a delimiter of its own, or an empty message at the end would be none.
        parts += [text, ended, DELIMITER, b"\n"]
    return b"".join(parts)


def with_declarations(declarations: Sequence[bytes], text: bytes) -> bytes:
    """The text behind declarations, which stand on its first line: its lines stay those that they are."""
    return b" ".join((*declarations, text))
