"""Expressions of queries as functions of columns of terms."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_backend.compiler.sql.expressions.expressions import PreludeFunction
from spark_backend.evaluation.prelude import functions
from spark_backend.evaluation.prelude.functions import SparqlFunction


@pytest.mark.parametrize("length", [1, 400])
def test_what_a_function_remembers_of_new_terms_is_bounded(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(functions, "_REMEMBERED_CHARACTERS", 20_000)
    upper = SparqlFunction(PreludeFunction("f", "UCASE(?a0)", 1), None)
    held = []
    for number in range(50):
        terms = [f'"{"a" * length}{10 * number + place}"' for place in range(10)]
        assert upper(pa.array([*terms, None])).to_pylist() == [*(term.upper() for term in terms), None]
        held.append(sum(len(row[0] or "") + len(result or "") for row, result in upper._known.items()))
    assert max(held) <= 20_000
    assert max(held) > 0
