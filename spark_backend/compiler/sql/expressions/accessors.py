"""Functions on terms that read what is written there (SPARQL 1.2 Query sections 17.4.2 and 17.4.6), natively.

They see the literals of the stream as they came: STR("3.0e0") is "3.0e0", and the datatype of an
xsd:int is xsd:int, where a store that normalises its literals has forgotten both.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from protocol.functions.aggregates import PAIR_DATATYPE
from protocol.language.algebra import PARTS_OF_TRIPLES
from protocol.terms import RDF, RDF_LANG_STRING, TRIPLE_BEGIN, TRIPLE_END, XSD, TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Inside, Parentheses, Text, call, choice, equal, every, infix
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import NO_NUMBER, Value, kind_of, of_term, of_truth

_LANG_STRING = f"<{RDF_LANG_STRING}>"
_DIR_LANG_STRING = f"<{RDF}dirLangString>"
_IRI, _BLANK, _STRING, _LANGUAGE, _TRIPLE = map(
    kind_of, (TermKind.IRI, TermKind.BLANK_NODE, TermKind.STRING, TermKind.LANGUAGE_STRING, TermKind.TRIPLE)
)
_OTHER = kind_of(TermKind.OTHER_LITERAL)
_PARTS = Text(rf"(?s)^{re.escape(TRIPLE_BEGIN)}([^ ]+) ([^ ]+) (.*){re.escape(TRIPLE_END)}$".replace(r"\ ", " "))
"""Of a triple term; the first two have no space."""
_NOTHING = Text("")


def _str(value: Value) -> Value:
    term = choice(
        (equal(value.kind, _STRING), value.term),
        (equal(value.kind, _IRI), _quoted(Inside(value.term))),
        (_is_literal(value), call("regexp_replace", value.term, Text('"[^"]*$'), Text('"'))),
    )
    return Value(term, choice((infix(value.kind, "<=", _IRI), _STRING)), NO_NUMBER)


def _lang(value: Value) -> Value:
    language = call("regexp_extract", value.term, Text('@([^"-]*(?:-[^"-]+)*)(?:--[a-z]+)?$'), sql.number(1))
    term = choice((equal(value.kind, _LANGUAGE), _quoted(language)), (_is_literal(value), Text('""')))
    return Value(term, choice((_is_literal(value), _STRING)), NO_NUMBER)


def _direction(value: Value) -> Expression:
    """The base direction, of a literal with a language."""
    return call("regexp_extract", value.term, Text("--(ltr|rtl)$"), sql.number(1))


def _language_direction(value: Value) -> Value:
    term = choice((equal(value.kind, _LANGUAGE), _quoted(_direction(value))), (_is_literal(value), Text('""')))
    return Value(term, choice((_is_literal(value), _STRING)), NO_NUMBER)


def _has_direction(value: Value) -> Value:
    directed = choice((equal(value.kind, _LANGUAGE), infix(_direction(value), "<>", _NOTHING)), otherwise=sql.FALSE)
    return of_truth(choice((sql.IsBound(value.kind), directed)))


def _datatype(value: Value) -> Value:
    written = call("regexp_extract", value.term, Text('\\^\\^(<[^"]*>)$'), sql.number(1))
    term = choice(
        (equal(value.kind, _STRING), Text(f"<{XSD}string>")),
        (every([equal(value.kind, _LANGUAGE), equal(_direction(value), _NOTHING)]), Text(_LANG_STRING)),
        (equal(value.kind, _LANGUAGE), Text(_DIR_LANG_STRING)),
        (_is_literal(value), written),
    )
    return Value(term, choice((_is_literal(value), _IRI)), NO_NUMBER)


def _quoted(text: Expression) -> Expression:
    return sql.Infix("||", (Text('"'), text, Text('"')))


def _is_literal(value: Value) -> Expression:
    return infix(value.kind, "<", _IRI)


def _is_iri(value: Value) -> Value:
    return of_truth(sql.Parentheses(equal(value.kind, _IRI)))


def _part(number: int) -> Callable[[Value], Value]:
    """SUBJECT, PREDICATE or OBJECT, by their number from 1."""

    def part(value: Value) -> Value:
        # Also where a filter is tried on other terms first, what is no triple term has no part.
        found = call("NULLIF", call("regexp_extract", value.term, _PARTS, sql.number(number)), _NOTHING)
        return of_term(choice((equal(value.kind, _TRIPLE), found)))

    return part


def triple_of(subject: Value, predicate: Value, object: Value) -> Value:
    """TRIPLE: an error where the parts make no RDF triple."""
    parts = (Text(TRIPLE_BEGIN), subject.term, Text(" "), predicate.term, Text(" "), object.term, Text(TRIPLE_END))
    fit = [sql.In(subject.kind, (_IRI, _BLANK)), equal(predicate.kind, _IRI), sql.IsBound(object.term)]
    return Value(choice((every(fit), sql.Infix("||", parts))), choice((every(fit), _TRIPLE)), NO_NUMBER)


def pair_of(one: Value, other: Value) -> Value:
    """Two terms as one literal (``protocol.functions.aggregates``), as they are written; an error where one is none."""
    text: Expression = Parentheses(sql.Infix("||", (one.term, Text("\n"), other.term)))
    # Canonical terms have no other characters that are escaped in a literal.
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = call("replace", text, Text(character), Text(escaped))
    term = Parentheses(sql.Infix("||", (Text('"'), text, Text(f'"^^<{PAIR_DATATYPE}>'))))
    return Value(term, choice((sql.IsBound(term), _OTHER)), NO_NUMBER)


ACCESSORS: dict[str, Callable[[Value], Value]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "ISIRI": _is_iri,
    "ISURI": _is_iri,
    "ISBLANK": lambda value: of_truth(sql.Parentheses(equal(value.kind, _BLANK))),
    "ISLITERAL": lambda value: of_truth(sql.Parentheses(_is_literal(value))),
    "ISTRIPLE": lambda value: of_truth(sql.Parentheses(equal(value.kind, _TRIPLE))),
    "LANGDIR": _language_direction,
    "HASLANG": lambda value: of_truth(sql.Parentheses(equal(value.kind, _LANGUAGE))),
    "HASLANGDIR": _has_direction,
    **{name: _part(number) for number, name in enumerate(PARTS_OF_TRIPLES, 1)},
}
