"""The order of ORDER BY, MIN and MAX (SPARQL 1.1 Query sections 15.1 and 18.5.1.5) as SQL sort keys.

Unbound, blank nodes, IRIs, literals; literals by what they compare with, and within that by value.
Where the standard leaves the order open, terms decide it, so that it is the same at every replay.
"""

from __future__ import annotations

import re

from protocol.terms import TermKind
from spark_backend.compiler.sql.values import Value

_STRINGS = f"({TermKind.STRING:d}, {TermKind.LANGUAGE_STRING:d})"
_VALUED = f"{TermKind.DATE_TIME_LOCAL:d}"
"""Literals up to this kind are ordered by a number."""
_DIRECTION = re.compile(r"( (ASC|DESC))?( NULLS (FIRST|LAST))?\Z")


def sort_key(order: str) -> str:
    """What a sort key of ORDER BY sorts by."""
    return _DIRECTION.sub("", order)


def direction(order: str) -> str:
    """The direction of a sort key of ORDER BY, and where NULL comes; "" if neither is written."""
    found = _DIRECTION.search(order)
    return "" if found is None else found[0].strip()


def sort_keys(value: Value) -> tuple[str, str, str, str]:
    """A class, a number, what the number leaves over, a text: compared one after the other."""
    if value.kind == f"{TermKind.INTEGER:d}":  # a count
        return value.number, value.number, value.number, value.number
    inexact = f"{value.number} IS NULL AND {value.kind} <= {_VALUED}"
    return (
        _class(value),
        f"(CASE WHEN {inexact} THEN order_number({value.term}) ELSE {value.number} END)",
        f"(CASE WHEN {inexact} THEN order_rest({value.term}) ELSE 0 END)",
        _text(value),
    )


def _class(value: Value) -> str:
    return (
        f"(CASE WHEN {value.kind} <= {TermKind.DOUBLE:d} THEN 3 WHEN {value.kind} = {TermKind.IRI:d} THEN 2 "
        f"WHEN {value.kind} IN {_STRINGS} THEN 4 WHEN {value.kind} = {TermKind.BLANK_NODE:d} THEN 1 "
        f"WHEN {value.kind} IN ({TermKind.DATE_TIME_ZONED:d}, {TermKind.DATE_TIME_LOCAL:d}) THEN 5 "
        f"WHEN {value.kind} = {TermKind.BOOLEAN:d} THEN 6 WHEN {value.term} IS NULL THEN 0 ELSE 7 END)"
    )


def _text(value: Value) -> str:
    """Code points of IRIs and strings; for what has no other order, the term."""
    return (
        # Without its brackets: the closing one is greater than a digit.
        f"(CASE WHEN {value.kind} = {TermKind.IRI:d} THEN ({value.term})[2:-2] "
        f"WHEN {value.kind} = {TermKind.STRING:d} AND NOT contains({value.term}, '\\') THEN ({value.term})[2:-2] "
        f"WHEN {value.kind} IN {_STRINGS} THEN lexical({value.term}) ELSE {value.term} END)"
    )
