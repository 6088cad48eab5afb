"""The queries of *Streaming SPARQL: Extending SPARQL to Process Data Streams* (ESWC 2008), over small streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ProtocolError
from protocol.grammar.parser import parse
from tests.spark_backend.surface.asking import Element, answers, quad, solutions

MINUTE = 60_000

TURBINES: list[Element] = [
    ("td", 30_000, ":t1 :stopCnt 7 ; :strCnt 1 ."),
    ("td", 5 * MINUTE, ":t1 :strCnt 2 ."),
    ("td", 5 * MINUTE, ":t1 :strCnt 2 ."),
    ("td", 40 * MINUTE, ":t1 :strCnt 3 . :t2 :strCnt 4 ."),
    ("td", 41 * MINUTE, ":t2 :stopCnt 8 ."),
]


def test_listing_1_1_the_window_of_a_group_takes_the_place_of_the_streams(tmp_path: Path) -> None:
    query = """SELECT ?x ?y ?z FROM STREAM :td WINDOW RANGE 30 MINUTE SLIDE
    WHERE { ?x :strCnt ?y . OPTIONAL { ?x :stopCnt ?z . WINDOW ELEMS 1500 } }"""
    found = answers(tmp_path, query, TURBINES, 45 * MINUTE)
    # The 30 minutes (10, 40] have lost :stopCnt of :t1, the last 1500 triples have not.
    assert found[1 * MINUTE] == solutions(("t1", "1", "7"))
    assert found[40 * MINUTE] == solutions(("t1", "3", "7"), ("t2", "4", None))
    assert found[41 * MINUTE] == solutions(("t1", "3", "7"), ("t2", "4", "8"))
    # Every close of the dataset's window, and nothing between: the group's window does not decide.
    assert list(found) == [minute * MINUTE for minute in (*range(1, 35), *range(40, 46))]


def test_the_window_of_a_group_counts_triples_and_leaves_its_groups_alone(tmp_path: Path) -> None:
    query = """SELECT ?x ?y ?z FROM STREAM :td WINDOW RANGE 1 MINUTE FIXED
    WHERE { ?x :strCnt ?y OPTIONAL { ?x ?stop ?z { ?x :strCnt ?y } FILTER(?stop = :stopCnt) WINDOW ELEMS 2 } }"""
    found = answers(tmp_path, query, TURBINES, 45 * MINUTE)
    # In (40, 41] there is no :strCnt; at 40 the last two triples are those of minute 40.
    assert found == {
        1 * MINUTE: solutions(("t1", "1", "7")),
        5 * MINUTE: solutions(("t1", "2", None)),
        40 * MINUTE: solutions(("t1", "3", None), ("t2", "4", None)),
        41 * MINUTE: solutions(),
    }


def test_what_is_static_is_there_in_the_group_of_a_window_too(tmp_path: Path) -> None:
    query = """SELECT ?x ?z ?place FROM STREAM :td WINDOW RANGE 30 MINUTE FIXED
    WHERE { ?x :strCnt ?y { ?x :stopCnt ?z ; :at ?place WINDOW ELEMS 1500 } }"""
    found = answers(tmp_path, query, TURBINES, 60 * MINUTE, [quad("t1", "at", "hill"), quad("t2", "at", "sea")])
    assert found == {
        30 * MINUTE: solutions(*[("t1", "7", "hill")] * 2),
        60 * MINUTE: solutions(("t1", "7", "hill"), ("t2", "8", "sea")),
    }


@pytest.mark.parametrize(
    "named",
    [
        "FROM NAMED STREAM :td WINDOW RANGE 30 MINUTE FIXED WHERE { GRAPH :td",
        "FROM STREAM :td WINDOW RANGE 30 MINUTE FIXED WHERE { GRAPH :td",
        "FROM NAMED WINDOW :w ON :td [RANGE 30m] WHERE { WINDOW :w",
        "FROM STREAM :other [RANGE 30m] FROM NAMED STREAM :td [RANGE 30m] WHERE { GRAPH :td",
    ],
)
def test_the_window_of_a_group_takes_the_place_of_the_one_that_its_graph_is(tmp_path: Path, named: str) -> None:
    query = f"SELECT ?x ?y ?z {named} {{ ?x :strCnt ?y OPTIONAL {{ ?x :stopCnt ?z WINDOW ELEMS 1500 }} }} }}"
    other: list[Element] = [("other", 41 * MINUTE, ":t1 :stopCnt 9 .")] if ":other" in named else []
    # Nothing else is in the graph of a stream: no other stream, and nothing that is static.
    found = answers(tmp_path, query, [*TURBINES, *other], 60 * MINUTE, [quad("t1", "stopCnt", "never")])
    assert found == {
        30 * MINUTE: solutions(("t1", "1", "7"), ("t1", "2", "7")),
        60 * MINUTE: solutions(("t1", "3", "7"), ("t2", "4", "8")),
    }


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        ("RANGE 1000 SLIDE", "RANGE 1s STEP 1ms"),
        ("RANGE 2 MINUTE SLIDE", "RANGE 2m STEP 1m"),
        ("RANGE 1 HOUR SLIDE 5 MINUTE", "RANGE 1h STEP 5m"),
        ("RANGE 1 DAY FIXED", "RANGE 1d STEP 1d"),
        ("RANGE 5 S", "RANGE 5s"),
        ("ELEMS 15", "TRIPLES 15"),
    ],
)
def test_listing_1_3_windows_of_the_dataset(written: str, ours: str) -> None:
    query = (
        "PREFIX : <http://ex/> SELECT ?w ?x ?y ?z FROM STREAM :td {} WHERE {{ ?w :name ?x }} UNION {{ ?y :power ?z }}"
    )
    printed, same = parse(query.format(f"WINDOW {written}")), parse(query.format(f"[{ours}]"))
    assert (printed.expression, printed.windows) == (same.expression, same.windows)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("FROM STREAM :s WINDOW ¦ROWS 5 { ?a ?b ?c }", "expected RANGE or ELEMS after WINDOW, found ROWS"),
        ("FROM STREAM :s WINDOW RANGE ¦{ ?a ?b ?c }", "expected a duration after RANGE"),
        ("FROM STREAM :s WINDOW ELEMS ¦0 { ?a ?b ?c }", "write at least ELEMS 1"),
        ("FROM STREAM :s [NOW] { ?a ?b ?c WINDOW ELEMS 5 ¦?d ?e ?f }", "expected } after the window"),
        ("FROM NAMED STREAM :s [NOW] { ?a ?b ?c ¦WINDOW ELEMS 5 }", "takes the place of FROM STREAM's"),
        ("FROM STREAM :s [NOW] { GRAPH ?g { ?a ?b ?c ¦WINDOW ELEMS 5 } }", "write GRAPH <stream> for each that .g"),
        ("FROM STREAM :s [NOW] { GRAPH :g { ?a ?b ?c ¦WINDOW ELEMS 5 } }", "and GRAPH reads neither"),
        ("FROM STREAM :s [NOW] { STREAM :s [NOW] { ?a ?b ?c ¦WINDOW ELEMS 5 } }", "and STREAM reads neither"),
        ("FROM STREAM :s [NOW] { CURRENT f { ?a ?b ?c ¦WINDOW ELEMS 5 } }", "and CURRENT reads neither"),
    ],
)
def test_what_is_wrong_with_a_window_is_said_at_its_place(query: str, said: str) -> None:
    text = f"PREFIX : <http://ex/> SELECT * {query}"
    with pytest.raises(ProtocolError, match=said) as raised:
        parse(text.replace("¦", ""))
    assert raised.value.column == text.index("¦") + 1
