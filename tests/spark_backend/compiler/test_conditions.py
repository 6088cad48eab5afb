"""What windows ask of messages, compiled: plans, and refusals at the window's place."""

from __future__ import annotations

import pytest

from protocol.errors import UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.conditions import compile_conditions
from spark_backend.compiler.plan import compile_query
from spark_backend.registry import PreparedQuery
from spark_backend.spark_sql.translation.plans import require_translation


def query(condition: str) -> ContinuousQuery:
    text = f"SELECT * FROM STREAM <http://ex/s> [ELEMENTS 1 {condition}] WHERE {{ ?s ?p ?o }}"
    found = parse(text)
    assert isinstance(found, ContinuousQuery)
    return found


def test_windows_that_ask_the_same_share_a_plan_which_tasks_read() -> None:
    text = (
        "SELECT * FROM STREAM <http://ex/s> [ELEMENTS 1 WHERE { ?a <http://ex/v> 1 }] "
        "FROM STREAM <http://ex/t> [TRIPLES 2 WHERE { ?a <http://ex/v> 1 . }] FROM STREAM <http://ex/u> [NOW] "
        "WHERE { ?s ?p ?o }"
    )
    asked = parse(text)
    assert isinstance(asked, ContinuousQuery)
    prepared = PreparedQuery(compile_query(asked), asked.windows, {}, conditions=compile_conditions(asked.windows))
    assert len(prepared.conditions) == 1
    again = PreparedQuery.from_json(prepared.to_json())
    assert again.windows == prepared.windows
    plans = [again.condition(member.window) for member in again.windows]
    assert plans[0] is plans[1] is not None
    assert plans[2] is None


def test_what_is_not_compiled_is_refused_at_the_window() -> None:
    asked = query("WHERE { ?s ?p ?o FILTER(<http://ex/f>(?o)) }")
    with pytest.raises(UnsupportedFeature) as raised:
        compile_conditions(asked.windows)
    assert raised.value.detail.startswith("in the WHERE of a window: the function <http://ex/f> is not known")
    assert raised.value.detail.endswith("(line 1, column 22)")
    assert (raised.value.line, raised.value.column) == (1, 22)


def test_spark_sql_is_not_asked_for_them() -> None:
    asked = query("PARTITION BY <http://ex/a> WHERE { ?s ?p ?o }")
    with pytest.raises(UnsupportedFeature, match="windows with WHERE are evaluated by DuckDB alone"):
        require_translation(compile_query(asked), asked, None)
    plain = query("PARTITION BY <http://ex/a>")
    require_translation(compile_query(plain), plain, None)
