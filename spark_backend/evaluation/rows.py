"""What SQL leaves to be done with an answer's rows: the few results of SUM and AVG that come in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.numbers import sum_term

Row = tuple[Any, ...]


def finished(plan: Plan, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a plan's statement, ``(instant, term or None, …)``, in the order of the answer."""
    if not plan.sums or not rows:
        return rows
    places = [(1 + plan.variables.index(variable), average) for variable, average in plan.sums]
    complete = []
    for row in rows:
        cells = list(row)
        for place, average in places:
            cells[place] = sum_term(average, **cells[place])
        complete.append(tuple(cells))
    if not plan.ordered:
        complete.sort(key=lambda row: (row[0], *("" if term is None else term for term in row[1:])))
    return complete
