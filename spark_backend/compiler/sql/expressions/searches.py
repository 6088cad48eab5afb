"""CONTAINS, STRSTARTS and STRENDS (SPARQL 1.1 Query section 17.4.3) in SQL, of strings written without escapes."""

from __future__ import annotations

from protocol.terms import TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import In, Text, call, choice, equal, every
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import Value, kind_of

SEARCHES = {"CONTAINS": "contains", "STRSTARTS": "starts_with", "STRENDS": "ends_with"}
"""The functions, and DuckDB's."""
_STRING, _LANGUAGE = kind_of(TermKind.STRING), kind_of(TermKind.LANGUAGE_STRING)


def search(name: str, text: Value, part: Value, slow: Expression) -> Expression:
    """Whether a simple literal is in a string; ``slow`` tells it of what has escapes, and of other terms."""
    conditions = [
        In(text.kind, (_STRING, _LANGUAGE)),
        equal(part.kind, _STRING),
        *(sql.Prefix("NOT ", call("contains", one.term, Text("\\"))) for one in (text, part)),
    ]
    return choice((every(conditions), call(SEARCHES[name], _within(text), _within(part))), otherwise=slow)


def _within(value: Value) -> Expression:
    """What is between the quotes of a string without escapes."""
    return call("split_part", value.term, Text('"'), sql.number(2))
