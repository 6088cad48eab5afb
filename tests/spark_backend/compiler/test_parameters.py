"""Which constants are lifted, so that queries that differ in them are one shape."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.compiler.sql.static_pattern import StaticPattern

EX = "http://ex/"


def plan(text: str, *there: StaticPattern) -> Plan:
    query = parse(f"PREFIX : <{EX}> {text}")
    assert isinstance(query, ContinuousQuery)
    return compile_query(query, present=lambda pattern: pattern in there)


def in_room(room: str, window: str = "[RANGE 10s STEP 10s]") -> str:
    return f"SELECT (COUNT(*) AS ?n) FROM STREAM :s {window} {{ ?e :room :{room} ; :value ?v }}"


def default(predicate: str, object: str | None = None) -> StaticPattern:
    return StaticPattern("default", (), None, f"<{EX}{predicate}>", None if object is None else f"<{EX}{object}>")


def test_what_the_store_does_not_hold_is_lifted_beside_its_default_graph() -> None:
    one, other = plan(in_room("r1")), plan(in_room("r2"))
    assert (one.shape, one.mark) == (other.shape, other.mark)
    assert (one.parameters, other.parameters) == ((f"<{EX}r1>",), (f"<{EX}r2>",))
    assert set(one.statics) == {default("room", "r1"), default("value")}
    assert set(other.statics) == {default("room", "r2"), default("value")}


def test_a_constant_that_the_store_has_matches_for_stays_where_it_is() -> None:
    held = plan(in_room("r1"), default("room", "r1"))
    assert held.parameters == ()
    assert held.mark != plan(in_room("r1")).mark
    assert plan(in_room("r2"), default("room", "r1")).mark == plan(in_room("r2")).mark


@pytest.mark.parametrize(
    "window", ["[RANGE 10s STEP 1s]", pytest.param("[RANGE 1h STEP 1s]", id="an hour that slides by a second")]
)
def test_where_windows_slide_a_constant_leaves_less_to_be_kept(window: str) -> None:
    assert plan(in_room("r1", window)).parameters == ()


def test_in_a_graph_of_the_store_nothing_is_lifted() -> None:
    text = "SELECT * FROM STREAM :s [RANGE 10s STEP 10s] { ?e :value ?v GRAPH :g { ?e :room :r1 } }"
    assert plan(text).parameters == ()
