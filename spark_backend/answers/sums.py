"""What SQL leaves to be done with an answer's rows: the results of SUM and AVG, which come in parts."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import XSD
from spark_backend.answers.numbers import sum_term
from spark_backend.compiler.algebra.partial_sums import PARTS
from spark_backend.compiler.plan import Plan

_MANY = 64
"""So many sums are sooner made together than each by itself."""

_DECIMAL = pa.decimal128(38, 18)
_LEAST, _MOST = (pa.scalar(Decimal(bound), pa.decimal128(38, 0)) for bound in (-(2**63), 2**63 - 1))


def finish_sums(plan: Plan, rows: pa.Table) -> pa.Table:
    """The rows of a plan's statement as ``instant, member, term or null, …``, each answer's together and in order."""
    if not plan.sums:
        return rows
    width = 2 + len(plan.variables) + plan.matches
    columns = rows.columns[:width]
    for number, (place, average) in enumerate(plan.sums):
        first = width + number * len(PARTS)
        parts = rows.select(range(first, first + len(PARTS))).rename_columns(PARTS)
        columns[2 + place] = pa.chunked_array([sum_terms(average, parts)])
    complete = pa.table(columns, [f"c{place}" for place in range(width)])
    if plan.ordered:
        return complete
    by = [(name, "ascending") for name in complete.column_names]
    return complete.take(pc.sort_indices(complete, by, null_placement="at_start"))


def sum_terms(average: bool, parts: pa.Table) -> pa.Array:
    """SUM or AVG of each group from its PARTS, as ``numbers.sum_term`` has it of one."""
    if parts.num_rows < _MANY:
        return _each(average, parts)
    terms = _sums_of_one_kind(average, parts)
    others = pc.is_null(terms)
    return pc.replace_with_mask(terms, others, _each(average, parts.filter(others)))


def _each(average: bool, parts: pa.Table) -> pa.Array:
    rows = zip(*(column.to_pylist() for column in parts.columns), strict=True)
    return pa.array([sum_term(average, *row) for row in rows], pa.string())


def _sums_of_one_kind(average: bool, parts: pa.Table) -> pa.Array:
    """Of groups of integers alone, or decimals alone; NULL of the others, and of what Arrow would write with an
    exponent.
    """
    count, floating, whole, exact, rest, errors = (column.combine_chunks() for column in parts.columns)
    has_rest = pc.greater(pc.fill_null(pc.list_value_length(rest), 0), 0)
    others = pc.or_(pc.or_(pc.is_valid(floating), has_rest), pc.not_equal(errors, 0))
    alone = pc.and_not(pc.xor(pc.is_valid(whole), pc.is_valid(exact)), others)
    # What is beyond an xsd:integer of ours is an error, and told by ``sum_term``.
    short = pc.and_kleene(pc.greater_equal(whole, _LEAST), pc.less_equal(whole, _MOST))
    integers = pc.cast(pc.if_else(pc.and_kleene(alone, short), whole, None), _DECIMAL)
    sums = pc.coalesce(integers, pc.if_else(alone, exact, None))
    kinds: str | pa.Array = "decimal"
    if average:
        # The quotient has twenty digits more than are kept: the rest is cut.
        wide, by = pc.cast(sums, pa.decimal256(38, 18)), pc.cast(count, pa.decimal256(19, 0))
        sums = pc.cast(pc.divide(wide, pc.if_else(alone, by, None)), _DECIMAL, safe=False)
    else:
        kinds = pc.if_else(pc.is_valid(integers), "integer", "decimal")
    written = pc.cast(sums, pa.string())
    plain = pc.if_else(pc.match_substring(written, "E"), None, written)
    shortest = pc.utf8_rtrim(pc.utf8_rtrim(plain, "0"), ".")
    return pc.binary_join_element_wise('"', shortest, f'"^^<{XSD}', kinds, ">", "")
