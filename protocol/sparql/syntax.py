"""Whether a text is a SPARQL query or update, and if not, what is wrong with it and where.

Oxigraph's parser is the judge: of one-shot queries, of updates, and of what a continuous query is in standard SPARQL.
Nothing is evaluated, changed or fetched here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import pyoxigraph

from protocol.errors import ProtocolError, QuerySyntaxError, UpdateSyntaxError
from protocol.formats.media_types import SPARQL_QUERY
from protocol.sparql.corrections import escapes_of_names, lower_case_booleans, readable, readable_names
from protocol.sparql.guard import refuse_excess
from protocol.sparql.iris import is_absolute
from protocol.sparql.prologue import after_prologue
from protocol.sparql.source import Source, spliced
from protocol.sparql.tokens import Token, TokenKind, illegal_fault, iri_fault, tokenize

_PLACE = re.compile(r"error at (\d+):(\d+): ")
# Words in the parser's list of what it expected that tell what is wrong, not which token it wanted.
_REASON = re.compile(r"\b[A-Z]\w*(?: [\w*.']+){3,}")
# Longer than any keyword of SPARQL, see _locate.
_GAP = " " * 40
# Longer texts are parsed only once: the place is then where the parser stopped, which may be a little late.
_LONGEST = 100_000
_SAID = {
    "?": "a variable", "<": "an IRI", '"': "a string", "(": "(", "[": "[", "{": "{", "}": "}", ")": ")", "]": "]",
    ".": ".", ";": ";", ",": ",", "*": "*", "=": "=",
}  # fmt: skip
_RULES = {
    "Variables are not allowed in INSERT DATA": (
        "INSERT DATA has triples without variables, whose subjects are IRIs or blank nodes"
    ),
}
"""What Oxigraph says in fewer words than there are faults of which it says it."""
_QUERIES = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)+)"')

_DECLARATION = re.compile(r"(?:prefix|base|version)\b", re.IGNORECASE)
_NO_OPERATION = "DROP GRAPH <urn:x-sparql-streams:none> ; "

# An IRI with what may stand between two comparisons. The lookahead keeps it from searching where no > follows.
_PERHAPS_OPERATORS = re.compile(r'<(?=[^<>"{}|^`\\\x00-\x20]*+>)[^<>"{}|^`\\\x00-\x20]*?(?:&&|[,)])')
_OPERAND = frozenset({TokenKind.VARIABLE, TokenKind.STRING, TokenKind.NUMBER, TokenKind.LANGUAGE_TAG})
_OPERATOR = re.compile(r"[&,()?$*;!=+]")
ONE_IRI = "from here to the next > is one IRI (the longest match, Query section 19.8): write a space after <"
"""What is wrong with ``?x<?a&&?b>?y``."""


class Fault(NamedTuple):
    """What is wrong, and the offset where. ``late``: that is where the parser has seen it, behind what is wrong."""

    detail: str
    offset: int
    late: bool = False


_NO_RULE = Fault("the text breaks a rule of SPARQL 1.1", 0)
"""Said where Oxigraph refuses a text as it was sent, and not as it is decoded."""


class _Stop(NamedTuple):
    """Where Oxigraph's parser stopped, roughly, and what it said."""

    offset: int
    message: str


_Parse = Callable[[str], _Stop | None]


def query_fault(text: str, base: str | None = None) -> Fault | None:
    """The first fault of a text as a query, or None. Codepoint escapes are to be decoded already (``Source``).

    ``base`` (an absolute IRI) resolves relative IRIs where the text has no BASE.
    """
    text = lower_case_booleans(text)  # keywords have no case (Query section 19.8), and the parser knows these in one
    return _misreading(text, base) or _fault(text, _query_parser(base), "query", base)


def query_error(text: str, base: str | None = None, *, ours: ProtocolError | None = None) -> ProtocolError:
    """The error, with its place, to answer with for a text that Oxigraph does not take for a query.

    ``ours`` is what our own parser raises for it, and the answer where its place is further on, or where Oxigraph has
    only read on from there before it saw that a rule is broken.
    """
    source = Source(text)
    fault = query_fault(source.text, base) or escape_fault(source, tokenize(source.text)) or _NO_RULE
    error = source.error(fault.detail, fault.offset, QuerySyntaxError)
    if ours is None or (fault.late and isinstance(ours, QuerySyntaxError)):
        return ours or error
    return max(ours, error, key=_line_and_column)


def _line_and_column(error: ProtocolError) -> tuple[int, int]:
    return error.line or 0, error.column or 0


def update_error(text: str, base: str | None = None) -> ProtocolError:
    """The error, with its place, to answer with for a text that Oxigraph does not take for an update."""
    source = Source(text)
    fault = _fault(source.text, _update_parser(base), "update", base)
    fault = fault or escape_fault(source, tokenize(source.text)) or _NO_RULE
    return source.error(fault.detail, fault.offset, UpdateSyntaxError)


