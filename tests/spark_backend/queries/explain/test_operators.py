"""DuckDB's account of an evaluation as a tree for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_backend.evaluation.step import MeasuredStatement
from spark_backend.queries.explain.operators import operator_lines, total_times


def operator(name: str, *children: dict[str, Any], rows: int = 0, seconds: float = 0.0, **info: Any) -> dict[str, Any]:
    return {"type": name, "extra_info": info, "intermediate_rows": rows, "timing": seconds, "children": list(children)}


def measured(*operators: dict[str, Any]) -> MeasuredStatement:
    planning = {part: {"total_time": 0.001} for part in ("planner", "optimizer", "physical_planner")}
    return MeasuredStatement(
        5000, 0.25, json.dumps({"operator": operators, "query": {"total_time": 1.503}, **planning})
    )  # fmt: skip


def test_each_operator_is_below_the_one_that_takes_its_rows() -> None:
    scan = operator("TABLE_SCAN", rows=1200, seconds=0.0005, Table="w", **{"Estimated Cardinality": "2000"})
    join = operator(
        "HASH_JOIN", scan, operator("DUMMY_SCAN", rows=1), rows=1, seconds=1.5, Conditions=["a = b", "c = d"]
    )
    assert list(operator_lines(measured(operator("RESULT_COLLECTOR", operator("EXPLAIN_ANALYZE", join))))) == [
        "HASH_JOIN a = b, c = d   # 1 row, 1.50 s",
        "  TABLE_SCAN w   # 1,200 rows (about 2,000 expected), 0.5 ms",
        "  DUMMY_SCAN   # 1 row, 0.0 ms",
    ]


def test_what_only_makes_rows_smaller_is_left_out_and_what_is_below_it_is_not() -> None:
    scan = operator("TABLE_SCAN", rows=3, Table="w")
    packed = operator("PROJECTION", scan, Projections=["__internal_compress_string_uhugeint(#1)", "#2"])
    assert list(operator_lines(measured(operator("ORDER_BY", packed, rows=3)))) == [
        "ORDER_BY   # 3 rows, 0.0 ms",
        "  TABLE_SCAN w   # 3 rows, 0.0 ms",
    ]


@pytest.mark.parametrize(
    ("detail", "line"),
    [
        ("x" * 500, f"FILTER {'x' * 160}…   # 0 rows, 0.0 ms"),
        ("'a\n  b   # c'", "FILTER 'a b # c'   # 0 rows, 0.0 ms"),
        ("", "FILTER   # 0 rows, 0.0 ms"),
    ],
)
def test_a_detail_is_on_one_short_line_and_no_row_count_of_it(detail: str, line: str) -> None:
    assert list(operator_lines(measured(operator("FILTER", Expression=detail)))) == [line]


def test_a_deep_tree_is_told_to_its_end() -> None:
    deep = operator("TABLE_SCAN")
    for _ in range(200):
        deep = operator("FILTER", deep)
    *_, last = operator_lines(measured(deep))
    assert last == f"{'  ' * 200}TABLE_SCAN   # 0 rows, 0.0 ms"


def test_the_parts_of_the_time_add_up() -> None:
    assert total_times(measured()) == "tables of windows 250.0 ms, planning 3.0 ms, operators 1.50 s"
