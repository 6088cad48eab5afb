"""Functions on terms that read what is written there (SPARQL 1.1 Query section 17.4.2), natively.

They see the literals of the stream as they came: STR("3.0e0") is "3.0e0", and the datatype of an
xsd:int is xsd:int, where a store that normalises its literals has forgotten both.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.terms import RDF_LANG_STRING, XSD, TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Inside, Text, call, choice, equal, infix
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import NO_NUMBER, Value, kind_of, of_truth

_LANG_STRING = f"<{RDF_LANG_STRING}>"
_IRI, _BLANK, _STRING, _LANGUAGE = map(
    kind_of, (TermKind.IRI, TermKind.BLANK_NODE, TermKind.STRING, TermKind.LANGUAGE_STRING)
)


def _str(value: Value) -> Value:
    term = choice(
        (equal(value.kind, _STRING), value.term),
        (equal(value.kind, _IRI), _quoted(Inside(value.term))),
        (_is_literal(value), call("regexp_replace", value.term, Text('"[^"]*$'), Text('"'))),
    )
    return Value(term, choice((infix(value.kind, "<=", _IRI), _STRING)), NO_NUMBER)


def _lang(value: Value) -> Value:
    language = call("regexp_extract", value.term, Text('@([^"]*)$'), sql.number(1))
    term = choice((equal(value.kind, _LANGUAGE), _quoted(language)), (_is_literal(value), Text('""')))
    return Value(term, choice((_is_literal(value), _STRING)), NO_NUMBER)


def _datatype(value: Value) -> Value:
    written = call("regexp_extract", value.term, Text('\\^\\^(<[^"]*>)$'), sql.number(1))
    term = choice(
        (equal(value.kind, _STRING), Text(f"<{XSD}string>")),
        (equal(value.kind, _LANGUAGE), Text(_LANG_STRING)),
        (_is_literal(value), written),
    )
    return Value(term, choice((_is_literal(value), _IRI)), NO_NUMBER)


def _quoted(text: Expression) -> Expression:
    return sql.Infix("||", (Text('"'), text, Text('"')))


def _is_literal(value: Value) -> Expression:
    return infix(value.kind, "<", _IRI)


def _is_iri(value: Value) -> Value:
    return of_truth(sql.Parentheses(equal(value.kind, _IRI)))


ACCESSORS: dict[str, Callable[[Value], Value]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "ISIRI": _is_iri,
    "ISURI": _is_iri,
    "ISBLANK": lambda value: of_truth(sql.Parentheses(equal(value.kind, _BLANK))),
    "ISLITERAL": lambda value: of_truth(sql.Parentheses(_is_literal(value))),
}
