"""The value of an expression in SQL: its term, and the facets and truth that operators work on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from protocol.terms import XSD, TermKind, facets
from spark_backend.compiler.sql.relation import quote

TRUE = f'"true"^^<{XSD}boolean>'
FALSE = f'"false"^^<{XSD}boolean>'


@dataclass(frozen=True)
class Value:
    """SQL fragments over the columns at hand; NULL stands for unbound and for error alike (17.2).

    ``term``: VARCHAR, canonical N-Triples. ``kind`` and ``number``: its facets; the number of a NaN is
    NULL. ``truth``: BOOLEAN, for expressions that are boolean by their nature. ``constant``: the term
    itself, where it is one. ``parameter_kind``: of a parameter, whose term is not known but whose kind is;
    if it is a number's, so is the number in every evaluation.
    """

    term: str
    kind: str
    number: str
    truth: str | None = None
    constant: str | None = None
    parameter_kind: int | None = None

    @property
    def constant_kind(self) -> int | None:
        """The kind of a constant or parameter."""
        return self.parameter_kind if self.constant is None else facets(self.constant)[0]

    @property
    def is_number(self) -> bool:
        """Whether it is a constant or parameter with a number."""
        kind = self.constant_kind
        return kind is not None and kind <= TermKind.DOUBLE and not self.number.startswith("NULL")


UNBOUND = Value("NULL::VARCHAR", "NULL::UTINYINT", "NULL::DOUBLE")


def constant(term: str) -> Value:
    """The value of an IRI or literal of the query."""
    kind, number = facets(term)
    truth = {TRUE: "TRUE", FALSE: "FALSE"}.get(term)
    return Value(quote(term), str(int(kind)), number_sql(number), truth, constant=term)


def number_sql(number: float | None) -> str:
    if number is None or math.isnan(number):
        return "NULL::DOUBLE"
    return f"'{number!r}'::DOUBLE"


def of_truth(truth: str) -> Value:
    """The xsd:boolean a SQL BOOLEAN stands for."""
    term = f"(CASE {truth} WHEN TRUE THEN {quote(TRUE)} WHEN FALSE THEN {quote(FALSE)} END)"
    return Value(term, f"(CASE WHEN ({truth}) IS NOT NULL THEN {TermKind.BOOLEAN:d} END)", f"({truth})::DOUBLE", truth)


def integer_term(number: str) -> str:
    """The xsd:integer of a SQL integer."""
    return f"('\"' || {number} || '\"^^<{XSD}integer>')"


def of_term(term: str) -> Value:
    """A computed term; its facets by the prelude."""
    return Value(term, f"facet_k({term})", f"facet_n({term})")


def columns_of(value: Value) -> list[str]:
    """Term, kind and number."""
    return [value.term, value.kind, value.number]
