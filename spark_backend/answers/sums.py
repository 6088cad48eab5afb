"""What SQL leaves to be done with an answer's rows: the few results of SUM and AVG that come in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_backend.answers.numbers import sum_term
from spark_backend.compiler.algebra.partial_sums import PARTS
from spark_backend.compiler.plan import Plan

Row = tuple[Any, ...]


def finish_sums(plan: Plan, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a plan's statement as ``(instant, member, term or None, …)``, each answer's together and in order."""
    if not plan.sums or not rows:
        return rows
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    width = 2 + len(plan.variables) + plan.matches
    for number, (place, average) in enumerate(plan.sums):
        first = width + number * len(PARTS)
        parts = columns[first : first + len(PARTS)]
        columns[2 + place] = [sum_term(average, *part) for part in zip(*parts, strict=True)]
    complete = list(zip(*columns[:width], strict=True))
    if not plan.ordered:
        complete.sort(key=lambda row: (*row[:2], *("" if term is None else term for term in row[2:])))
    return complete
