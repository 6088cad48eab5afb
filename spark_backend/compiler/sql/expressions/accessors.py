"""Functions on terms that read what is written there (SPARQL 1.1 Query section 17.4.2), natively.

They see the literals of the stream as they came: STR("3.0e0") is "3.0e0", and the datatype of an
xsd:int is xsd:int, where a store that normalises its literals has forgotten both.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.terms import RDF_LANG_STRING, XSD, TermKind
from spark_backend.compiler.sql.relation import quote
from spark_backend.compiler.sql.values import Value, of_truth

_LANG_STRING = f"<{RDF_LANG_STRING}>"
_IRI, _BLANK, _STRING, _LANGUAGE = (
    f"{kind:d}" for kind in (TermKind.IRI, TermKind.BLANK_NODE, TermKind.STRING, TermKind.LANGUAGE_STRING)
)


def _str(value: Value) -> Value:
    term = (
        f"(CASE WHEN {value.kind} = {_STRING} THEN {value.term} "
        f"WHEN {value.kind} = {_IRI} THEN '\"' || ({value.term})[2:-2] || '\"' "
        f"WHEN {value.kind} < {_IRI} THEN regexp_replace({value.term}, '\"[^\"]*$', '\"') END)"
    )
    return Value(term, f"(CASE WHEN {value.kind} <= {_IRI} THEN {_STRING} END)", "NULL::DOUBLE")


def _lang(value: Value) -> Value:
    term = (
        f"(CASE WHEN {value.kind} = {_LANGUAGE} THEN '\"' || regexp_extract({value.term}, '@([^\"]*)$', 1) || '\"' "
        f"WHEN {value.kind} < {_IRI} THEN '\"\"' END)"
    )
    return Value(term, f"(CASE WHEN {value.kind} < {_IRI} THEN {_STRING} END)", "NULL::DOUBLE")


def _datatype(value: Value) -> Value:
    term = (
        f"(CASE WHEN {value.kind} = {_STRING} THEN {quote(f'<{XSD}string>')} "
        f"WHEN {value.kind} = {_LANGUAGE} THEN {quote(_LANG_STRING)} "
        f"WHEN {value.kind} < {_IRI} THEN regexp_extract({value.term}, '\\^\\^(<[^\"]*>)$', 1) END)"
    )
    return Value(term, f"(CASE WHEN {value.kind} < {_IRI} THEN {_IRI} END)", "NULL::DOUBLE")


ACCESSORS: dict[str, Callable[[Value], Value]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "ISIRI": lambda value: of_truth(f"({value.kind} = {_IRI})"),
    "ISURI": lambda value: of_truth(f"({value.kind} = {_IRI})"),
    "ISBLANK": lambda value: of_truth(f"({value.kind} = {_BLANK})"),
    "ISLITERAL": lambda value: of_truth(f"({value.kind} < {_IRI})"),
}
