"""What SQL leaves to be done with an answer's rows: the few results of SUM and AVG that come in parts."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.answers.numbers import sum_term
from spark_backend.compiler.algebra.partial_sums import PARTS
from spark_backend.compiler.plan import Plan


def finish_sums(plan: Plan, rows: pa.Table) -> pa.Table:
    """The rows of a plan's statement as ``instant, member, term or null, …``, each answer's together and in order."""
    if not plan.sums:
        return rows
    width = 2 + len(plan.variables) + plan.matches
    columns = rows.columns[:width]
    for number, (place, average) in enumerate(plan.sums):
        first = width + number * len(PARTS)
        parts = (column.to_pylist() for column in rows.columns[first : first + len(PARTS)])
        terms = [sum_term(average, *part) for part in zip(*parts, strict=True)]
        columns[2 + place] = pa.chunked_array([pa.array(terms, pa.string())])
    complete = pa.table(columns, [f"c{place}" for place in range(width)])
    if plan.ordered:
        return complete
    by = [(name, "ascending") for name in complete.column_names]
    return complete.take(pc.sort_indices(complete, by, null_placement="at_start"))
