"""Queries that should be of many shapes are, and those of one shape differ."""

from __future__ import annotations

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import Plan, compile_query
from tests.benchmarks.standing.shapes import FIVE, SHAPES, query


def _plan(text: str) -> Plan:
    parsed = parse(text)
    assert isinstance(parsed, ContinuousQuery)
    return compile_query(parsed)


def test_there_are_forty_shapes() -> None:
    assert len({_plan(query(shape, 1)).shape for shape in SHAPES}) == len(SHAPES) == 40
    assert len(FIVE) == 5
    assert set(FIVE) < set(SHAPES)


def test_a_number_makes_another_query_of_the_same_shape() -> None:
    one, other = _plan(query(SHAPES[0], 1)), _plan(query(SHAPES[0], 2))
    assert one.shape == other.shape
    assert one.parameters != other.parameters
