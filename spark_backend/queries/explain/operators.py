"""The operators of one evaluation as text for a person: a tree, with rows and times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spark_backend.evaluation.step import MeasuredStatement

_LONGEST_DETAIL = 160
_ESTIMATE = "Estimated Cardinality"
_ASKED = ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE")
"""What there is only because operators were asked for."""
_PACKED = "__internal_"
"""What functions are named that make rows smaller before they are sorted or grouped, and large again after it."""


def total_times(measured: MeasuredStatement) -> str:
    """What the parts of the evaluation took."""
    found = json.loads(measured.operators)
    planning = sum(found[part]["total_time"] for part in ("planner", "optimizer", "physical_planner"))
    parts = {
        "tables of windows": measured.tables_seconds,
        "planning": planning,
        "operators": max(0.0, found["query"]["total_time"] - planning),
    }
    return ", ".join(f"{part} {milliseconds(seconds)}" for part, seconds in parts.items())


def operator_lines(measured: MeasuredStatement) -> Iterator[str]:
    """A line for each operator that is the query's, indented below the one that takes its rows."""
    roots: list[dict[str, Any]] = json.loads(measured.operators)["operator"]
    waiting = [(0, one) for one in reversed(roots)]
    while waiting:
        depth, operator = waiting.pop()
        details = dict(operator.get("extra_info", {}))
        estimate = details.pop(_ESTIMATE, None)
        detail = "; ".join(filter(None, map(_text, details.values())))
        of_the_query = operator["type"] not in _ASKED and not (operator["type"] == "PROJECTION" and _PACKED in detail)
        if of_the_query:
            yield f"{'  ' * depth}{_line(operator, detail, estimate)}"
        waiting += [(depth + of_the_query, one) for one in reversed(operator.get("children", ()))]


def _line(operator: dict[str, Any], detail: str, estimate: str | None) -> str:
    if len(detail) > _LONGEST_DETAIL:
        detail = f"{detail[:_LONGEST_DETAIL]}…"
    name = f"{operator['type']} {detail}".strip()
    rows = operator["intermediate_rows"]
    estimated = "" if estimate is None else f" (about {int(estimate):,} expected)"
    return f"{name}   # {rows:,} row{'s' * (rows != 1)}{estimated}, {milliseconds(operator['timing'])}"


def _text(value: str | list[str]) -> str:
    """On one line, without what a reader of the tree takes for the beginning of its rows."""
    text = value if isinstance(value, str) else ", ".join(value)
    return " ".join(text.split())


def milliseconds(seconds: float) -> str:
    """For a person: "1.7 ms", or "2.30 s"."""
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"
