"""RSP-QL, C-SPARQL and CQELS forms of one query mean one and the same model (docs/language.md, "Stream clauses").

1 s  :a :p 1      2 s  :b :p 2      3 s  (nothing new)      4 s  :c :p 3      5 s  :a :p 1
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.spark_backend.surface.asking import Element, answers, documents, quad, solutions

STREAM: list[Element] = [
    ("s", 1000, ":a :p 1 ."),
    ("s", 2000, ":b :p 2 ."),
    ("s", 4000, ":c :p 3 ."),
    ("s", 5000, ":a :p 1 ."),
]
NOTHING: Counter[tuple[str | None, ...]] = Counter()
A, B, C = ("a",), ("b",), ("c",)
SELECT, WHERE, NON_EMPTY = "SELECT ?x", "{ ?x :p ?y }", "REPORT NON_EMPTY_CONTENT"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s] { WINDOW :w { ?x :p ?y } }",
        "select rstream ?x from named window :w on stream :s [range PT2S slide PT1S] where { window :w { ?x :p ?y } }",
        "SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE 2000 STEP 1 second] { GRAPH :w { ?x :p ?y } }",
        "SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE 2 sec STEP 1000ms T0 -2000] { WINDOW ?w { ?x :p ?y } }",
        "SELECT ?x FROM NAMED STREAM :s [RANGE 2s STEP 1s] { GRAPH :s { ?x :p ?y } }",
        "SELECT ?x FROM NAMED STREAM :s [RANGE 2s STEP 1s] { WINDOW :s { ?x :p ?y } }",
        "SELECT ?x FROM STREAM :s [RANGE 2s STEP 1s] { ?x :p ?y }",
        "REGISTER QUERY q AS SELECT ?x FROM STREAM :s [RANGE 2 seconds SLIDE 1 seconds] WHERE { ?x :p ?y }",
        "REGISTER RSTREAM <http://ex/q> AS SELECT ?x FROM STREAM :s [RANGE 2s STEP 1s] WHERE { ?x :p ?y }",
        "SELECT ?x FROM STREAM :s [RANGE 2s STEP 1s REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT] { ?x :p ?y }",
        "SELECT ?x FROM STREAM :s [RANGE 2s STEP 1s report non_empty_content on_window_close] { ?x :p ?y }",
        f"REGISTER QUERY q COMPUTED EVERY 1s AS {SELECT} FROM STREAM :s [RANGE 2s STEP 1s {NON_EMPTY}] {WHERE}",
        "SELECT RSTREAM ?x { STREAM :s [RANGE 2s STEP 1s REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT] { ?x :p ?y } }",
    ],
)
def test_a_window_that_closes_every_second_is_the_same_in_every_form(tmp_path: Path, query: str) -> None:
    # (t - 2, t]: at 1 {1}, at 2 {1, 2}, at 3 {2}, at 4 {4}, at 5 {4, 5}, at 6 {5}; at 7 nothing, and no report.
    assert answers(tmp_path, query, STREAM, 8000) == {
        1000: solutions(A),
        2000: solutions(A, B),
        3000: solutions(B),
        4000: solutions(C),
        5000: solutions(C, A),
        6000: solutions(A),
    }


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { STREAM :s [RANGE 2s] { ?x :p ?y } }",
        "select ISTREAM ?x where { stream <http://ex/s> [range 2s step 1ms report on_content_change] { ?x :p ?y } }",
        "REGISTER ISTREAM q AS SELECT ?x { STREAM :s [RANGE 2s] { ?x :p ?y } }",
        f"SELECT ISTREAM ?x FROM NAMED STREAM :s [RANGE 2s STEP 1ms REPORT ON_CONTENT_CHANGE] {{ WINDOW ?w {WHERE} }}",
        "SELECT ISTREAM ?x FROM STREAM :s [RANGE 2s STEP 1ms REPORT ON_CONTENT_CHANGE] { ?x :p ?y }",
    ],
)
def test_a_window_that_slides_continuously_is_the_same_in_every_form(tmp_path: Path, query: str) -> None:
    # At each element, what (t - 2, t] has and had not at the element before: at 5 :a is back, having left at 3.
    assert answers(tmp_path, query, STREAM, 8000) == {
        1000: solutions(A),
        2000: solutions(B),
        4000: solutions(C),
        5000: solutions(A),
    }


@pytest.mark.parametrize(
    "query",
    [
        "REGISTER QUERY q COMPUTED EVERY 2s AS SELECT ?x FROM STREAM :s [RANGE 4s STEP 1s] { ?x :p ?y }",
        "SELECT ?x FROM STREAM :s [RANGE 4s STEP 1s REPORT PERIODIC PT2S] { ?x :p ?y }",
        "SELECT RSTREAM ?x { STREAM :s [RANGE 4s STEP 1s REPORT PERIODIC 2 seconds] { ?x :p ?y } }",
    ],
)
def test_what_is_computed_periodically_is_so_in_every_form(tmp_path: Path, query: str) -> None:
    # The multiples of 2 s, whatever is in the window: (-2, 2], (0, 4], (2, 6], (4, 8].
    assert answers(tmp_path, query, STREAM, 8000) == {
        2000: solutions(A, B),
        4000: solutions(A, B, C),
        6000: solutions(C, A),
        8000: solutions(A),
    }


@pytest.mark.parametrize(
    "word", ["TRIPLES 2", "RANGE TRIPLES 2", "ELEMENTS 2", "elements 2 step 1", "range triples 2 step 1"]
)
def test_a_window_by_count_is_the_same_in_every_form(tmp_path: Path, word: str) -> None:
    query = f"SELECT ?x FROM STREAM :s [{word}] {{ ?x :p ?y }}"
    expected = {1000: solutions(A), 2000: solutions(A, B), 4000: solutions(B, C), 5000: solutions(C, A)}
    assert answers(tmp_path / "1", query, STREAM, 8000) == expected
    query = f"SELECT RSTREAM ?x {{ STREAM :s [{word}] {{ ?x :p ?y }} }}"
    assert answers(tmp_path / "2", query, STREAM, 8000) == expected


def test_now_and_landmark_hold_the_instant_and_everything_since(tmp_path: Path) -> None:
    query = "SELECT ?x FROM STREAM :s [NOW] { ?x :p ?y }"
    assert answers(tmp_path / "1", query, STREAM, 8000) == {
        1000: solutions(A),
        2000: solutions(B),
        4000: solutions(C),
        5000: solutions(A),
    }
    query = "SELECT ?x FROM STREAM :s [LANDMARK 1970-01-01T00:00:01Z] { ?x :p ?y }"
    assert answers(tmp_path / "2", query, STREAM, 8000) == {
        2000: solutions(B),
        4000: solutions(B, C),
        5000: solutions(A, B, C),
    }
    query = 'SELECT ?x FROM STREAM :s [landmark "1970-01-01T00:00:01"^^xsd:dateTime step 3s] { ?x :p ?y }'
    assert answers(tmp_path / "3", query, STREAM, 8000) == {4000: solutions(B, C), 7000: solutions(A, B, C)}


def test_a_window_clause_stands_beside_static_knowledge_and_another_window(tmp_path: Path) -> None:
    static = [quad("a", "label", '"A"'), quad("b", "label", '"B"'), quad("c", "label", '"C"', "g")]
    query = """SELECT ?x ?now ?label
    FROM NAMED WINDOW :long ON :s [RANGE 4s STEP 4s] FROM NAMED WINDOW :short ON :s [RANGE 1s STEP 4s T0 3000]
    { WINDOW :long { ?x :p ?y } WINDOW :short { ?now :p ?z } OPTIONAL { ?x :label ?label } }"""
    # Both close at 4 s: (0, 4] and (3, 4]. The default graph is the store's, and :c has its label in a named one.
    assert answers(tmp_path, query, STREAM, 4000, static) == {
        4000: solutions(("a", "c", "A"), ("b", "c", "B"), ("c", "c", None))
    }


def test_the_first_evaluations_predecessor_is_empty_and_dstream_tells_what_is_gone(tmp_path: Path) -> None:
    query = "REGISTER DSTREAM gone AS SELECT ?x FROM STREAM :s [RANGE 2s STEP 1s REPORT ON_WINDOW_CLOSE] { ?x :p ?y }"
    assert answers(tmp_path, query, STREAM, 8000) == {
        1000: NOTHING,
        2000: NOTHING,
        3000: solutions(A),
        4000: solutions(B),
        5000: NOTHING,
        6000: solutions(C),
        7000: solutions(A),
        8000: NOTHING,
    }


def test_ask_is_whether_the_operator_gives_a_solution(tmp_path: Path) -> None:
    def truths(name: str, query: str) -> dict[int, bool]:
        found = documents(tmp_path / name, query, STREAM, 5999)
        return {at: json.loads(document)["boolean"] for at, document in found.items()}

    # (t - 10, t]: what came again at 5 is not new.
    new = {1000: True, 2000: True, 4000: True, 5000: False}
    assert truths("pattern", "ASK { STREAM :s [RANGE 10s] { ?x :p ?y } }") == new
    changes = "FROM STREAM :s [RANGE 10s STEP 1ms REPORT ON_CONTENT_CHANGE]"
    assert truths("registered", f"REGISTER ISTREAM q AS ASK {changes} {{ ?x :p ?y }}") == new
    assert truths("window", f"ASK {changes} {{ ?x :p ?y }}") == dict.fromkeys(new, True)
