"""The same elements in any order and batching within the allowed lateness give the same answers, byte for byte.

docs/model.md, "Same log, same answers". With what could tell arrivals apart: blank nodes, equal messages, sums of
doubles, equal values written differently, answers without an order. Count windows keep equal timestamps in the log's
order, which is that of arrival: this is the model's own exception, so over these no two elements of a stream have one
timestamp.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.rsp.oracle import CountWindow, TimeWindow, Triple, Window
from tests.spark_backend.model.scenario_run import running
from tests.spark_backend.model.scenarios import (
    RELAXED,
    Action,
    Append,
    End,
    Register,
    Restart,
    Scenario,
    Step,
    windows_over,
)
from tests.spark_backend.oracle.queries import EX, INTEGER, KNOWS, SEEN, SHAPES, VALUE, Shape

XSD = INTEGER.removesuffix("integer")
_ANY = "?s ?p ?x"
_VALUES = f"?s {VALUE} ?x"
_EACH = f"<{EX}each>"
_DOUBLE = f"<{XSD}double>"

DELICATE = (
    Shape("all", "SELECT *", lambda first, last: first(_ANY)),
    Shape("nodes in common", "SELECT *", lambda first, last: first(_VALUES) + last(f"?s {KNOWS} ?o")),
    Shape(
        "nodes in both or not",
        "SELECT ?s ?o",
        lambda first, last: first(_VALUES) + f"OPTIONAL {{ {last('?s ?q ?o')} }}",
    ),
    Shape("no other", "SELECT ?s ?x", lambda first, last: first(_VALUES) + f"MINUS {{ {last(f'?s {KNOWS} ?o')} }}"),
    Shape(
        "sums",
        "SELECT (COUNT(*) AS ?n) (SUM(?x) AS ?sum) (AVG(?x) AS ?mean)",
        lambda first, last: first(_VALUES) + "FILTER(isNumeric(?x))",
    ),
    Shape(
        "sums that are read",
        "SELECT ?p (SUM(?x) AS ?sum) (AVG(DISTINCT ?x) * 3 AS ?more)",
        lambda first, last: first(_ANY) + "FILTER(isNumeric(?x))",
        "GROUP BY ?p HAVING (SUM(?x) > 0)",
    ),
    Shape(
        "sums of doubles",
        "SELECT ?sum (SUM(?y) AS ?next)",
        lambda first, last: f"{{ SELECT (SUM({_DOUBLE}(?x)) AS ?sum) {{ {first(_VALUES)} }} }} {last('?s ?p ?y')}",
        "GROUP BY ?sum",
    ),
    Shape(
        "extremes and samples",
        "SELECT ?p (MIN(?x) AS ?least) (MAX(?x) AS ?most) (SAMPLE(?x) AS ?some) (SAMPLE(?s) AS ?node)",
        lambda first, last: first(_ANY),
        "GROUP BY ?p",
    ),
    Shape(
        "concatenation",
        'SELECT (GROUP_CONCAT(STR(?x); separator="|") AS ?all) (GROUP_CONCAT(DISTINCT ?x) AS ?strings)',
        lambda first, last: first(_VALUES),
        "GROUP BY ?s",
    ),
    Shape("distinct sums", "SELECT DISTINCT ?y", lambda first, last: first(_VALUES) + "BIND(?x + 0 AS ?y)"),
    Shape(
        "distinct nodes",
        "SELECT DISTINCT (COUNT(DISTINCT ?s) AS ?n)",
        lambda first, last: first(_ANY),
        "GROUP BY ?p",
    ),
    Shape("some", "SELECT ?s ?x", lambda first, last: first(_ANY), "LIMIT 2"),
    Shape("some others", "SELECT ?x", lambda first, last: first(_ANY), "OFFSET 1 LIMIT 2"),
    Shape(
        "some of one",
        "SELECT *",
        lambda first, last: f"{{ SELECT ?s {{ {first(_ANY)} }} LIMIT 1 }} {last('?s ?q ?o')}",
    ),
    Shape("ordered", "SELECT ?x", lambda first, last: first(_VALUES), "ORDER BY DESC(?x) LIMIT 3"),
    Shape("ordered by what ties", "SELECT ?s ?x", lambda first, last: first(_ANY), "ORDER BY ?p"),
    Shape(
        "drawn",
        "SELECT ?s (RAND() AS ?r) (UUID() AS ?u) (STRUUID() AS ?v) (BNODE() AS ?b) (BNODE(STR(?p)) AS ?c)",
        lambda first, last: first(_ANY),
    ),
    Shape("times", "SELECT ?s ?x (timestamp(?x) AS ?t) (timestamp(?s) AS ?u)", lambda first, last: first(_ANY)),
    Shape("latest times", "SELECT ?p (MAX(timestamp(?x)) AS ?t)", lambda first, last: first(_ANY), "GROUP BY ?p"),
    Shape(
        "before",
        "SELECT ?s ?o",
        lambda first, last: first(_VALUES) + last(f"?s {KNOWS} ?o") + "FILTER(timestamp(?x) <= timestamp(?o))",
    ),
    Shape("paths", "SELECT ?s ?o", lambda first, last: first(f"?s {KNOWS}+ ?o")),
    Shape("constructed", "CONSTRUCT", lambda first, last: first(_ANY), template=(("?s", "?p", "?x"),)),
    Shape(
        "constructed nodes",
        "CONSTRUCT",
        lambda first, last: first(_ANY),
        template=(("?s", SEEN, "_:n"), ("_:n", _EACH, "?x"), ("_:m", SEEN, "_:n")),
    ),
)

_nodes = st.sampled_from([f"<{EX}s0>", f"<{EX}s1>", "_:a", "_:b"])
_LEXICAL = {
    "double": ("0.1", "1", "1E16", "-1E16", "3.3e-7"),
    "float": ("0.1", "1", "1E16", "-1E16"),
    "decimal": ("1", "1.0", "0.1", "2.5"),
    "integer": ("1", "01", "7"),
    "int": ("1", "7"),
}
_numbers = st.sampled_from([f'"{text}"^^<{XSD}{kind}>' for kind, texts in _LEXICAL.items() for text in texts])
_values = st.builds(lambda s, x: (s, VALUE, x), _nodes, _numbers | _numbers | st.sampled_from(['"one"', '"one"@en']))
_links = st.builds(lambda s, o: (s, KNOWS, o), _nodes, _nodes)
_contents = st.frozensets(_values | _values | _links, min_size=1, max_size=4)


@dataclass(frozen=True)
class Deliveries:
    """The same elements of each stream twice over, in other orders and requests; none of them late."""

    lateness: int
    shape: Shape
    windows: tuple[Window, ...]
    operator: str | None
    orders: tuple[tuple[Append, ...], ...]

    def scenario(self, order: int) -> Scenario:
        appends = [action for append in self.orders[order] for action in (append, Step(1 + order))]
        ends: list[Action] = [End(name) for name in ("a", "b")]
        lateness = dict.fromkeys(("a", "b"), self.lateness)
        return Scenario(lateness, self.shape, self.windows, self.operator, (Register(None), *appends, *ends))

    def __repr__(self) -> str:
        return "\n".join(repr(self.scenario(order)) for order in range(2))


@st.composite
def deliveries(draw: st.DrawFn) -> Deliveries:
    lateness = draw(st.integers(0, 12))
    shape = draw(st.sampled_from(DELICATE) | st.sampled_from(DELICATE) | st.sampled_from(SHAPES))
    operator = draw(st.sampled_from([None, "ISTREAM", "DSTREAM"])) if shape.select != "ASK" else None
    windows = draw(windows_over(["a", "b"], shape.needs_named))
    counted = any(isinstance(window, CountWindow) for window in windows)
    drawn = st.tuples(st.sampled_from("ab"), st.integers(0, 40), _contents)
    elements = draw(
        st.lists(drawn, min_size=2, max_size=14, unique_by=(lambda element: element[:2]) if counted else None)
    )
    if not counted and draw(st.booleans()):
        elements += draw(st.lists(st.sampled_from(elements), max_size=4))
    return Deliveries(lateness, shape, windows, operator, tuple(_delivery(draw, elements, lateness) for _ in range(2)))


Element = tuple[str, int, frozenset[Triple]]


def _delivery(draw: st.DrawFn, elements: list[Element], lateness: int) -> tuple[Append, ...]:
    left, order = sorted(elements, key=lambda element: element[1]), []
    while left:
        # Whatever is not later than the oldest one left by more than the lateness may come next.
        may = [e for e in left if e[1] - min(o[1] for o in left if o[0] == e[0]) <= lateness]
        chosen = draw(st.sampled_from(may))
        left.remove(chosen)
        order.append(chosen)
    appends: list[Append] = []
    for name, time, triples in order:
        if appends and appends[-1].stream == name and draw(st.booleans()):
            appends[-1] = Append(name, (*appends[-1].elements, (time, triples)))
        else:
            appends.append(Append(name, ((time, triples),)))
    return tuple(appends)


def check_order(delivered: Deliveries) -> None:
    told = []
    for order in range(2):
        with running(delivered.scenario(order)) as run:
            run.act()
            assert not any(element.late for stream in run.streams.values() for element in stream.elements)
            told.append(run.told)
    assert told[0] == told[1]


@settings(RELAXED, max_examples=10)
@given(deliveries())
def test_the_same_elements_in_another_order_and_other_requests_give_the_same_bytes(delivered: Deliveries) -> None:
    check_order(delivered)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(deliveries())
def test_the_same_elements_in_many_other_orders_give_the_same_bytes(delivered: Deliveries) -> None:
    check_order(delivered)


def test_equal_messages_at_one_time_are_two_with_nodes_of_their_own_in_whatever_requests() -> None:
    element = (3, frozenset({("_:a", VALUE, f'"1"^^<{INTEGER}>'), ("_:a", KNOWS, "_:b")}))
    later = (5, frozenset({("_:a", KNOWS, "_:a")}))
    window = TimeWindow("a", f"{EX}w", width=10, slide=10, origin=-10)
    shape = Shape("nodes", "SELECT ?s ?o", lambda first, last: first(f"?s {KNOWS} ?o"))
    together: tuple[Action, ...] = (Append("a", (element, element, later)),)
    apart: tuple[Action, ...] = (
        *(Append("a", (element,)), Restart(True), Append("a", (later,))),
        *(Step(1), Restart(False), Append("a", (element,))),
    )
    told = []
    for actions in (together, apart):
        scenario = Scenario({"a": 2}, shape, (window,), None, (Register(None), *actions, End("a")))
        with running(scenario) as run:
            run.act()
            told.append(run.told)
    assert told[0] == told[1]
    (evaluation,) = told[0]
    solutions = json.loads(evaluation.data)["results"]["bindings"]
    assert len(solutions) == 3
    assert len({term["value"] for solution in solutions for term in solution.values()}) == 5
