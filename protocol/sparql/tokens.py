"""The tokens of SPARQL 1.1 (section 19.8, the terminals of the grammar)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto


class TokenKind(Enum):
    """Kinds of tokens. A WORD is a keyword, known or not; ILLEGAL is what starts no token."""

    IRI = auto()
    PREFIXED_NAME = auto()
    VARIABLE = auto()
    BLANK_NODE = auto()
    STRING = auto()
    LANGUAGE_TAG = auto()
    NUMBER = auto()
    WORD = auto()
    PUNCTUATION = auto()
    ILLEGAL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, its text as written, where that starts (offset in code points), and how many curly brackets
    are open before it.
    """

    kind: TokenKind
    text: str
    start: int
    depth: int = field(default=0, compare=False)

    @property
    def end(self) -> int:
        """The offset right after the token."""
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The keyword in upper case, or an empty string for every other kind of token."""
        return self.text.upper() if self.kind is TokenKind.WORD else ""

    @property
    def shown(self) -> str:
        """The token as an error message names it."""
        if self.kind is TokenKind.END:
            return "the end of the query"
        return self.text if len(self.text) <= 60 else self.text[:57] + "…"


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_U = _BASE + "_"
_CHARS = _U + "0-9\\-\u00b7\u0300-\u036f\u203f\u2040"
_PLX = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
# Looks ahead for the colon, and not farther than any prefix is long: a run of hyphens or full stops is cut into
# many tokens, and reading all of it at each of them would take quadratic time.
_PREFIX = rf"(?=[{_CHARS}.]{{1,1000}}+:)[{_BASE}](?:\.*+[{_CHARS}])*+"
_LOCAL = rf"(?:[{_U}:0-9]|{_PLX})(?:[{_CHARS}:]++|{_PLX}|\.++(?=[{_CHARS}:]|{_PLX}))*+"

_IRI_REST = r"""[^<>"{}|^`\\\x00-\x20]+"""

_MALFORMED_IRI = re.compile(r"""<[A-Za-z][A-Za-z0-9+.-]*:[^<>\r\n"{}|^`\\ ]*(?P<wrong>["{}|^`\\ ])[^<>\r\n]*>""")

_ESCAPE = re.compile(r"""\\["'\\]""")

_SKIPPED = re.compile(r"(?:[ \t\r\n\u00a0]+|#[^\r\n]*)+")

_TOKEN = re.compile(
    rf"""
      (?P<IRI>            <(?:[^<>"{{}}|^`\\\x00-\x20]++|\\u[0-9A-Fa-f]{{4}}|\\U[0-9A-Fa-f]{{8}})*+> )
    | (?P<STRING>         \"\"\"(?:[^"\\]++|\\.|"(?!\"\"))*+\"\"\"
                        | '''(?:[^'\\]++|\\.|'(?!''))*+'''
                        | "(?:[^"\\\r\n]++|\\[^\r\n])*+"
                        | '(?:[^'\\\r\n]++|\\[^\r\n])*+' )
    | (?P<VARIABLE>       [?$][{_U}0-9][{_U}0-9\u00b7\u0300-\u036f\u203f\u2040]* )
    | (?P<BLANK_NODE>     _:[{_U}0-9](?:[{_CHARS}.]*[{_CHARS}])? )
    | (?P<LANGUAGE_TAG>   @[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)? )
    | (?P<PREFIXED_NAME>  (?:{_PREFIX})?:(?:{_LOCAL})? )
    | (?P<NUMBER>         [+\-]?(?:[0-9]++(?:\.[0-9]*+)?+[eE][+\-]?[0-9]++|\.[0-9]++[eE][+\-]?[0-9]++
                        |[0-9]*+\.[0-9]++|[0-9]++) )
    | (?P<WORD>           [A-Za-z_][A-Za-z0-9_]* )
    | (?P<PUNCTUATION>    <<\(|<<(?!{_IRI_REST}>)|\)>>|>>|\{{\||\|\}}
                        |\^\^|&&|\|\||!=|<=|>=|[{{}}()\[\].,;*/+\-|^?!=<>~] )
    """,
    re.VERBOSE | re.DOTALL,
)


def skip(text: str, offset: int) -> int:
    """The offset of the first character from ``offset`` on that is neither white space nor in a comment."""
    match = _SKIPPED.match(text, offset)
    return match.end() if match else offset


def closings(found: Sequence[Token]) -> dict[int, int]:
    """The index of the bracket that closes it, by that of each curly one that is closed."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(found):
        if token.text == "{":
            opened.append(index)
        elif token.text == "}" and opened:
            pairs[opened.pop()] = index
    return pairs


def iri_fault(text: str, offset: int) -> str | None:
    """What keeps ``<http://example.org/a b>``, which begins there, from being an IRI (IRIREF, Query section 19.8)."""
    found = _MALFORMED_IRI.match(text, offset)
    if found is None:
        return None
    wrong = found["wrong"]
    shown = "a space" if wrong == " " else wrong
    return f"{found[0]} is not an IRI: {shown} is written %{ord(wrong):02X} in one"


def illegal_fault(character: str) -> str:
    """What is wrong with a token that is ILLEGAL."""
    if character in "\"'":
        return f"the string that begins with {character} is not closed in its line: close it, or use {character * 3}"
    if character == "\\":
        return "\\ stands in strings and names only, and before u or U with 4 or 8 hexadecimal digits"
    return f"{character!r} starts nothing that SPARQL knows"


def tokenize(text: str) -> list[Token]:
    """The tokens of a text (``tokens``)."""
    return list(tokens(text))


def outside_brackets(text: str, also: Callable[[Token], bool] = lambda token: False) -> list[Token]:
    """The tokens of a text with no curly bracket around them, those brackets themselves, and ``also`` others; no END.

    What is within is data, of which an update has as much as a body has: a list of it would take many times that.
    """
    return [one for one in tokens(text) if one.kind is not TokenKind.END and (not one.depth or also(one))]


def with_neighbours(found: Iterable[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    """Each token between the one before it and the one behind it, None where there is none."""
    before, token = None, None
    for following in found:
        if token is not None:
            yield before, token, following
        before, token = token, following
    if token is not None:
        yield before, token, None


def tokens(text: str, offset: int = 0) -> Iterator[Token]:
    """The tokens of a text from an offset on, white space and comments left out, with one END token at its end.

    Never fails: what is no token is ILLEGAL, a character each. A quotation mark that is never closed is
    such a character too. Behind one, an escape is ILLEGAL as a whole: if each of many escaped quotation marks
    were looked at as the beginning of a string, that would take quadratic time.
    """
    offset, depth = skip(text, 1 if offset == 0 and text.startswith("\ufeff") else offset), 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            end = offset + 2 if _ESCAPE.match(text, offset) else offset + 1
            token = Token(TokenKind.ILLEGAL, text[offset:end], offset, depth)
        else:
            assert match.lastgroup is not None
            depth -= match[0] == "}" and depth > 0
            token = Token(TokenKind[match.lastgroup], match[0], offset, depth)
            depth += match[0] == "{"
        yield token
        offset = skip(text, token.end)
    yield Token(TokenKind.END, "", len(text), depth)
