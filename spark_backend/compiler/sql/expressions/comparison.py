"""``=`` and ``<`` in SQL: by the facets where they decide, by the prelude where they do not.

Operator mapping of SPARQL 1.2 Query section 17.3, as the one-shot engine has it: beyond what is listed there,
any term is ``<=`` and ``>=`` itself, and neither ``<`` nor ``>``. A number facet
is exact within its comparison class (``protocol.terms``), so comparing it is comparing values; it is
NULL for NaN, which therefore never gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocol.terms import TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import (
    Case,
    In,
    Inside,
    IsBound,
    Parentheses,
    call,
    equal,
    every,
    infix,
)
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import Value, kind_of

_NUMERIC = TermKind.DOUBLE  # kinds up to this one are numeric
_KNOWN = TermKind.LANGUAGE_STRING  # literals up to this kind have a datatype that SPARQL knows
_FLOAT, _IRI, _STRING, _TRIPLE = map(kind_of, (TermKind.FLOAT, TermKind.IRI, TermKind.STRING, TermKind.TRIPLE))
_STRINGS = (_STRING, kind_of(TermKind.LANGUAGE_STRING))
_TIME_LINES = (kind_of(TermKind.DATE_TIME_ZONED), kind_of(TermKind.DATE_TIME_LOCAL))
_WITHOUT_ORDER = (_IRI, kind_of(TermKind.BLANK_NODE))


def equality(left: Value, right: Value, slow: Callable[[], Expression]) -> Expression:
    """RDFterm-equal and the numeric, string, boolean and dateTime equalities; NULL for a type error."""
    for one, other in ((left, right), (right, left)):
        if one.constant_kind in (TermKind.IRI, TermKind.BLANK_NODE):
            return Parentheses(equal(Parentheses(other.term), one.term))
        if one.constant_kind == TermKind.STRING:
            return string_equality(other, [one], slow)
    same_term, same_number = equal(left.term, right.term), equal(left.number, right.number)
    has_value = sql.some([IsBound(left.number), infix(left.kind, ">", kind_of(_NUMERIC))])
    no_literal = sql.some([infix(left.kind, ">=", _IRI), infix(right.kind, ">=", _IRI)])
    # Of two triple terms the parts are compared by value.
    one_no_triple = sql.some([infix(left.kind, "<", _TRIPLE), infix(right.kind, "<", _TRIPLE)])
    other_kinds = sql.some(
        [
            Parentheses(every([In(left.kind, _STRINGS), _is_known(right)])),
            Parentheses(every([In(right.kind, _STRINGS), _is_known(left)])),
        ]
    )
    return Case(
        (
            (_both_numeric(left, right), same_number),
            (every([same_term, Parentheses(has_value), infix(left.kind, "<", _TRIPLE)]), sql.TRUE),
            (every([Parentheses(no_literal), Parentheses(one_no_triple)]), same_term),
            (other_kinds, sql.FALSE),
            (_same_time_line(left, right), same_number),
        ),
        guard((left, right), slow),
    )


def string_equality(value: Value, strings: Sequence[Value], slow: Callable[[], Expression]) -> Expression:
    """Whether a value equals one of some constant simple literals: the same term does, other known kinds do not."""
    differs = sql.some([_is_known(value), infix(value.kind, ">=", _IRI)])
    one_of = In(value.term, tuple(string.term for string in strings))
    return Case(((one_of, sql.TRUE), (differs, sql.FALSE)), guard((value,), slow))


def number_equality(value: Value, numbers: Sequence[Value], slow: Callable[[], Expression]) -> Expression:
    """Whether a value equals one of some constant integers and decimals, as other numbers but floats do by their
    numbers.
    """
    one_of = In(value.number, tuple(number.number for number in numbers))
    differs = sql.some([In(value.kind, _STRINGS), infix(value.kind, ">=", _IRI)])
    return Case(((_both_numeric(value, numbers[0]), one_of), (differs, sql.FALSE)), guard((value,), slow))


def ordering(operator: str, left: Value, right: Value, slow: Callable[[], Expression]) -> Expression:
    """``<`` and its kin over numbers, strings and dateTimes; NULL for anything else."""
    by_number = infix(left.number, operator, right.number)
    cases: list[tuple[Expression, Expression]] = [(_both_numeric(left, right), by_number)]
    for one, other in ((left, right), (right, left)):
        if one.constant_kind is None:
            continue
        if one.constant_kind <= _NUMERIC:  # a number against anything that is none is a type error
            no_number = infix(other.kind, ">", kind_of(_NUMERIC))
            return Case((*cases, (no_number, sql.NULL)), guard((other,), slow))
        if one.constant_kind == TermKind.STRING and "\\" not in (one.constant or ""):
            # Code points decide; without escapes they are those between the quotes.
            escaped = call("contains", other.term, sql.Text("\\"))
            plain = every([equal(other.kind, _STRING), sql.Prefix("NOT ", escaped)])
            cases = [(plain, infix(Inside(left.term), operator, Inside(right.term)))]
    alike = sql.TRUE if operator in ("<=", ">=") else sql.FALSE
    unordered = sql.some([In(left.kind, _WITHOUT_ORDER), In(right.kind, _WITHOUT_ORDER)])
    cases.append((unordered, Case(((equal(left.term, right.term), alike),))))
    cases.append((every([In(left.kind, _TIME_LINES), _same_time_line(left, right)]), by_number))
    return Case(tuple(cases), guard((left, right), slow))


def _is_known(value: Value) -> Expression:
    """That it is a literal whose value is known; integers too long for the one-shot engine are not."""
    has_value = sql.some([IsBound(value.number), infix(value.kind, ">", kind_of(_NUMERIC))])
    return every([infix(value.kind, "<=", kind_of(_KNOWN)), Parentheses(has_value)])


def _both_numeric(left: Value, right: Value) -> Expression:
    """That both numbers are known, and compare as doubles do: a float with a decimal or integer compares as floats."""
    conditions: list[Expression] = []
    for value in (left, right):
        if not value.is_number:
            conditions += [infix(value.kind, "<=", kind_of(_NUMERIC)), IsBound(value.number)]
    for one, other in ((left, right), (right, left)):
        if one.constant_kind is None:
            continue
        if one.constant_kind < TermKind.FLOAT:
            conditions.append(infix(other.kind, "<>", _FLOAT))
            break
        if one.constant_kind == TermKind.FLOAT:
            conditions.append(infix(other.kind, ">=", _FLOAT))
            break
        if one.constant_kind == TermKind.DOUBLE:
            break
    else:
        neither, both = (
            Parentheses(every([infix(left.kind, sign, _FLOAT), infix(right.kind, sign, _FLOAT)]))
            for sign in ("<>", ">=")
        )
        conditions.append(Parentheses(sql.some([neither, both])))
    return every(conditions)


def _same_time_line(left: Value, right: Value) -> Expression:
    """That both are booleans, both dateTimes with a zone, or both without, and known to the millisecond."""
    ordered = sql.Between(left.kind, kind_of(TermKind.BOOLEAN), kind_of(TermKind.DATE_TIME_LOCAL))
    return every([ordered, equal(left.kind, right.kind), IsBound(left.number), IsBound(right.number)])


def guard(operands: Sequence[Value], slow: Callable[[], Expression]) -> Expression:
    """The prelude's answer, not asked for where an operand is unbound: that is an error already."""
    bound = every([IsBound(value.term) for value in operands if value.constant is None])
    return Case(((bound, slow()),))
