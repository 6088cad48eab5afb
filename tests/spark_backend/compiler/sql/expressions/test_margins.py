"""What is calculated of several variables compares as one-shot, and is nearly never asked of the prelude."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from protocol.terms import facets
from spark_backend.compiler.sql.expressions.expressions import ExpressionCompiler, Prelude
from spark_backend.compiler.sql.tree.expressions import Column
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.compiler.sql.values import Value
from tests.spark_backend.compiler.one_shot import PREFIXES, Content, assert_same_solutions, turtle

NUMBERS = (
    *("0", "1", "-1", "2", "3", "7", "0.1", "0.2", "0.3", "-0.3", "2.5", "1000000.000001"),
    *("1e0", "2e0", "0.1e0", "0.2e0", "0.3e0", "0.30000000000000004e0", "-0.0e0", "1e300", "-1e308"),
    *("9007199254740993", "9007199254740992", "9007199254740991", "0.123456789012345678", "0.000000000000000001"),
    *("'0.1'^^xsd:float", "'2.5'^^xsd:float", "'NaN'^^xsd:double", "'INF'^^xsd:double", "'x'", "true", ":b"),
)
# Of two NaN Oxigraph compares also the signs, which depend on what they were calculated by.
FINITE = tuple(number for number in NUMBERS if not any(part in number for part in ("NaN", "INF", "e30")))
_SECONDS = (
    *("1T00:00:00Z", "1T00:00:00", "1T00:00:05Z", "1T00:00:05", "1T00:00:04.999999Z", "1T00:00:04.999Z"),
    *("2T00:00:00+13:59", "2T00:00:00.0005Z", "2T00:00:00.0000001Z"),
)
TIMES = tuple(f"'2026-01-0{rest}'^^xsd:dateTime" for rest in _SECONDS)
OTHERS = ("1", "'PT5S'^^xsd:dayTimeDuration", "'2026-01-01'^^xsd:date")
DURATIONS = ("'PT5S'", "'P1DT0H0.5S'", "'-PT4.999S'", "'PT0S'", "'PT0.0005S'", "'P1D'", "'pt5s'", "'P'", "'PT5.0000S'")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def _calculated(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def above(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.tuples(parts, st.sampled_from("+-*/"), parts).map(lambda found: f"({' '.join(found)})")
        return binary | parts.map(lambda part: f"ABS({part})") | parts.map(lambda part: f"(-{part})")

    return st.recursive(leaves, above, max_leaves=4)


def _content(one: Iterable[str], other: Iterable[str]) -> Content:
    return Content({None: f":a :p {', '.join(one)} . :b :q {', '.join(other)} ."})


def _assert_all_compare(left: str, right: str, content: Content) -> None:
    columns = " ".join(f"(({left}) {operator} ({right}) AS ?z{place})" for place, operator in enumerate(OPERATORS))
    assert_same_solutions(f"SELECT ?x ?y {columns} {{ ?a :p ?x . ?b :q ?y }}", content)


@given(
    calculated=st.tuples(*[_calculated(st.sampled_from(("?x", "?y", "?x", "?y", "1", "0.1", "2.5e0")))] * 2),
    one=st.sets(st.sampled_from(FINITE), min_size=1, max_size=6),
    other=st.sets(st.sampled_from(FINITE), min_size=1, max_size=6),
)
def test_numbers_compare_as_one_shot(calculated: tuple[str, str], one: set[str], other: set[str]) -> None:
    _assert_all_compare(*calculated, _content(sorted(one), sorted(other)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("?x - ?y", "0.1"),
        ("ABS(?x - ?y)", "1"),
        ("?x + 1", "?y"),
        ("?x * ?y", "0.02"),
        ("?x / ?y", "?x"),
        ("-?x", "?y"),
    ],
)
def test_any_two_numbers_compare_as_one_shot(left: str, right: str) -> None:
    _assert_all_compare(left, right, _content(NUMBERS, NUMBERS))


def test_constants_alone_compare_as_one_shot() -> None:
    for left, right in (("1 + 0.1", "1.1"), ("'PT5S'^^xsd:dayTimeDuration + 'PT1S'^^xsd:dayTimeDuration", "?x")):
        _assert_all_compare(left, right, _content(("'PT6S'^^xsd:dayTimeDuration",), ("1",)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *(("?x - ?y", f"{duration}^^xsd:dayTimeDuration") for duration in DURATIONS),
        ("?x", "?y + 'PT5S'^^xsd:dayTimeDuration"),
        ("?x - 'PT5S'^^xsd:dayTimeDuration", "?y"),
        ("?x - ?y - 'PT4.999S'^^xsd:dayTimeDuration", "'PT5S'^^xsd:dayTimeDuration"),
        ("?x - '2026-01-01T00:00:00Z'^^xsd:dateTime", "'PT5S'^^xsd:dayTimeDuration"),
    ],
)
def test_any_two_times_compare_as_one_shot(left: str, right: str) -> None:
    _assert_all_compare(left, right, _content((*TIMES, *OTHERS), (*TIMES, *OTHERS)))


@pytest.mark.parametrize(
    ("condition", "one", "other", "is_asked"),
    [
        ("?x - ?y > 0.1", "0.4", "0.2", False),
        ("?x - ?y > 0.1", "0.3", "0.2", True),  # in doubles it is less
        ("?x - ?y > 0.1", "3e-1", "2e-1", False),  # of doubles that is the answer
        ("?x + 1 = ?y", "4", "5", False),
        ("ABS(?x - ?y) < 2", "12", "14", False),
        ("?x * 0.5 <= ?y", "7", "3.4999", False),
        ("?x * 0.5 <= ?y", "0.000700007", "3.4999", False),
        ("?x * 0.5 <= ?y", "0.0007000007", "3.4999", True),  # products that have more than 18 places are errors
        ("(?x - ?y) * (?x - ?y) < 7", "48.137154", "11.576124", False),
        ("?x * ?x * ?y < 7", "48.1371", "11.576124", False),
        ("?x * ?x * ?y < 7", "48.1371", "11.5761243", True),
        ("?x * ?y < 7", "7e-1", "3.4999", False),
        ("?x * ?y < 7", "2", "3", False),
        ("?x / 3 = ?y", "9", "3", True),
        ("?x / ?y < 5", "9", "0", True),
        ("?x - ?y = 1", "9007199254740993", "9007199254740992", True),
        ("?x - ?y > 'PT5S'^^xsd:dayTimeDuration", TIMES[2], TIMES[0], False),
        ("?x < ?y + 'PT5S'^^xsd:dayTimeDuration", TIMES[4], TIMES[0], True),  # a microsecond is not told apart
        ("?x - ?y > 'PT5S'^^xsd:dayTimeDuration", TIMES[2], TIMES[1], True),
    ],
)
def test_the_prelude_is_asked_where_doubles_do_not_decide(condition: str, one: str, other: str, is_asked: bool) -> None:
    pattern = read_query(f"{PREFIXES} SELECT * {{ ?a :p ?x . ?b :q ?y FILTER({condition}) }}").pattern
    (filtered,) = (node for node in a.nodes(pattern) if isinstance(node, a.Filter))
    prelude = Prelude(None)
    values = {a.Variable(name): Value(Column(name), Column(f"{name}_k"), Column(f"{name}_n")) for name in "xy"}
    truth = ExpressionCompiler(values, prelude, Column("instant")).truth(filtered.condition)
    asked: list[tuple[str, ...]] = []

    def ask(one: str, other: str = "") -> str:
        asked.append((one, other))
        return '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'

    with duckdb.connect() as made:
        for function in prelude.functions.values():
            asking: Any = ask if function.arguments == 2 else lambda term: ask(term)
            made.create_function(function.name, asking, ["VARCHAR"] * function.arguments, "VARCHAR")
        terms = [triple[2] for triple in turtle(f":a :p {one} . :b :q {other} .")]
        columns = [
            column
            for name, term in zip("xy", terms, strict=True)
            for column in zip((name, f"{name}_k", f"{name}_n"), (term, *facets(term)), strict=True)
        ]
        row = ", ".join(f"${place} AS {name}" for place, (name, _) in enumerate(columns, 1))
        made.execute(f"CREATE TABLE t AS SELECT {row}", [value for _, value in columns])
        made.execute(f"SELECT {named(truth.written)} FROM t").fetchall()
    assert bool(asked) is is_asked
