"""The text of a query with its codepoint escapes decoded, and the way back to places in the original."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

from protocol.errors import ProtocolError, QuerySyntaxError

E = TypeVar("E", bound=ProtocolError)

# An escaped backslash is matched first, so that the u in "\\u0041" does not start an escape.
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)", re.DOTALL)

_LINE_END = re.compile(r"\r\n?|\n")

# These would end the token they stand in; as string escapes (SPARQL 1.1 ECHAR) they mean the same and do not.
_STRING_ESCAPES = {'"': '\\"', "'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r"}


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1. A column is a count of code points."""
    return _place(line_starts(text), offset)


def _place(starts: Sequence[int], offset: int) -> tuple[int, int]:
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def line_starts(text: str) -> Sequence[int]:
    """The offsets at which the lines of a text start, in so few bytes that a text may be all line ends."""
    return array("q", chain((0,), (match.end() for match in _LINE_END.finditer(text))))


def error_at(kind: type[E], detail: str, text: str, offset: int) -> E:
    """An error of this kind whose line and column are those of the offset."""
    line, column = place(text, offset)
    return kind(detail, line=line, column=column)


def spliced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with other texts in place of some of its parts: (start, end, instead), from the first to the last."""
    pieces: list[str] = []
    done = 0
    for start, end, instead in edits:
        pieces += (text[done:start], instead)
        done = end
    return "".join([*pieces, text[done:]])


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with spaces in place of some of its parts: (start, end), from the first to the last. Places stay."""
    return spliced(text, ((start, end, " " * (end - start)) for start, end in spans))


class Source:
    r"""A query's text.

    ``original`` is what the client sent; ``text`` has ``\uXXXX`` and ``\UXXXXXXXX`` decoded (SPARQL 1.1
    section 19.2). All offsets in this package are offsets into ``text``; ``place`` tells line and column
    in ``original``. Escapes of surrogates and of what lies beyond U+10FFFF are left as they are: no
    grammar rule accepts them.
    """

    def __init__(self, original: str) -> None:
        self.original = original
        # Parallel: from _decoded[i] on, text runs alongside original from _encoded[i] on.
        self._decoded = [0]
        self._encoded = [0]
        self.text = self._decode() if "\\" in original else original

    def _decode(self) -> str:
        parts: list[str] = []
        done = length = 0
        for match in _ESCAPE.finditer(self.original):
            digits = match[1] or match[2]
            if digits is None:
                continue
            codepoint = int(digits, 16)
            if codepoint > 0x10FFFF or 0xD800 <= codepoint <= 0xDFFF:
                continue
            character = _STRING_ESCAPES.get(chr(codepoint), chr(codepoint))
            parts += (self.original[done : match.start()], character)
            length += match.start() - done
            self._decoded += (length, length + len(character))
            self._encoded += (match.start(), match.end())
            length += len(character)
            done = match.end()
        return "".join(parts) + self.original[done:]

    @property
    def escapes(self) -> Sequence[int]:
        """The offsets of the characters that were escaped."""
        return self._decoded[1::2]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, in the original text. A column is a count of code points."""
        segment = bisect_right(self._decoded, offset) - 1
        encoded = self._encoded[segment] + offset - self._decoded[segment]
        if segment + 1 < len(self._encoded):
            encoded = min(encoded, self._encoded[segment + 1])
        return _place(self._lines, min(encoded, len(self.original)))

    @cached_property
    def _lines(self) -> Sequence[int]:
        # Found once: each window of a query has a place, and a text has some megabytes.
        return line_starts(self.original)

    def error(self, detail: str, offset: int, kind: type[ProtocolError] = QuerySyntaxError) -> ProtocolError:
        """An error of this kind at this offset; the detail ends with the place."""
        line, column = self.place(offset)
        return kind(f"{detail} (line {line}, column {column})", line=line, column=column)