def require_update(text: str, base: str | None = None) -> None:
    """Raise UpdateSyntaxError, or TooComplex, unless Oxigraph reads the text as an update; nothing of it is done."""
    refuse_excess(text)
    if _update_parser(base)(text) is not None:
        raise update_error(text, base)


def refuse_misreading(text: str, base: str | None = None) -> None:
    """Raise QuerySyntaxError for a text that only Oxigraph takes for a query: it reads an IRI as two comparisons.

    By the longest match (Query section 19.8, note 2) ``<?a&&?b>`` in ``?x<?a&&?b>?y`` is an IRI, between two variables.
    """
    if _PERHAPS_OPERATORS.search(text):
        source = Source(text)
        fault = _misreading(lower_case_booleans(source.text), base)
        if fault is not None:
            raise source.error(fault.detail, fault.offset, QuerySyntaxError)


def iris_like_operators(tokens: Sequence[Token]) -> list[Token]:
    """IRIs that a reader might take for two comparisons: those after an operand, with what may stand between them."""
    return [
        token
        for before, token in pairwise(tokens)
        if token.kind is TokenKind.IRI
        and (before.kind in _OPERAND or before.text == ")")
        and _PERHAPS_OPERATORS.match(token.text)
    ]


class _WellFormed(Exception):
    """The parser has accepted the text, and evaluation was about to begin."""


class _NeverEvaluate:
    """Given as the query's named graphs, which Oxigraph reads between parsing and evaluating."""

    def __iter__(self) -> Iterator[pyoxigraph.NamedNode]:
        raise _WellFormed


def _query_parser(base: str | None) -> _Parse:
    def parse(text: str) -> _Stop | None:
        written = readable_names(text)
        try:
            pyoxigraph.Store().query(written, base_iri=base, named_graphs=_NeverEvaluate())  # type: ignore[arg-type]  # raises
        except _WellFormed:
            return None
        except SyntaxError as error:
            return _Stop(_offset_before(text, _offset(written, str(error))), str(error))
        raise AssertionError("the SPARQL parser evaluated a query that was to be checked only")

    return parse


def _update_parser(base: str | None) -> _Parse:
    in_prologue = _query_parser(base)  # which is the same in queries, and what is wrong with it is found there first

    def parse(text: str) -> _Stop | None:
        # All is read before the first operation runs, and that fails: there is no such graph.
        start = after_prologue(text)
        if _DECLARATION.match(text, start):
            return in_prologue(text)
        guarded = text[:start] + _NO_OPERATION + text[start:]
        written = readable(guarded)
        try:
            pyoxigraph.Store().update(written, base_iri=base)
        except SyntaxError as error:
            offset = _offset_before(guarded, _offset(written, str(error)))
            return _Stop(offset if offset <= start else max(start, offset - len(_NO_OPERATION)), str(error))
        except RuntimeError:
            return None
        raise AssertionError("the SPARQL parser ran an update that was to be checked only")

    return parse


def _fault(text: str, parse: _Parse, what: str, base: str | None) -> Fault | None:
    stop = parse(text)
    if stop is None:
        return None
    if len(text) > _LONGEST:
        reason = _REASON.search(stop.message)
        return Fault(reason[0].rstrip(".") if reason else f"the {what} is not well-formed up to here", stop.offset)
    tokens = tokenize(text)
    if not _PLACE.match(stop.message):  # of a blank node in two operations Oxigraph says which it is, not where
        named = [token.start for token in tokens if token.kind is TokenKind.BLANK_NODE and token.text in stop.message]
        return Fault(stop.message, named[-1] if named else 0)
    token, located = _locate(text, tokens, stop, parse)
    # Of a string or an IRI that is not closed Oxigraph says no more than that the text has ended.
    for before in takewhile(lambda one: one.start <= token.start, tokens):
        if before.kind is TokenKind.ILLEGAL:
            return Fault(illegal_fault(before.text), before.start)
        if before.text == "<" and (detail := iri_fault(text, before.start)):
            return Fault(detail, before.start)
    shown = token.shown if token.kind is not TokenKind.END else f"the end of the {what}"
    reason = _REASON.search(located)
    if token.kind is TokenKind.IRI and base is None and not is_absolute(token.text[1:-1]):
        detail = f"{shown} is relative: write an absolute IRI, or BASE"
    elif token.kind is TokenKind.IRI and "IRI parsing failed" in located:
        detail = f"{shown} is not an IRI"
    elif token.kind is TokenKind.PREFIXED_NAME and (prefix := token.text.partition(":")[0]) not in _prefixes(tokens):
        detail = f"the prefix {prefix}: is not declared: write PREFIX {prefix}: <…>"
    elif what == "update" and token.word in _QUERIES and not any(one.text == "{" for one in _before(tokens, token)):
        detail = f"{shown} begins a query: send it as {SPARQL_QUERY}, or as the parameter query"
    elif reason:
        detail = reason[0].rstrip(".")
        return Fault(_RULES.get(detail, detail), token.start, late=True)
    else:
        wanted = _wanted(text[: token.start], parse)
        detail = f"unexpected {shown}" + (f": expected {wanted}" if wanted else "")
        if token.kind is TokenKind.END and not wanted:
            return Fault(detail, token.start, late=True)
    # Without a sign among what it expected, it has read a part and then found that this may not be there.
    return Fault(detail, token.start, late=not _LITERAL.search(located))


