"""What no request may make the server do: fetch an address, or exhaust the stack of the query engine.

SERVICE (SPARQL 1.1 Federated Query) and LOAD (SPARQL 1.1 Update section 3.1.4) are found in the text
before it is evaluated, because the engine would open the connection by itself. The check errs on the
side of refusing: parsers that do not ask for a boundary after a keyword read ``SERVICEex:a`` as
SERVICE followed by ``ex:a``, so prefixes are looked at as well where a keyword may stand.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import ProtocolError
from protocol.formats.sparql_tokens import Kind, Token, place, tokens

MAXIMUM_NESTING = 500
MAXIMUM_TOKENS = 40_000
_HARMLESS_LENGTH = 10_000
_OPENING, _CLOSING = frozenset("({["), frozenset(")}]")
_BEFORE_A_GRAPH_NAME = frozenset({"GRAPH", "FROM", "NAMED", "WITH", "USING", "INTO", "TO", "COPY", "MOVE", "ADD"})


class Refused(ProtocolError):
    """Understood, and not done by this server whoever asks."""

    status = 403
    title = "Refused"


class TooComplex(ProtocolError):
    """The text is nested too deeply, or has too many operators, to be evaluated safely."""

    title = "The query is too complex"


def refuse_fetching(text: str, *, update: bool) -> None:
    """Raise Refused, with the place, if the text would make the server fetch an address."""
    folded = text.casefold()
    if "service" not in folded and not (update and "load" in folded):
        return
    found = list(tokens(text))
    for index, token in enumerate(found):
        if _is_service(found, index):
            keyword, instead = "SERVICE", "query the other endpoint directly, or load its data into a graph here first"
        elif update and _is_load(found, index):
            keyword, instead = "LOAD", "send the data to /graphs (SPARQL 1.1 Graph Store Protocol)"
        else:
            continue
        line, column = place(text, token.start)
        raise Refused(
            f"{keyword} is refused: no request makes this server fetch an address; {instead}", line=line, column=column
        )


def _is_service(found: Sequence[Token], index: int) -> bool:
    token = found[index]
    if token.kind is Kind.WORD:
        return "SERVICE" in token.keyword
    if token.kind is not Kind.NAME or "service" not in token.text.partition(":")[0].casefold():
        return False
    # A prefixed name is followed by { only where it names a graph, or where its prefix hides SERVICE.
    followed = index + 1 < len(found) and found[index + 1].text == "{"
    return followed and (index == 0 or found[index - 1].keyword not in _BEFORE_A_GRAPH_NAME)


def _is_load(found: Sequence[Token], index: int) -> bool:
    token = found[index]
    if token.kind is Kind.WORD:
        return "LOAD" in token.keyword
    if token.kind is not Kind.NAME or token.depth or "load" not in token.text.partition(":")[0].casefold():
        return False
    # An operation begins the text, or follows a semicolon or the IRI of a prologue.
    return index == 0 or found[index - 1].kind is Kind.IRI or found[index - 1].text in (";", "}")


def refuse_excess(text: str) -> None:
    """Raise TooComplex for text that would exhaust the engine's stack; flat data (VALUES, DATA) may be long."""
    if len(text) <= _HARMLESS_LENGTH:
        return
    nesting = counted = 0
    keyword, flat_above = "", -1
    for token in tokens(text):
        if token.kind is Kind.WORD:
            keyword = token.keyword
        if token.kind is Kind.OTHER and token.text in _OPENING:
            nesting += 1
            if token.text == "{" and keyword in ("VALUES", "DATA") and flat_above < 0:
                flat_above = nesting
            if nesting > MAXIMUM_NESTING:
                line, column = place(text, token.start)
                raise TooComplex(f"more than {MAXIMUM_NESTING} brackets are open here", line=line, column=column)
        elif token.kind is Kind.OTHER and token.text in _CLOSING:
            if nesting == flat_above:
                flat_above = -1
            nesting -= 1
        if flat_above < 0:
            counted += 1
            if counted > MAXIMUM_TOKENS:
                raise TooComplex(f"more than {MAXIMUM_TOKENS} words and signs outside of VALUES and DATA")
