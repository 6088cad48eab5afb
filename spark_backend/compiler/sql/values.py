"""The value of an expression in SQL: its term, and the facets and truth that operators work on."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.terms import XSD, TermKind, comparable_facets, facets
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.nodes import Expression

_BY_NUMBER = (TermKind.INTEGER, TermKind.DECIMAL, TermKind.DOUBLE, TermKind.BOOLEAN, TermKind.DATE_TIME_ZONED)
_BY_TERM = (TermKind.STRING, TermKind.LANGUAGE_STRING, TermKind.IRI, TermKind.BLANK_NODE)
"""Kinds of terms that have keys: their numbers, or the terms. What is as near to a float as to be taken for it may be
another number.
"""
TRUE = f'"true"^^<{XSD}boolean>'
FALSE = f'"false"^^<{XSD}boolean>'


@dataclass(frozen=True)
class Value:
    """Expressions of SQL over the columns at hand; NULL stands for unbound and for error alike (17.2).

    ``term``: VARCHAR, canonical N-Triples. ``kind`` and ``number``: its facets; the number of a NaN is
    NULL. ``truth``: BOOLEAN, for expressions that are boolean by their nature. ``constant``: the term
    itself, where it is one. ``parameter_kind``: of a parameter, whose term is not known but whose kind is;
    if it is a number's, so is the number in every evaluation.
    """

    term: Expression
    kind: Expression
    number: Expression
    truth: Expression | None = None
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
        return kind is not None and kind <= TermKind.DOUBLE and self.number != NO_NUMBER


NO_NUMBER = sql.null("DOUBLE")
UNBOUND = Value(sql.null("VARCHAR"), sql.null("UTINYINT"), NO_NUMBER)


def constant(term: str) -> Value:
    """The value of an IRI or literal of the query."""
    kind, number = comparable_facets(term)
    truth = {TRUE: sql.TRUE, FALSE: sql.FALSE}.get(term)
    return Value(sql.Text(term), sql.number(kind), number_of(number), truth, constant=term)


def number_of(number: float | None) -> Expression:
    """The number of a constant; NULL for one that has none."""
    return NO_NUMBER if number is None else sql.Cast(sql.Text(repr(number)), "DOUBLE")


def of_truth(truth: Expression) -> Value:
    """The xsd:boolean a SQL BOOLEAN stands for."""
    term = sql.choice((sql.TRUE, sql.Text(TRUE)), (sql.FALSE, sql.Text(FALSE)), subject=truth)
    within = sql.Parentheses(truth)
    return Value(term, sql.choice((sql.IsBound(within), kind_of(TermKind.BOOLEAN))), sql.Cast(within, "DOUBLE"), truth)


def integer_term(number: Expression) -> Expression:
    """The xsd:integer of a SQL integer."""
    return sql.Parentheses(sql.Infix("||", (sql.Text('"'), number, sql.Text(f'"^^<{XSD}integer>'))))


def of_term(term: Expression) -> Value:
    """A computed term; its facets by the prelude."""
    return Value(term, sql.call("facet_k", term), sql.call("facet_n", term))


def kind_of(kind: TermKind) -> Expression:
    return sql.number(kind)


def value_key(term: Expression, kind: Expression, number: Expression) -> Expression:
    """A text that is the same for terms that are equal, if both of them have such a key."""
    by_number = sql.infix(kind, "<=", kind_of(max(_BY_NUMBER)))
    text = sql.Cast(sql.Parentheses(sql.infix(number, "+", sql.number(0))), "VARCHAR")  # of -0 and 0 the same
    return sql.choice((by_number, text), otherwise=term)


def has_value_key(kind: Expression, number: Expression) -> Expression:
    """Whether a term has a key; bound, it is true or false."""
    by_number = sql.every([sql.In(kind, tuple(map(kind_of, _BY_NUMBER))), sql.IsBound(number)])
    by_term = sql.In(kind, tuple(map(kind_of, _BY_TERM)))
    return sql.Parentheses(sql.some([sql.Parentheses(by_number), by_term]))


def columns_of(value: Value) -> list[Expression]:
    """Term, kind and number."""
    return [value.term, value.kind, value.number]
