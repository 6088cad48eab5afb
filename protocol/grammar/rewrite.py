"""Replacing parts of a text while remembering where everything came from."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

_NOT_LINE_END = re.compile(r"[^\r\n]")


def blank(text: str) -> str:
    """Spaces in place of the text; its line ends stay."""
    return _NOT_LINE_END.sub(" ", text)


class Edit(NamedTuple):
    """``text[start:end]`` becomes ``standard`` in the standard query, ``checked`` in the text that is checked."""

    start: int
    end: int
    standard: str
    checked: str


@dataclass(frozen=True)
class Rewritten:
    """A rewritten text; ``offset`` leads back."""

    text: str
    _pieces: tuple[tuple[int, int, bool], ...]  # start here, start in the text before, whether it was copied

    def offset(self, offset: int) -> int:
        """Where in the text before rewriting this offset came from; of a replacement, its start."""
        here, before, copied = self._pieces[bisect_right(self._pieces, offset, key=lambda piece: piece[0]) - 1]
        return before + (offset - here if copied else 0)


class Rewriter:
    """Collects edits of a text. They may be made in any order and must not overlap.

    A part that is removed becomes spaces, and line ends stay, so that lines keep their numbers.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []

    def remove(self, start: int, end: int) -> None:
        """Blank this part out."""
        spaces = blank(self._text[start:end])
        self._edits.append(Edit(start, end, spaces, spaces))

    def replace(self, start: int, end: int, standard: str, checked: str | None = None) -> None:
        """Write ``standard`` here, or ``checked`` in the text that is checked; line ends inside the part stay."""
        line_ends = _NOT_LINE_END.sub("", self._text[start:end])
        self._edits.append(
            Edit(start, end, standard + line_ends, (standard if checked is None else checked) + line_ends)
        )

    def standard(self) -> Rewritten:
        """The standard query."""
        return self._apply("standard")

    def checked(self) -> Rewritten:
        """The text to be checked by a parser of standard SPARQL."""
        return self._apply("checked")

    def _apply(self, which: str) -> Rewritten:
        parts: list[str] = []
        pieces: list[tuple[int, int, bool]] = []
        here = done = 0
        for edit in sorted(self._edits):
            replacement: str = getattr(edit, which)
            kept = self._text[done : edit.start]
            pieces += ((here, done, True), (here + len(kept), edit.start, False))
            parts += (kept, replacement)
            here += len(kept) + len(replacement)
            done = edit.end
        pieces.append((here, done, True))
        return Rewritten("".join((*parts, self._text[done:])), tuple(pieces))
