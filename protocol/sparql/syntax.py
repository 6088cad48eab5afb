"""Whether a text is a SPARQL query; Oxigraph's parser is the judge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyoxigraph

from protocol.sparql.corrections import lower_case_booleans
from protocol.sparql.iris import is_absolute
from protocol.sparql.tokens import Token, TokenKind, tokenize

_PLACE = re.compile(r"error at (\d+):(\d+): ")
# Words in the parser's list of what it expected that tell what is wrong, not which token it wanted.
_REASON = re.compile(r"\b[A-Z]\w*(?: [\w*.']+){3,}")
# Longer than any keyword of SPARQL, see _locate.
_GAP = " " * 40
# Marks of SPARQL 1.2 that are cut in two by SPARQL 1.1's tokens, and must not be torn apart.
_GLUED = frozenset({"<<", ">>", "<(", ">)", ")>", "{|", "|}"})

_SAID = {
    "?": "a variable", "<": "an IRI", '"': "a string", "(": "(", "[": "[", "{": "{", "}": "}", ")": ")", "]": "]",
    ".": ".", ";": ";", ",": ",", "*": "*", "=": "=",
}  # fmt: skip
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)+)"')


class Fault(NamedTuple):
    """What is wrong, and the offset where."""

    detail: str
    offset: int


class _WellFormed(Exception):
    """The parser has accepted the text, and evaluation was about to begin."""


class _NeverEvaluate:
    """Given as the query's named graphs, which Oxigraph reads between parsing and evaluating."""

    def __iter__(self) -> Iterator[pyoxigraph.NamedNode]:
        raise _WellFormed


def find_fault(text: str) -> Fault | None:
    """The first fault of a text as a SPARQL query, or None. Nothing is evaluated or fetched."""
    text = lower_case_booleans(text)  # keywords have no case (Query section 19.8), and the parser knows these in one
    message = _parse(text)
    if message is None:
        return None
    token, located = _locate(text, message)
    reason = _REASON.search(located)
    if token.kind is TokenKind.IRI and not is_absolute(token.text[1:-1]):
        detail = f"{token.shown} is relative: write an absolute IRI, or BASE"
    elif token.kind is TokenKind.IRI and "IRI parsing failed" in located:
        detail = f"{token.shown} is not an IRI"
    elif token.kind is TokenKind.PREFIXED_NAME and "Prefix not found" in located:
        prefix = token.text.partition(":")[0]
        detail = f"the prefix {prefix}: is not declared: write PREFIX {prefix}: <…>"
    elif reason:
        detail = reason[0].rstrip(".")
    else:
        wanted = _wanted(text[: token.start])
        detail = f"unexpected {token.shown}" + (f": expected {wanted}" if wanted else "")
    return Fault(detail, token.start)


def _parse(text: str) -> str | None:
    try:
        pyoxigraph.Store().query(text, named_graphs=_NeverEvaluate())  # type: ignore[arg-type]
    except _WellFormed:
        return None
    except SyntaxError as error:
        return str(error)
    raise AssertionError("the SPARQL parser evaluated a query that was to be checked only")


def _locate(text: str, message: str) -> tuple[Token, str]:
    """The token at which parsing stopped, and the parser's message about it.

    The parser reports a keyword that is missing as many characters too late as the keyword is long. So
    the text is parsed once more with wide gaps between its tokens: then the place lies after the start
    of the right token and before the next.
    """
    tokens = tokenize(text)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and not _belong_together(before, token):
            parts.append(_GAP)
            length += len(_GAP)
        starts.append(length)
        parts.append(token.text)
        length += len(token.text)
    spread = "".join(parts)
    again = _parse(spread)
    if again is None:
        return _token_before(tokens, [token.start for token in tokens], _offset(text, message)), message
    return _token_before(tokens, starts, _offset(spread, again)), again


def _belong_together(before: Token, token: Token) -> bool:
    if token.kind is TokenKind.LANGUAGE_TAG or "^^" in (before.text, token.text):
        return True
    return before.end == token.start and before.text[-1:] + token.text[:1] in _GLUED


def _token_before(tokens: list[Token], starts: list[int], offset: int) -> Token:
    return max(
        (pair for pair in zip(starts, tokens, strict=True) if pair[0] <= offset),
        key=lambda pair: pair[0],
        default=(0, tokens[0]),
    )[1]


def _offset(text: str, message: str) -> int:
    match = _PLACE.match(message)
    if match is None:
        return 0
    line, column = int(match[1]), int(match[2])
    offset = 0
    for _ in range(line - 1):
        offset = text.index("\n", offset) + 1
    return offset + column - 1


def _wanted(beginning: str) -> str:
    """What could stand after the beginning of a query: what the parser asks for where the text breaks off."""
    beginning = beginning.rstrip() + " "
    message = _parse(beginning)
    if message is None or _offset(beginning, message) < len(beginning):
        return ""
    found = set(_LITERAL.findall(message))
    said = [name for mark, name in _SAID.items() if mark in found]
    if "+" in found and "." in said:
        # Both begin a number there; the full stop ends nothing.
        said[said.index(".")] = "a number"
    return f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else "".join(said)
