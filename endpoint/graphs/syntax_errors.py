"""Why Oxigraph refuses a text, said with the place.

Its own parser names places far behind the fault, so rdflib's is asked as well; only for texts that
were refused, so that the second parser costs nothing where all is well.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pyoxigraph as ox

from protocol.errors import ProtocolError, QuerySyntaxError
from protocol.sparql.guard import refuse_excess
from protocol.sparql.lexemes import LexemeKind, lexemes, place

_OXIGRAPH = re.compile(r"error at (\d+):(\d+): (?:expected (?:one of )?)?(.*)", re.DOTALL)
_PHRASE = re.compile(r"[A-Z][A-Za-z]+(?: [A-Za-z]+){2,}")
_LONGEST = 10_000
_DEEPEST = 30
_EXCERPT = 40


class UpdateSyntaxError(ProtocolError):
    """The text is not a SPARQL 1.1 update."""

    title = "Syntax error in the update"


def syntax_error(text: str, raised: SyntaxError, *, update: bool) -> ProtocolError:
    """The error to answer with, for what ``Store.query`` or ``Store.update`` raised on this text."""
    problem = UpdateSyntaxError if update else QuerySyntaxError
    match = _OXIGRAPH.match(str(raised))
    line: int | None = int(match[1]) if match else None
    column: int | None = int(match[2]) if match else None
    phrase = _PHRASE.search(match[3] if match else str(raised))
    known = phrase.group() if phrase else None
    if known == "Prefix not found":
        undeclared = _undeclared_prefix(text)
        if undeclared is not None:
            prefix, start = undeclared
            line, column = place(text, start)
            return problem(
                f"the prefix {prefix}: is not declared: add PREFIX {prefix}: <…> at the top", line=line, column=column
            )
    if not text.strip():
        return problem("the text is empty", line=1, column=1)
    continuous = None if update else _of_streams(text)
    if continuous is not None:
        detail, start = continuous
        line, column = place(text, start)
        return problem(f"{detail}: add FROM STREAM <stream> [RANGE 10s]", line=line, column=column)
    if len(text) <= _LONGEST and _nesting(text) <= _DEEPEST:
        offset, reason = _second_opinion(text, update)
        if offset is not None:
            rest = text[offset:].strip()
            line, column = place(text, offset)
            if not rest:
                return problem("the text ends too early: something is missing or not closed", line=line, column=column)
            excerpt = rest if len(rest) <= _EXCERPT else rest[:_EXCERPT] + "…"
            kind = "a SPARQL 1.1 update" if update else "a SPARQL 1.1 query"
            return problem(f"this is not {kind} any more from here on: {excerpt}", line=line, column=column)
        known = reason or known
    return problem(known or "the text is well-formed, but breaks a rule of SPARQL 1.1", line=line, column=column)


def _undeclared_prefix(text: str) -> tuple[str, int] | None:
    declared: set[str] = set()
    keyword = ""
    for lexeme in lexemes(text):
        if lexeme.kind is LexemeKind.NAME:
            prefix = lexeme.text.partition(":")[0]
            if keyword == "PREFIX":
                declared.add(prefix)
            elif prefix not in declared:
                return prefix, lexeme.start
        keyword = lexeme.keyword
    return None


def _of_streams(text: str) -> tuple[str, int] | None:
    """What the text has of the language of streams, though it reads none."""
    for lexeme, following in pairwise(lexemes(text)):
        if lexeme.keyword == "TIMESTAMP" and following.text == "(":
            return "timestamp() is the time of streamed triples, and this query reads no stream", lexeme.start
        if lexeme.keyword == "AGGREGATE":
            return "AGGREGATE belongs to queries over streams; without one there is GROUP BY", lexeme.start
    return None


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "({[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")}]":
            depth -= 1
    return deepest


def _second_opinion(text: str, update: bool) -> tuple[int | None, str | None]:
    """Where rdflib's parser stops, or else what its translation to the algebra complains of."""
    from pyparsing import ParseException
    from rdflib.plugins.sparql.algebra import translateQuery, translateUpdate
    from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

    # The parser widens tabs, which would shift every place behind one.
    flat = text.replace("\t", " ")
    try:
        if update:
            translateUpdate(parseUpdate(flat))
        else:
            translateQuery(parseQuery(flat))
    except ParseException as stopped:
        return min(stopped.loc, len(text)), None
    except RecursionError:
        return None, None
    except Exception as complaint:  # the translation raises bare Exceptions with a message
        return None, str(complaint) or None
    return None, None


def require_update(text: str, base: str | None) -> None:
    """Raise UpdateSyntaxError unless Oxigraph reads the text as an update; nothing of it is done."""
    refuse_excess(text)
    words = (lexeme for lexeme in lexemes(text) if lexeme.kind is LexemeKind.WORD)
    first = next((word.start for word in words if word.keyword not in ("BASE", "PREFIX")), len(text))
    try:
        # All is read before the first operation runs, and that fails: there is no such graph.
        guarded = f"{text[:first]}DROP GRAPH <urn:x-sparql-streams:none> ; {text[first:]}"
        ox.Store().update(guarded, base_iri=base)
    except SyntaxError as error:
        raise syntax_error(text, error, update=True) from None
    except RuntimeError:
        return
