"""``MESSAGE`` and ``@message .``, which divide a document whose version has messages (W3C RSP CG, *RDF Messages*).

A delimiter closes the message before it. A message opens only if a statement or another delimiter follows: so one at
the very beginning, and the second of two in a row, close an empty message, and one at the end opens none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from protocol.formats.media_types import RdfSyntax
from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN, has_long_quotes

DELIMITER = b"MESSAGE"
"""A delimiter as programs write it."""

DELIMITER_LINE = r"(?i:MESSAGE)(?:[ \t]*#[^\r\n]*)?"
"""A line of N-Triples or N-Quads that is a delimiter, without white space around it (Python's and RE2's syntax)."""

LONGEST_DELIMITER = len(b"@message")

# What may be part of a name around the word: 'ex:MESSAGE', 'MESSAGE:x', '"…"@en-message'.
_NAME = rb"0-9A-Za-z_:%@\\\x80-\xff-"
_LINE = re.compile(rb"(?<![^\r\n])[ \t]*+(MESSAGE)(?=[ \t]*+(?:[#\r\n]|\Z))", re.IGNORECASE)
_TOKEN = re.compile(
    rb"(?:" + TURTLE_TOKEN.pattern + rb")(?:(?<=[\"'])@[A-Za-z]++(?:-{1,2}[0-9A-Za-z]++)*+)?"
    rb"|(?P<word>(?<![" + _NAME + rb"])(?<![" + _NAME + rb"]\.)(?i:MESSAGE)(?!\.*+[" + _NAME + rb"]))"
    rb"|(?P<directive>(?<![" + _NAME + rb"])@message(?![" + _NAME + rb"]))",
    re.DOTALL,
)
_WORD = re.compile(rb"message")
_BOUNDS = (b"\n", b"")
_STOP = re.compile(rb"(?:\s|#[^\r\n]*+)*+\.")


def plain_segments(document: bytes, usual: bytes, word: bytes) -> list[bytes] | None:
    """The parts of a document in Turtle or TriG between lines that are ``usual`` and no more, as nearly all programs
    write what divides it, without these lines and the line ends around them.

    None where that is not all: a line is the first or the last, or ``word``, in small letters, is anywhere else.
    """
    if has_long_quotes(document):
        return None
    parts = document.split(b"\n" + usual + b"\n")
    return parts if len(parts) - 1 == document.lower().count(word) else None


def find_delimiters(document: bytes, syntax: RdfSyntax) -> list[tuple[int, int]]:
    """Where the delimiters stand: start and end of each, in bytes. ``syntax`` is one with comments.

    ``@message`` without its full stop is none, and so an error wherever it stands.
    """
    if syntax.has_a_statement_a_line:
        return [match.span(1) for match in _LINE.finditer(document)]
    if has_long_quotes(document):
        return list(_among_tokens(document, 0, len(document)))
    # Without long quotes no token spans lines, so that lines with the word are enough to look at.
    usual = plain_segments(document, DELIMITER, DELIMITER.lower())
    if usual is not None:
        ends = accumulate(len(part) + len(DELIMITER) + 2 for part in usual[:-1])
        return [(end - len(DELIMITER) - 1, end - 1) for end in ends]
    lowered = document.lower()
    spans: list[tuple[int, int]] = []
    looked = 0
    for word in _WORD.finditer(lowered):
        begin, end = word.span()
        if document[max(begin - 1, 0) : begin] in _BOUNDS and document[end : end + 1] in _BOUNDS:
            spans.append((begin, end))
            looked = end
        elif begin >= looked:
            line = max(document.rfind(b"\n", looked, word.start()), document.rfind(b"\r", looked, word.start())) + 1
            line_end = LINE_END.search(document, end)
            begin, looked = max(line, looked), len(document) if line_end is None else line_end.start()
            spans += _among_tokens(document, begin, looked)
    return spans


def _among_tokens(document: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The delimiters that begin in a part of the document, given where none of its tokens is cut."""
    for match in _TOKEN.finditer(document, begin, end):
        if match["word"] is not None:
            yield match.span()
        elif match["directive"] is not None:
            stop = _STOP.match(document, match.end())
            if stop is not None:
                yield match.start(), stop.end()


def delimiter_bounds(counts: Sequence[int]) -> tuple[int, int]:
    """Which of the segments between delimiters are messages: from the first of these two to before the second.

    ``counts``: how many statements each has. What follows the last delimiter is a message if it has any.
    """
    return 0, len(counts) - int(counts[-1] == 0)


def delimiter_problem(text: bytes, syntax: RdfSyntax, *, announced: bool) -> str | None:
    """What is to be said of a delimiter that is none where it stands; None if the text does not begin with one.

    ``announced``: whether the document's version has messages.
    """
    if _WORD.match(text.lower().removeprefix(b"@")) is None:
        return None
    word = "@message" if text.startswith(b"@") else "MESSAGE"
    if not announced:
        return (
            f"{word} divides messages only in a document that announces them: send it with version=1.2-messages in its "
            'Content-Type, or begin it with VERSION "1.2-messages"'
        )
    if syntax.has_a_statement_a_line:
        return f"{word} is not allowed here: messages in {syntax} are divided by MESSAGE on a line of its own"
    return "@message needs a full stop: write '@message .', or MESSAGE" if word == "@message" else None
