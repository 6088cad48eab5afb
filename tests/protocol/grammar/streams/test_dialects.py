from __future__ import annotations

import pytest

from protocol.errors import QuerySemanticError
from protocol.grammar.parser import parse
from protocol.language.algebra import Constant, Graph, nodes
from protocol.language.model import R2S, ContinuousQuery
from protocol.windows.spec import (
    DEFAULT_REPORT,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Report,
    Strategy,
    TimeWindow,
    Unit,
    WindowSpec,
)

CLOSE = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))
CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))


def continuous(text: str) -> ContinuousQuery:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    return query


def test_a_window_tumbles_and_its_closes_are_multiples_of_the_step_unless_it_says_otherwise() -> None:
    (window,) = continuous("SELECT * FROM STREAM <u:s> [RANGE 10s] {}").windows
    assert window.window == TimeWindow(10_000, 10_000, -10_000, None)
    assert window.window.first_close == 0
    (window,) = continuous("SELECT * FROM STREAM <u:s> [RANGE 5 STEP 2 T0 1] {}").windows
    assert window.window == TimeWindow(5, 2, 1, None)


def test_a_stream_pattern_slides_by_a_millisecond_and_reports_changes_as_an_istream() -> None:
    query = continuous("SELECT * { STREAM <u:s> [RANGE 10s] { ?s ?p ?o } }")
    assert query.operator is R2S.ISTREAM
    (window,) = query.windows
    assert window.window == TimeWindow(10_000, 1, -10_000, CHANGE)
    assert (window.graph, window.declared) == ("urn:x-sparql-streams:window:1", False)


@pytest.mark.parametrize(("step", "slide"), [("STEP 2s", 2_000), ("TUMBLING", 10_000), ("SLIDE PT1M", 60_000)])
def test_a_step_written_on_a_stream_pattern_is_its_step(step: str, slide: int) -> None:
    (window,) = continuous(f"SELECT * {{ STREAM <u:s> [RANGE 10s {step}] {{ ?s ?p ?o }} }}").windows
    assert window.window == TimeWindow(10_000, slide, -10_000, CHANGE)


@pytest.mark.parametrize("operator", R2S)
def test_an_operator_that_is_written_overrides_that_of_the_dialect(operator: R2S) -> None:
    pattern = "{ STREAM <u:s> [RANGE 10s] { ?s ?p ?o } }"
    assert continuous(f"SELECT {operator} * {pattern}").operator is operator
    assert continuous(f"REGISTER {operator} q AS SELECT * {pattern}").operator is operator
    assert continuous(f"CONSTRUCT {operator.lower()} {{ ?s ?p ?o }} WHERE {pattern}").operator is operator


def test_the_same_stream_with_the_same_window_is_one_window_however_it_is_written() -> None:
    query = continuous("""
        PREFIX : <u:>
        SELECT * {
          STREAM :s [RANGE 10s] { ?a ?b ?c }
          OPTIONAL { STREAM <u:s> [range 10 SECONDS step 1 t0 -10000] { ?d ?e ?f } }
          STREAM :s [RANGE 10s STEP 2s] { ?g ?h ?i }
          STREAM :t [RANGE 10s] { ?j ?k ?l }
          STREAM :s [RANGE 10s REPORT ON_WINDOW_CLOSE] { ?m ?n ?o }
        }""")
    assert [window.graph for window in query.windows] == [f"urn:x-sparql-streams:window:{n}" for n in (1, 2, 3, 4)]
    read = [node.name for node in nodes(query.expression.pattern) if isinstance(node, Graph)]
    assert read.count(Constant("<urn:x-sparql-streams:window:1>")) == 2
    assert query.streams == ("u:s", "u:t")


def test_without_any_report_every_window_keeps_deciding_beside_a_stream_pattern() -> None:
    query = continuous("""
        SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s]
        { WINDOW <u:w> { ?a ?b ?c } STREAM <u:t> [RANGE 5s] { ?d ?e ?f } }""")
    assert [window.window.report for window in query.windows] == [DEFAULT_REPORT, CHANGE]
    assert query.operator is R2S.ISTREAM


