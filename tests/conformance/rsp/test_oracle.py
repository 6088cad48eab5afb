"""The oracle beside numbers that were worked out by hand (RSP-QL's own first)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conformance.rsp.oracle
from conformance.rsp.oracle import (
    CHANGE,
    CLOSE,
    NON_EMPTY,
    PERIODIC,
    CountWindow,
    Graphs,
    LandmarkWindow,
    NowWindow,
    OracleQuery,
    OracleStream,
    TimeWindow,
    Window,
    answers,
    evaluation_instants,
)

EX = "http://ex/"
EVERYTHING = "SELECT ?s ?o WHERE { ?s ?p ?o }"
HORIZON = (-20, 60)


def named(*names: str) -> list[str]:
    return [f"<{EX}{name}>" for name in names]


def stream(*elements: tuple[int, str], lateness: int = 0, ended: bool = True) -> OracleStream:
    """Elements of triples ``subject predicate object``, local names, with commas between triples."""
    made = OracleStream(lateness)
    for time, text in elements:
        made.append(time, [(s, p, o) for s, p, o in (named(*triple.split()) for triple in text.split(",") if triple)])
    made.ended = ended
    return made


NEARBY = stream(
    (2, "diana near a,eve near b"), (5, "carl near a"), (7, "eve near a"), (12, "diana near b"),
)  # fmt: skip
COUPON = stream((8, "alice offers ten"), (15, "bob offers coffee"))


def instants(window: Window, over: OracleStream) -> list[int]:
    return evaluation_instants([window], {window.stream: over}, None, HORIZON)


def test_example_7_the_windows_and_the_present_one_at_9() -> None:
    window = TimeWindow("nearby", None, None, 0, 5, 2, 1)
    assert [window.bounds(NEARBY, t) for t in (6, 8, 10)] == [(1, 6), (3, 8), (5, 10)]
    assert window.bounds(NEARBY, 9) == (5, 9)
    assert {triple[0] for triple in window.content(NEARBY, 9)} == set(named("eve"))


def test_example_10_is_answered_at_8_and_16() -> None:
    w1 = TimeWindow("nearby", f"{EX}w1", None, 0, 5, 2, 1)
    w2 = TimeWindow("coupon", f"{EX}w2", frozenset({CLOSE, NON_EMPTY}), 0, 2, 2, 0)
    query = OracleQuery(
        (w1, w2),
        f"SELECT ?shopper ?shop WHERE {{ GRAPH <{EX}w1> {{ ?shopper <{EX}near> ?shop }} "
        f"GRAPH <{EX}w2> {{ ?owner <{EX}offers> ?coupon }} ?owner <{EX}owns> ?shop }}",
    )
    shops = frozenset((s, p, o) for s, p, o in (named("alice", "owns", "a"), named("bob", "owns", "b")))
    found = answers(query, {"nearby": NEARBY, "coupon": COUPON}, Graphs(shops), None, HORIZON)
    carl, eve, diana, a, b = named("carl", "eve", "diana", "a", "b")
    assert {t: answer.content for t, answer in found.items()} == {
        8: tuple(sorted([frozenset({("shopper", one), ("shop", a)}) for one in (carl, eve)], key=sorted)),
        16: (frozenset({("shopper", diana), ("shop", b)}),),
    }


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        ({CLOSE}, [6, 8, 10, 12, 14, 16, 18]),
        ({CLOSE, NON_EMPTY}, [6, 8, 10, 12, 14, 16]),
        ({CHANGE}, [2, 5, 7, 12]),
        ({PERIODIC}, [6, 10, 14, 18]),
        ({PERIODIC, NON_EMPTY}, [6, 10, 14]),
        ({CHANGE, CLOSE}, [12]),
        ({NON_EMPTY}, [*range(2, 11), *range(12, 17)]),
    ],
)
def test_example_13_each_policy_has_its_instants(strategies: set[str], expected: list[int]) -> None:
    assert instants(TimeWindow("nearby", None, frozenset(strategies), 4, 5, 2, 1), NEARBY) == expected


def test_nothing_is_evaluated_before_the_watermark_reaches_it() -> None:
    open_still = stream((2, "a v b"), (8, "c v d"), ended=False)
    window = TimeWindow("s", None, frozenset({CLOSE}), 0, 4, 4, 0)
    assert instants(window, open_still) == [4]
    open_still.advance(12)
    assert instants(window, open_still) == [4, 8, 12]


def test_a_late_element_takes_part_after_the_watermark_it_met() -> None:
    late = stream((3, "a v b"), (9, "c v d"), (4, "e v f"))
    assert [element.seen for element in late.elements] == [None, 2, 8]
    window = TimeWindow("s", None, None, 0, 10, 5, -10)
    assert [len(window.content(late, t)) for t in (5, 8, 9, 10)] == [1, 1, 3, 3]


def test_an_element_within_the_lateness_is_in_its_window() -> None:
    patient = stream((3, "a v b"), (9, "c v d"), (4, "e v f"), lateness=5)
    assert len(TimeWindow("s", None, None, 0, 5, 5, 0).content(patient, 5)) == 2


def test_a_count_window_takes_triples_in_the_order_they_were_sent() -> None:
    over = stream((1, "b v x,a v x"), (4, "c v x"))
    by_triples = CountWindow("s", size=2, by="TRIPLES")
    assert {s for s, _, _ in by_triples.content(over, 4)} == set(named("a", "c"))
    assert instants(CountWindow("s", size=2, by="ELEMENTS", step=2), over) == [4]


def test_now_holds_the_elements_of_the_instant_and_a_landmark_all_after_it() -> None:
    assert instants(NowWindow("nearby"), NEARBY) == [2, 5, 7, 12]
    assert len(NowWindow("nearby").content(NEARBY, 2)) == 2
    since = LandmarkWindow("nearby", landmark=5, step=3)
    assert instants(since, NEARBY) == [8, 11, 14]
    assert [len(since.content(NEARBY, t)) for t in (5, 8, 14)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("RSTREAM", [2, 2, 1]), ("ISTREAM", [2, 1, 0]), ("DSTREAM", [0, 1, 1])],
)
def test_streaming_operators_compare_with_the_evaluation_before(operator: str, expected: list[int]) -> None:
    over = stream((1, "a v x,b v x"), (6, "b v x,c v x"), (11, "b v x"))
    query = OracleQuery((TimeWindow("s", None, None, 0, 5, 5, 0),), EVERYTHING, operator)
    found = answers(query, {"s": over}, Graphs(), None, HORIZON)
    assert [len(answer.content) for answer in found.values() if isinstance(answer.content, tuple)] == expected


def test_static_graphs_may_differ_from_instant_to_instant() -> None:
    over = stream((1, "a v x"), (6, "a v x"))
    query = OracleQuery((TimeWindow("s", f"{EX}w", None, 0, 5, 5, 0),), EVERYTHING)

    def graphs(t: int) -> Graphs:
        s, p, o = named("a", "in", "kitchen" if t <= 5 else "hall")
        return Graphs(frozenset({(s, p, o)}))

    found = answers(query, {"s": over}, graphs, None, HORIZON)
    assert [answer.content for answer in found.values()] == [
        (frozenset(zip("so", named("a", room), strict=True)),) for room in ("kitchen", "hall")
    ]


def test_the_oracle_shares_no_code_with_the_engine() -> None:
    for path in Path(conformance.rsp.oracle.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not [one for one in modules if one.partition(".")[0] in ("protocol", "spark_backend", "endpoint")]
