"""The order of ORDER BY, MIN and MAX (SPARQL 1.1 Query sections 15.1 and 18.5.1.5) as SQL sort keys.

Unbound, blank nodes, IRIs, literals, triple terms; literals by what they compare with, and within that by value.
Where the standard leaves the order open, terms decide it, so that it is the same at every replay.
"""

from __future__ import annotations

from protocol.terms import TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import (
    In,
    Inside,
    IsBound,
    IsNull,
    Text,
    call,
    choice,
    equal,
    every,
    infix,
    some,
)
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import Value, kind_of

_STRING, _IRI, _TRIPLE, _OTHER = map(kind_of, (TermKind.STRING, TermKind.IRI, TermKind.TRIPLE, TermKind.OTHER_LITERAL))
_STRINGS = (_STRING, kind_of(TermKind.LANGUAGE_STRING))
_TIMES = (kind_of(TermKind.DATE_TIME_ZONED), kind_of(TermKind.DATE_TIME_LOCAL))
_VALUED = kind_of(TermKind.DATE_TIME_LOCAL)
"""Literals up to this kind are ordered by a number, and of the others durations and dates."""


def sort_keys(value: Value) -> tuple[Expression, Expression, Expression, Expression]:
    """A class, a number, what the number leaves over, a text: compared one after the other."""
    if value.kind == kind_of(TermKind.INTEGER):  # a count
        return value.number, value.number, value.number, value.number
    valued = some([infix(value.kind, "<=", _VALUED), equal(value.kind, _OTHER)])
    inexact = every([IsNull(value.number), sql.Parentheses(valued)])
    return (
        _class(value),
        choice((inexact, call("order_number", value.term)), otherwise=value.number),
        choice((inexact, call("order_rest", value.term)), otherwise=sql.number(0)),
        _text(value),
    )


def _class(value: Value) -> Expression:
    return choice(
        (infix(value.kind, "<=", kind_of(TermKind.DOUBLE)), sql.number(3)),
        (equal(value.kind, _IRI), sql.number(2)),
        (In(value.kind, _STRINGS), sql.number(4)),
        (equal(value.kind, kind_of(TermKind.BLANK_NODE)), sql.number(1)),
        (In(value.kind, _TIMES), sql.number(5)),
        (equal(value.kind, kind_of(TermKind.BOOLEAN)), sql.number(6)),
        (equal(value.kind, _TRIPLE), sql.number(9)),
        (IsNull(value.term), sql.number(0)),
        # Durations, dates and the like; then what has no order but that of the terms.
        (IsBound(call("order_number", value.term)), sql.number(7)),
        otherwise=sql.number(8),
    )


def _text(value: Value) -> Expression:
    """Code points of IRIs and strings; for what has no other order, the term."""
    plain = sql.Prefix("NOT ", call("contains", value.term, Text("\\")))
    return choice(
        # Without its brackets: the closing one is greater than a digit.
        (equal(value.kind, _IRI), Inside(value.term)),
        (every([equal(value.kind, _STRING), plain]), Inside(value.term)),
        (In(value.kind, _STRINGS), call("lexical", value.term)),
        (equal(value.kind, _TRIPLE), call("order_triple", value.term)),
        otherwise=value.term,
    )