def test_a_report_written_anywhere_leaves_the_other_windows_without_a_say() -> None:
    query = continuous("""
        SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s REPORT ON_WINDOW_CLOSE] FROM STREAM <u:s> [RANGE 2s]
        { WINDOW <u:w> { ?a ?b ?c } STREAM <u:t> [RANGE 5s] { ?d ?e ?f } }""")
    assert [window.window.report for window in query.windows] == [CLOSE, None, None]


def test_computed_every_is_periodic_on_all_windows_and_a_report_written_is_a_conjunction_with_it() -> None:
    query = continuous("""
        REGISTER QUERY q COMPUTED EVERY 5m AS
        SELECT * FROM STREAM <u:s> [RANGE 10s REPORT ON_WINDOW_CLOSE] FROM STREAM <u:s> [RANGE 2s]
        { STREAM <u:t> [RANGE 5s] { ?d ?e ?f } }""")
    periodic = Report(frozenset({Strategy.PERIODIC}), 300_000)
    both = Report(CLOSE.strategies | {Strategy.PERIODIC}, 300_000)
    assert [window.window.report for window in query.windows] == [both, periodic, periodic]
    assert query.registration is not None
    assert query.registration.every == 300_000


def test_a_period_other_than_computed_every_is_refused_with_its_place() -> None:
    text = "REGISTER QUERY q COMPUTED EVERY 5s AS SELECT * FROM STREAM <u:s> [RANGE 2s REPORT PERIODIC 3s] { ?a ?b ?c }"
    with pytest.raises(QuerySemanticError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (1, text.index("<u:s>") + 1)


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("NOW", NowWindow(None, CHANGE)),
        ("NOW T0 5", NowWindow(5, CHANGE)),
        ("LANDMARK", LandmarkWindow(None, None, None, CHANGE)),
        ("LANDMARK 7", LandmarkWindow(7, None, 7, CHANGE)),
        ("LANDMARK 7 T0 2", LandmarkWindow(7, None, 2, CHANGE)),
        ("LANDMARK 7 STEP 2", LandmarkWindow(7, 2, 7)),
        ("LANDMARK STEP 2", LandmarkWindow(None, 2, None)),
        ("TRIPLES 5", CountWindow(5, Unit.TRIPLES)),
        ("ELEMENTS 5 STEP 2", CountWindow(5, Unit.ELEMENTS, 2)),
    ],
)
def test_windows_report_at_their_steps_and_those_without_any_on_content_change(
    written: str, window: WindowSpec
) -> None:
    (member,) = continuous(f"SELECT * FROM STREAM <u:s> [{written}] {{}}").windows
    assert member.window == window


def test_a_window_that_reports_on_change_by_itself_leaves_the_others_their_say() -> None:
    query = continuous("SELECT * FROM STREAM <u:s> [NOW] FROM STREAM <u:t> [RANGE 1s] FROM STREAM <u:t> [TRIPLES 2] {}")
    assert [member.window.report for member in query.windows] == [CHANGE, DEFAULT_REPORT, DEFAULT_REPORT]
    query = continuous("SELECT * FROM STREAM <u:s> [NOW] FROM STREAM <u:t> [RANGE 1s REPORT ON_WINDOW_CLOSE] {}")
    assert [member.window.report for member in query.windows] == [None, CLOSE]


def test_a_step_that_is_written_says_when_a_stream_pattern_by_count_or_from_a_landmark_reports() -> None:
    query = continuous("""
        SELECT * {
          STREAM <u:s> [TRIPLES 3] { ?a ?b ?c }
          STREAM <u:s> [TRIPLES 3 STEP 1] { ?d ?e ?f }
          STREAM <u:s> [RANGE TRIPLES 3 STEP 1] { ?g ?h ?i }
          STREAM <u:s> [LANDMARK 0 STEP 1s] { ?j ?k ?l }
        }""")
    assert [member.window for member in query.windows] == [
        CountWindow(3, Unit.TRIPLES, 1, None, CHANGE),
        CountWindow(3, Unit.TRIPLES, 1, None, DEFAULT_REPORT),
        LandmarkWindow(0, 1000, 0, DEFAULT_REPORT),
    ]
