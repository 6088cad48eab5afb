from __future__ import annotations

import pytest

from conformance.rsp.oracle import CHANGE, CLOSE, NON_EMPTY, PERIODIC, CountWindow, LandmarkWindow, TimeWindow
from conformance.rsp.oracle.reading import read_query
from conformance.rsp.oracle.window_text import duration, instant, window

BASE = "http://ex/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", 10), ("10s", 10_000), ("2 minutes", 120_000), ("PT0.5S", 500), ("P1DT1H", 90_000_000),
        ("3 W", 1_814_400_000),
    ],
)  # fmt: skip
def test_durations_are_milliseconds(text: str, expected: int) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("-5", -5), ('"7"', 7), ("1970-01-01T00:00:01Z", 1000), ('"1970-01-01T01:00:00+01:00"^^xsd:dateTime', 0)],
)
def test_times_are_milliseconds_since_the_epoch(text: str, expected: int) -> None:
    assert instant(text) == expected


def test_what_a_window_leaves_unsaid_is_as_the_language_says() -> None:
    assert window("RANGE 10", "s", None, pattern=False) == TimeWindow("s", None, None, 0, 10, 10, -10)
    assert window("RANGE 10", "s", None, pattern=True) == TimeWindow("s", None, None, 0, 10, 1, -10)
    assert window("RANGE 10 TUMBLING", "s", None, pattern=True) == TimeWindow("s", None, None, 0, 10, 10, -10)
    assert window("RANGE TRIPLES 3", "s", None, pattern=False) == CountWindow("s", size=3, steps=False)
    assert window("LANDMARK", "s", None, pattern=False) == LandmarkWindow("s", of_query=True)


def test_a_report_has_its_strategies_and_period() -> None:
    made = window("RANGE 4 STEP 2 T0 1 REPORT PERIODIC 3 NON_EMPTY_CONTENT", "s", None, pattern=False)
    assert made == TimeWindow("s", None, frozenset({PERIODIC, NON_EMPTY}), 3, 4, 2, 1)


def test_what_is_no_window_is_not_read() -> None:
    with pytest.raises(ValueError, match="no window that the oracle knows"):
        window("RANGE", "s", None, pattern=False)


def test_clauses_are_taken_out_and_windows_become_graphs() -> None:
    read = read_query(
        "PREFIX : <http://ex/> SELECT ISTREAM ?s FROM :g FROM NAMED WINDOW :w ON :s [RANGE 5] "
        "FROM STREAM <r> [NOW] WHERE { WINDOW :w { ?s :p ?o } WINDOW ?v { ?s :q ?o } }",
        BASE,
    ).query
    assert [(one.stream, one.graph) for one in read.windows] == [("http://ex/s", "http://ex/w"), ("http://ex/r", None)]
    assert (read.operator, read.default_graphs) == ("ISTREAM", ("http://ex/g",))
    assert "GRAPH :w {" in read.sparql
    assert "VALUES ?v { <http://ex/w> } GRAPH ?v {" in read.sparql
    assert "FROM" not in read.sparql


def test_the_pattern_form_reports_on_change_with_istream() -> None:
    read = read_query(
        "SELECT ?s WHERE { STREAM <s> [RANGE 5] { ?s ?p ?o } STREAM <s> [TRIPLES 2 STEP 2] { ?s ?p ?o } }", BASE
    )
    assert read.query.operator == "ISTREAM"
    assert [one.strategies for one in read.query.windows] == [frozenset({CHANGE}), frozenset({CLOSE, NON_EMPTY})]


def test_computed_every_beats_on_all_windows() -> None:
    select = "SELECT ?s FROM STREAM <s> [RANGE 5] FROM STREAM <r> [RANGE 5] WHERE { ?s ?p ?o }"
    read = read_query(f"REGISTER QUERY q COMPUTED EVERY 10s AS {select}", BASE)
    assert [(one.strategies, one.period) for one in read.query.windows] == [(frozenset({PERIODIC}), 10_000)] * 2
    assert (read.kind, read.name, read.publishes) == ("QUERY", "q", False)


def test_a_construct_that_is_registered_publishes_its_template() -> None:
    read = read_query(
        "REGISTER STREAM <http://ex/out> AS CONSTRUCT { ?s <p> 1 } FROM STREAM <s> [NOW] WHERE { ?s ?p ?o }", BASE
    )
    assert read.publishes
    assert read.name == "http://ex/out"
    assert read.query.template == " ?s <p> 1 "
    assert read.query.sparql.split()[:2] == ["SELECT", "*"]
