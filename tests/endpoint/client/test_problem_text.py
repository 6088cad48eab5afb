from __future__ import annotations

import json
from typing import Any

import pytest

from endpoint.client.http import problem_text


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ({"detail": "no triple", "line": 2, "column": 7}, "no triple (line 2, column 7)"),
        ({"detail": "no triple (line 2, column 7)", "line": 2, "column": 7}, "no triple (line 2, column 7)"),
        ({"detail": "no triple, as in line 2, column 70", "line": 2, "column": 7},
         "no triple, as in line 2, column 70 (line 2, column 7)"),
        ({"detail": "message 1, line 2, column 7: no triple", "line": 2, "column": 7, "message": 1},
         "message 1, line 2, column 7: no triple"),
        ({"detail": "message 1 (line 2): no time", "line": 2, "message": 1}, "message 1 (line 2): no time"),
        ({"detail": "no time"}, "no time"),
    ],
)  # fmt: skip
def test_a_place_is_told_once(problem: dict[str, Any], told: str) -> None:
    assert problem_text(json.dumps(problem), "") == told