def _before(tokens: Sequence[Token], token: Token) -> Iterator[Token]:
    return takewhile(lambda one: one.start < token.start, tokens)


def _prefixes(tokens: Sequence[Token]) -> set[str]:
    """The prefixes that the text declares."""
    return {name.text[:-1] for keyword, name in pairwise(tokens) if keyword.word == "PREFIX"}


def _locate(text: str, tokens: Sequence[Token], stop: _Stop, parse: _Parse) -> tuple[Token, str]:
    """The token at which parsing stopped, and the parser's message about it.

    The parser reports a keyword that is missing as many characters too late as the keyword is long. So
    the text is parsed once more with wide gaps between its tokens: then the place lies after the start
    of the right token and before the next.
    """
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
    again = parse("".join(parts))
    if again is None or (_REASON.search(stop.message) and not _REASON.search(again.message)):
        return _token_before(tokens, [token.start for token in tokens], stop.offset), stop.message
    return _token_before(tokens, starts, again.offset), again.message


def _belong_together(before: Token, token: Token) -> bool:
    return token.kind is TokenKind.LANGUAGE_TAG or "^^" in (before.text, token.text)


def _token_before(tokens: Sequence[Token], starts: Sequence[int], offset: int) -> Token:
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


def _offset_before(text: str, offset: int) -> int:
    """The offset in a text, of one in ``readable_names`` of it."""
    return offset - sum(place + added < offset for added, place in enumerate(escapes_of_names(text)))


def _wanted(beginning: str, parse: _Parse) -> str:
    """What could stand after the beginning of a text: what the parser asks for where the text breaks off."""
    beginning = beginning.rstrip() + " "
    stop = parse(beginning)
    if stop is None or stop.offset < len(beginning):
        return ""
    found = set(_LITERAL.findall(stop.message))
    said = [name for mark, name in _SAID.items() if mark in found]
    if "+" in found and "." in said:
        # Both begin a number there; the full stop ends nothing.
        said[said.index(".")] = "a number"
    return f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else "".join(said)


def _misreading(text: str, base: str | None) -> Fault | None:
    """The first IRI that Oxigraph alone could take for two comparisons, if the text is no query with an IRI there."""
    if not _PERHAPS_OPERATORS.search(text):
        return None
    perhaps = iris_like_operators(tokenize(text))
    if not perhaps:
        return None
    # With IRIs as long that nobody takes for anything else. Without a base, a relative IRI would be a fault of its own.
    certain = spliced(text, [(token.start, token.end, _OPERATOR.sub("_", token.text)) for token in perhaps])
    fault = _fault(certain, _query_parser(base or "urn:x:"), "query", base)
    return Fault(ONE_IRI, fault.offset) if fault and fault.offset in {token.start for token in perhaps} else None


def escape_fault(source: Source, tokens: Sequence[Token]) -> Fault | None:
    """The first codepoint escape outside of IRIs, strings and comments, where SPARQL 1.2 has none (Query section 19.2).

    SPARQL 1.1 had them anywhere, keywords and brackets too; Oxigraph reads none of these, in updates neither.
    ``tokens`` are those of the decoded text.
    """
    places = iter(tokens)
    token, end = next(places), 0
    for offset in source.escapes:
        while token.end <= offset and token.kind is not TokenKind.END:
            token, end = next(places), token.end
        if token.start <= offset and token.kind in (TokenKind.IRI, TokenKind.STRING):
            continue
        if token.start <= offset < token.end or not _in_comment(source.text, end, offset):
            return Fault("codepoint escapes are read in IRIs and strings only: write the character", offset)
    return None


def _in_comment(text: str, start: int, offset: int) -> bool:
    """Whether a place between two tokens, the first of which ends at ``start``, is in a comment."""
    line = max(text.rfind("\n", start, offset), text.rfind("\r", start, offset), start - 1) + 1
    return "#" in text[line:offset]
