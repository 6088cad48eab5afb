"""Refusals, and where in the text of the query is what they refuse."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.functions.aggregates import PAIR
from protocol.functions.geosparql import GEOSPARQL
from protocol.functions.python_functions import PythonFunctions
from protocol.functions.table import FUNCTIONS
from protocol.language import algebra as a
from protocol.language.model import Form
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, tokenize
from protocol.terms import XSD

_CASTS: tuple[str, ...] = ("boolean", "integer", "decimal", "float", "double", "string", "dateTime")
_CASTS += ("date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
_CASTS += ("gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay")
_ARGUMENTS = {f"{XSD}{name}": 1 for name in _CASTS} | {iri: known.arguments for iri, known in FUNCTIONS.items()}
_ARGUMENTS |= GEOSPARQL
"""How many a function takes, by its IRI: the casts that Oxigraph knows, ours, and GeoSPARQL's that Oxigraph knows."""

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_SIGNS = ("!", "-", "+")


class NotCompilable(UnsupportedFeature):
    """The compiler does not evaluate it. ``place`` is the offset in the text; without one it is the query form's."""

    def __init__(self, detail: str, place: int | None = None) -> None:
        super().__init__(detail)
        self.place = place


class TooDeep(NotCompilable):
    """The query nests too deeply."""


def refuse_what_is_not_compiled(pattern: a.Pattern, functions: PythonFunctions) -> None:
    """Raise NotCompilable for functions that are not known or have other arguments.

    Known are also the application's own, whose numbers of arguments nobody knows.
    """
    patterns_of_functions = {f"<{iri}>" for iri in functions.one_shot_only}
    for node in a.nodes(pattern):
        if isinstance(node, a.BGP) and patterns_of_functions:
            for triple in node.triples:
                for term in (triple.predicate, triple.object):
                    if isinstance(term, a.Constant) and term.text in patterns_of_functions:
                        raise NotCompilable(f"{term.text} is a function of rows, and works in one-shot queries only")
        if isinstance(node, a.Call) and node.name.startswith("<") and node.name.endswith(">"):
            _check_function(node.name[1:-1], node, functions)


def _check_function(iri: str, call: a.Call, functions: PythonFunctions) -> None:
    if iri in functions or iri == PAIR:
        return
    if iri in functions.one_shot_only:
        raise NotCompilable(
            f"the function <{iri}> gives rows, not a term, and works in one-shot queries only", call.place
        )
    wanted = _ARGUMENTS.get(iri)
    if wanted is None:
        near = [known for known in (*_ARGUMENTS, *functions.functions) if known.lower() == iri.lower()]
        known = (
            f"do you mean <{near[0]}>?"
            if near
            else "known are casts to XML Schema's datatypes, XPath's math: and GeoSPARQL's geof:"
        )
        raise NotCompilable(f"the function <{iri}> is not known: {known}", call.place)
    if len(call.arguments) != wanted:
        plural = "s" * (wanted != 1)
        raise NotCompilable(
            f"the function <{iri}> takes {wanted} argument{plural}, not {len(call.arguments)}", call.place
        )


def with_place(error: ProtocolError, text: str) -> ProtocolError:
    """The error with line and column in ``text``, which is the query as it was sent."""
    if not isinstance(error, NotCompilable):
        return error
    source = Source(text)
    place = error.place
    if place is None:
        tokens = tokenize(source.text)
        place = (_deepest(tokens) if isinstance(error, TooDeep) else _form(tokens)).start
    return source.error(error.detail, place, UnsupportedFeature)


def _form(tokens: Sequence[Token]) -> Token:
    return next((token for token in tokens if token.word in frozenset(Form)), tokens[0])


def _deepest(tokens: Sequence[Token]) -> Token:
    """Where brackets and signs nest most."""
    found, most, open_, signs = tokens[0], 0, 0, 0
    for token in tokens:
        signs = signs + 1 if token.text in _SIGNS else 0
        open_ += (token.text in _OPENING) - (token.text in _CLOSING)
        if open_ + signs > most:
            found, most = token, open_ + signs
    return found
