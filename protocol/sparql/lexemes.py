"""The lexemes of SPARQL 1.1 text (Query section 19.8), as far as finding keywords outside of literals needs them.

This is no parser: it only tells where strings, IRIs, comments, variables and prefixed names begin
and end, in the greedy way all parsers agree on, so that a word found outside of them is a keyword.
It reads texts of any length as far as is asked, before anything has said that they are SPARQL at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class LexemeKind(StrEnum):
    """What a lexeme is. ``WORD`` is a bare run of ASCII letters: a keyword, ``a``, ``true`` or ``false``."""

    IRI = "iri"
    STRING = "string"
    VARIABLE = "variable"
    BLANK = "blank"
    NAME = "name"
    LANGUAGE = "language"
    WORD = "word"
    OTHER = "other"


class Lexeme(NamedTuple):
    """``text[start:end]`` of the scanned text; ``depth`` counts the curly brackets open before it."""

    kind: LexemeKind
    text: str
    start: int
    end: int
    depth: int

    @property
    def keyword(self) -> str:
        """The word in upper case, or "" for any other lexeme."""
        return self.text.upper() if self.kind is LexemeKind.WORD else ""


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_START = _BASE + "_"
_CHARS = _START + "\\-0-9\u00b7\u0300-\u036f\u203f-\u2040"
_ESCAPE = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = rf"(?:[{_START}:0-9]|{_ESCAPE})(?:(?:[{_CHARS}.:]|{_ESCAPE})*(?:[{_CHARS}:]|{_ESCAPE}))?"

_LEXEME = re.compile(
    rf"""
      (?P<skip>[ \t\r\n]+|\#[^\r\n]*)
    | (?P<iri><[^<>"{{}}|^`\\\x00-\x20]*>|<(?:[^<>"{{}}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}})*>)
    | (?P<string>\"\"\"(?:[^"\\]|\\.|\"{{1,2}}(?!\"))*\"\"\"|'''(?:[^'\\]|\\.|'{{1,2}}(?!'))*'''
                |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    | (?P<variable>[?$][{_START}0-9][{_START}0-9\u00b7\u0300-\u036f\u203f-\u2040]*)
    | (?P<blank>_:[{_START}0-9](?:[{_CHARS}.]*[{_CHARS}])?)
    | (?P<run>[{_BASE}][{_CHARS}.]*+(?!:))
    | (?P<name>(?:[{_BASE}][{_CHARS}.]*+)?:(?:{_LOCAL})?)
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_WORD = re.compile("[A-Za-z]+")


def lexemes(text: str) -> Iterator[Lexeme]:
    """The lexemes of the text in order, without white space and comments. Never fails: what fits nothing is OTHER."""
    depth = 0
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup
        if kind == "skip" or kind is None:
            continue
        if kind == "run":
            # Matched as a whole first, so that no text is scanned more than twice in search of a colon.
            for word in _WORD.finditer(text, match.start(), match.end()):
                yield Lexeme(LexemeKind.WORD, word.group(), word.start(), word.end(), depth)
            continue
        if kind == "other" and match.group() == "}":
            depth = max(depth - 1, 0)
        yield Lexeme(LexemeKind(kind), match.group(), match.start(), match.end(), depth)
        if kind == "other" and match.group() == "{":
            depth += 1
