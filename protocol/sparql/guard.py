"""What a request may make the server do: fetch only allowed addresses, and never exhaust the query engine's stack.

SERVICE (SPARQL 1.1 Federated Query) and LOAD (SPARQL 1.1 Update section 3.1.4) are found in the text
before it is evaluated, because the engine would open the connection by itself. The check errs on the
side of refusing: parsers that do not ask for a boundary after a keyword read ``SERVICEex:a`` as
SERVICE followed by ``ex:a``, so prefixes are looked at as well where a keyword may stand. What is
allowed is written into the text as an absolute IRI: the engine then fetches the address that was checked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.sparql.iris import named_iris
from protocol.sparql.prologue import after_prologue
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, tokenize, tokens, with_neighbours

MAXIMUM_NESTING = 500
MAXIMUM_TOKENS = 40_000
_HARMLESS_LENGTH = 10_000
_OPENING, _CLOSING = frozenset({*"({[", "<<(", "<<", "{|"}), frozenset({*")}]", ")>>", ">>", "|}"})
_BEFORE_A_GRAPH_NAME = frozenset({"GRAPH", "FROM", "NAMED", "WITH", "USING", "INTO", "TO", "COPY", "MOVE", "ADD"})

_FORMS = frozenset({"SELECT", "CONSTRUCT", "ASK", "DESCRIBE"})
_NOTHING_ALLOWED = "no request makes this server fetch an address (the setting allow_fetch names exceptions)"
_INSTEAD_OF_SERVICE = "query the other endpoint directly, or load its data into a graph here first"


class FetchRefused(ProtocolError):
    """Understood, and not done by this server whoever asks."""

    status = 403
    title = "Refused"
    refusal = "fetch"


class TooComplex(ProtocolError):
    """The text is nested too deeply, or has too many operators, to be evaluated safely."""

    title = "The query is too complex"
    refusal = "too_complex"


def permitted_query(text: str, allowed: AllowList = NOTHING, *, base: str | None = None) -> str:
    """The query with the address of each SERVICE written as an absolute IRI; unchanged where there is none.

    Raises FetchRefused, with the place, for a SERVICE whose address is not on the list, or is a variable where the
    list does not hold everything.
    """
    if "service" not in text.casefold():
        return text
    found = tokenize(text)[:-1]
    prologue = text[: next((one.start for one in found if one.word in _FORMS), 0)]
    edits: list[tuple[int, int, str]] = []
    for index, (before, token, following) in enumerate(with_neighbours(found)):
        if not is_service(before, token, following):
            continue
        if not allowed:
            raise _refused(text, token, f"SERVICE is refused: {_NOTHING_ALLOWED}; {_INSTEAD_OF_SERVICE}")
        name = name_after(found, index, "SERVICE")
        if name is None:
            raise _refused(text, token, "SERVICE is refused: write SERVICE [SILENT] <iri> {…}, with spaces between")
        if name.kind is TokenKind.VARIABLE:
            if not allowed.everything:
                raise _refused(
                    text, name, "SERVICE with a variable is refused: this server fetches certain addresses only; "
                    "name one by its IRI",
                )  # fmt: skip
            continue
        iri = resolved(prologue, name.text, base)
        if iri is None:
            raise _refused(text, name, f"SERVICE is refused: the address {name.text} cannot be resolved")
        if not allowed.permits(iri):
            raise _refused(text, name, f"SERVICE is refused: this server may not fetch <{iri}>; {_INSTEAD_OF_SERVICE}")
        edits.append((name.start, name.end, f"<{iri}>"))
    return spliced(text, edits)


def service_names(query: str) -> list[str]:
    """What a query names its services by, as it is written there: IRIs and variables, each once."""
    if "service" not in query.casefold():
        return []
    found = tokenize(query)[:-1]
    named = (
        name_after(found, index, "SERVICE")
        for index, neighbours in enumerate(with_neighbours(found))
        if is_service(*neighbours)
    )
    return list(dict.fromkeys(name.text for name in named if name is not None))


def refuse_services(update: str) -> None:
    """Raise FetchRefused, with the place, for a SERVICE in an update, whatever is allowed.

    The engine waits for a service without end, and an update that waits holds up all others.
    """
    if "service" not in update.casefold():
        return
    # No list of them all: an update may be as long as any body.
    for before, token, following in with_neighbours(tokens(update)):
        if is_service(before, token, following):
            raise _refused(
                update, token, "SERVICE is refused in updates: ask for the data in a query, then send INSERT DATA"
            )


def refuse_in_patterns(update: str, refused: Collection[str] | None, detail: str, base: str | None) -> None:
    """Raise UnsupportedFeature, with the place, for one of these IRIs in a WHERE of an update that has one prologue.

    ``refused`` None: for any WHERE. DELETE WHERE has no patterns but its triples, and is left alone.
    """
    if "where" not in update.casefold():
        return
    names: dict[str, Token] = {}
    in_patterns = False
    for before, token in pairwise(tokens(update)):
        if token.word and not token.depth:
            in_patterns = token.word == "WHERE" and before.word != "DELETE"
            if in_patterns and refused is None:
                raise error_at(UnsupportedFeature, detail, update, token.start)
        elif in_patterns and token.depth and token.kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
            names.setdefault(token.text, token)
    prologue = update[: after_prologue(update)]
    if refused is None or set(named_iris(prologue, list(names), base) or ()).isdisjoint(refused):
        return
    for name, token in names.items():
        if resolved(prologue, name, base) in refused:
            raise error_at(UnsupportedFeature, f"{token.shown}: {detail}", update, token.start)


def resolved(prologue: str, name: str, base: str | None) -> str | None:
    """The absolute IRI that one IRI or prefixed name stands for (``named_iris``); None if it stands for none."""
    iris = named_iris(prologue, [name], base)
    return iris[0] if iris else None


def name_after(found: Sequence[Token], index: int, keyword: str) -> Token | None:
    """The name in ``KEYWORD [SILENT] name``; None unless it is written so, each word by itself."""
    if found[index].word != keyword:
        return None
    index += 1
    if index < len(found) and found[index].word == "SILENT":
        index += 1
    if index == len(found) or found[index].kind not in (TokenKind.IRI, TokenKind.PREFIXED_NAME, TokenKind.VARIABLE):
        return None
    return found[index]


def _refused(text: str, token: Token, detail: str) -> FetchRefused:
    return error_at(FetchRefused, detail, text, token.start)


def is_service(before: Token | None, token: Token, following: Token | None) -> bool:
    """Whether the engine may read the keyword SERVICE here."""
    if token.kind is TokenKind.WORD:
        return "SERVICE" in token.word
    if token.kind is not TokenKind.PREFIXED_NAME or "service" not in token.text.partition(":")[0].casefold():
        return False
    # A prefixed name is followed by { only where it names a graph, or where its prefix hides SERVICE.
    followed = following is not None and following.text == "{"
    return followed and (before is None or before.word not in _BEFORE_A_GRAPH_NAME)


def is_load(before: Token | None, token: Token) -> bool:
    """Whether the engine may read the keyword LOAD here."""
    if token.kind is TokenKind.WORD:
        return "LOAD" in token.word
    if (
        token.kind is not TokenKind.PREFIXED_NAME
        or token.depth
        or "load" not in token.text.partition(":")[0].casefold()
    ):
        return False
    # An operation begins the text, or follows a semicolon or the IRI of a prologue.
    return before is None or before.kind is TokenKind.IRI or before.text in (";", "}")


def refuse_excess(text: str) -> None:
    """Raise TooComplex for text that would exhaust the engine's stack; flat data (VALUES, DATA) may be long."""
    if len(text) <= _HARMLESS_LENGTH:
        return
    nesting = counted = 0
    keyword, flat_above = "", -1
    for token in tokens(text):
        if token.kind is TokenKind.WORD:
            keyword = token.word
        if token.text in _OPENING:
            nesting += 1
            if token.text == "{" and keyword in ("VALUES", "DATA") and flat_above < 0:
                flat_above = nesting
            if nesting > MAXIMUM_NESTING:
                raise error_at(TooComplex, f"more than {MAXIMUM_NESTING} brackets are open here", text, token.start)
        elif token.text in _CLOSING:
            if nesting == flat_above:
                flat_above = -1
            nesting -= 1
        if flat_above < 0:
            counted += 1 + (token.kind is TokenKind.NUMBER and token.text[0] in "+-")  # 1+1 is a sum, too
            if counted > MAXIMUM_TOKENS:
                raise TooComplex(f"more than {MAXIMUM_TOKENS} words and signs outside of VALUES and DATA")
