"""``=`` and ``<`` in SQL: by the facets where they decide, by the prelude where they do not.

Operator mapping of SPARQL 1.1 Query section 17.3, as the one-shot engine has it: beyond what is listed there,
any term is ``<=`` and ``>=`` itself, and neither ``<`` nor ``>``. A number facet
is exact within its comparison class (``protocol.terms``), so comparing it is comparing values; it is
NULL for NaN, which therefore never gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocol.terms import TermKind
from spark_backend.compiler.sql.values import Value

ORDERINGS = frozenset({"<", ">", "<=", ">="})
_NUMERIC = TermKind.DOUBLE  # kinds up to this one are numeric
_KNOWN = TermKind.LANGUAGE_STRING  # literals up to this kind have a datatype that SPARQL knows
_FLOAT, _DOUBLE = f"{TermKind.FLOAT:d}", f"{TermKind.DOUBLE:d}"


def equality(left: Value, right: Value, slow: Callable[[], str]) -> str:
    """RDFterm-equal and the numeric, string, boolean and dateTime equalities; NULL for a type error."""
    for one, other in ((left, right), (right, left)):
        if one.constant_kind is not None and one.constant_kind >= TermKind.IRI:
            return f"(({other.term}) = {one.term})"
        if one.constant_kind == TermKind.STRING:
            return string_equality(other, [one], slow)
    strings = f"({TermKind.STRING:d}, {TermKind.LANGUAGE_STRING:d})"
    return (
        f"CASE WHEN {_both_numeric(left, right)} THEN {left.number} = {right.number} "
        f"WHEN {left.term} = {right.term} AND ({left.number} IS NOT NULL OR {left.kind} > {_NUMERIC:d}) THEN TRUE "
        f"WHEN {left.kind} >= {TermKind.IRI:d} OR {right.kind} >= {TermKind.IRI:d} THEN {left.term} = {right.term} "
        f"WHEN ({left.kind} IN {strings} AND {_is_known(right)}) "
        f"OR ({right.kind} IN {strings} AND {_is_known(left)}) THEN FALSE "
        f"WHEN {_same_time_line(left, right)} THEN {left.number} = {right.number} "
        f"ELSE {_guard((left, right), slow)} END"
    )


def string_equality(value: Value, strings: Sequence[Value], slow: Callable[[], str]) -> str:
    """Whether a value equals one of some constant simple literals: the same term does, other known kinds do not."""
    listed = ", ".join(string.term for string in strings)
    return (
        f"CASE WHEN {value.term} IN ({listed}) THEN TRUE "
        f"WHEN {_is_known(value)} OR {value.kind} >= {TermKind.IRI:d} THEN FALSE "
        f"ELSE {_guard((value,), slow)} END"
    )


def ordering(operator: str, left: Value, right: Value, slow: Callable[[], str]) -> str:
    """``<`` and its kin over numbers, strings and dateTimes; NULL for anything else."""
    cases = [f"WHEN {_both_numeric(left, right)} THEN {left.number} {operator} {right.number}"]
    for one, other in ((left, right), (right, left)):
        if one.constant_kind is None:
            continue
        if one.constant_kind <= _NUMERIC:  # a number against anything that is none is a type error
            cases.append(f"WHEN {other.kind} > {_NUMERIC:d} THEN NULL")
            return f"CASE {' '.join(cases)} ELSE {_guard((other,), slow)} END"
        if one.constant_kind == TermKind.STRING and "\\" not in (one.constant or ""):
            # Code points decide; without escapes they are those between the quotes.
            plain = f"{other.kind} = {TermKind.STRING:d} AND NOT contains({other.term}, '\\')"
            operands = (_content(left), _content(right))
            cases = [f"WHEN {plain} THEN {operands[0]} {operator} {operands[1]}"]
    no_order = f"({TermKind.IRI:d}, {TermKind.BLANK_NODE:d})"
    alike = "TRUE" if operator in ("<=", ">=") else "FALSE"
    nothing = f"CASE WHEN {left.term} = {right.term} THEN {alike} END"
    cases.append(f"WHEN {left.kind} IN {no_order} OR {right.kind} IN {no_order} THEN {nothing}")
    zoned = f"({TermKind.DATE_TIME_ZONED:d}, {TermKind.DATE_TIME_LOCAL:d})"
    cases.append(
        f"WHEN {left.kind} IN {zoned} AND {_same_time_line(left, right)} THEN {left.number} {operator} {right.number}"
    )
    return f"CASE {' '.join(cases)} ELSE {_guard((left, right), slow)} END"


def _is_known(value: Value) -> str:
    """That it is a literal whose value is known; integers too long for the one-shot engine are not."""
    return f"{value.kind} <= {_KNOWN:d} AND ({value.number} IS NOT NULL OR {value.kind} > {_NUMERIC:d})"


def _content(value: Value) -> str:
    return f"({value.term})[2:-2]"


def _both_numeric(left: Value, right: Value) -> str:
    """That both numbers are known, and compare as doubles do: a float with a decimal or integer compares as floats."""
    conditions = []
    for value in (left, right):
        if not value.is_number:
            conditions.append(f"{value.kind} <= {_NUMERIC:d} AND {value.number} IS NOT NULL")
    for one, other in ((left, right), (right, left)):
        if one.constant_kind is None:
            continue
        if one.constant_kind < TermKind.FLOAT:
            conditions.append(f"{other.kind} <> {_FLOAT}")
            break
        if one.constant_kind == TermKind.FLOAT:
            conditions.append(f"{other.kind} >= {_FLOAT}")
            break
        if one.constant_kind == TermKind.DOUBLE:
            break
    else:
        neither = f"({left.kind} <> {_FLOAT} AND {right.kind} <> {_FLOAT})"
        conditions.append(f"({neither} OR ({left.kind} >= {_FLOAT} AND {right.kind} >= {_FLOAT}))")
    return " AND ".join(conditions) or "TRUE"


def _same_time_line(left: Value, right: Value) -> str:
    """That both are booleans, both dateTimes with a zone, or both without, and known to the millisecond."""
    kinds = f"{left.kind} BETWEEN {TermKind.BOOLEAN:d} AND {TermKind.DATE_TIME_LOCAL:d} AND {left.kind} = {right.kind}"
    return f"{kinds} AND {left.number} IS NOT NULL AND {right.number} IS NOT NULL"


def _guard(operands: Sequence[Value], slow: Callable[[], str]) -> str:
    """The prelude's answer, not asked for where an operand is unbound: that is an error already."""
    bound = " AND ".join(f"{value.term} IS NOT NULL" for value in operands if value.constant is None) or "TRUE"
    return f"CASE WHEN {bound} THEN {slow()} END"
