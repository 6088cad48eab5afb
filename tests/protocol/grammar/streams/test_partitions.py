"""PARTITION BY and WHERE of windows: keys and conditions, what they change, and what is none."""

from __future__ import annotations

import pytest

from protocol.errors import QuerySyntaxError, UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import CountWindow, Partition, Report, Strategy, TriplePart, Unit, WindowSpec

SUBJECT, PREDICATE, OBJECT = TriplePart


def window(specification: str) -> WindowSpec:
    text = f"PREFIX : <http://ex/> SELECT * FROM STREAM :s {specification} WHERE {{ ?s ?p ?o }}"
    query = parse(text, base="http://base/")
    assert isinstance(query, ContinuousQuery)
    return query.windows[0].window


@pytest.mark.parametrize(
    ("keys", "partition"),
    [
        ("SUBJECT", Partition((SUBJECT,))),
        ("object", Partition((OBJECT,))),
        ("PREDICATE SUBJECT PREDICATE", Partition((PREDICATE, SUBJECT))),
        (":b <a> :b", Partition((), ("http://base/a", "http://ex/b"))),
        ("SUBJECT # and\n :a", Partition((SUBJECT,), ("http://ex/a",))),
    ],
)
def test_keys_are_parts_of_triples_and_properties_in_any_order(keys: str, partition: Partition) -> None:
    assert window(f"[ELEMENTS 2 PARTITION BY {keys}]") == CountWindow(2, Unit.ELEMENTS, partition=partition)


def test_it_stands_between_the_step_and_the_origin() -> None:
    found = window("[TRIPLES 3 STEP 2 PARTITION BY :a T0 2026-01-01T00:00:00Z REPORT PERIODIC PT0.5S]")
    assert isinstance(found, CountWindow)
    assert (found.step, found.origin, found.partition) == (2, 1_767_225_600_000, Partition((), ("http://ex/a",)))
    assert found.report == Report(frozenset({Strategy.PERIODIC}), 500)


@pytest.mark.parametrize("body", ["RANGE 10s", "RANGE 10 STEP PT0.5S", "NOW", "LANDMARK", "10s SLIDE 5s"])
def test_windows_that_hold_an_interval_are_what_they_are_without_it(body: str) -> None:
    assert window(f"[{body} PARTITION BY SUBJECT :a]") == window(f"[{body}]")


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ("[ELEMENTS 1 PARTITION BY ¦]", "expected SUBJECT, PREDICATE, OBJECT or the IRI of a property"),
        ("[ELEMENTS 1 PARTITION BY ¦?x]", "expected SUBJECT, PREDICATE, OBJECT or the IRI of a property"),
        ("[ELEMENTS 1 PARTITION ¦SUBJECT]", "expected BY after PARTITION"),
        ("[ELEMENTS 1 ¦PARTITIONBY SUBJECT]", "expected STEP, SLIDE, SLIDING, PARTITION BY"),
        ("[ELEMENTS 1 PARTITION BY SUBJECT¦, :b]", "expected WHERE, T0, REPORT or ]"),
        ("[ELEMENTS 1 T0 3 ¦PARTITION BY SUBJECT]", "expected REPORT or ]"),
        ("[ELEMENTS 1 PARTITION BY ¦none:a]", "none:"),
    ],
)
def test_what_is_no_key_is_an_error_at_its_place(specification: str, said: str) -> None:
    before, _, after = specification.partition("¦")
    with pytest.raises(QuerySyntaxError) as raised:
        window(before + after)
    assert said in raised.value.detail
    assert raised.value.column == len("PREFIX : <http://ex/> SELECT * FROM STREAM :s ") + len(before) + 1


def count_window(specification: str) -> CountWindow:
    found = window(specification)
    assert isinstance(found, CountWindow)
    return found


def test_what_messages_have_to_match_is_kept_as_an_ask_query() -> None:
    found = count_window("[ELEMENTS 1 PARTITION BY :a WHERE { ?m :v ?x FILTER(?x > 3) } T0 5]")
    assert (found.origin, found.partition) == (5, Partition((), ("http://ex/a",)))
    alike = count_window("[ELEMENTS 1 PARTITION BY <http://ex/a> WHERE{?m <http://ex/v> ?x.FILTER(?x>3)}]")
    assert found.where == alike.where
    assert found.where is not None
    assert "ASK" in found.where


@pytest.mark.parametrize(
    ("specification", "report"),
    [
        ("[ELEMENTS 1 PARTITION BY :a WHERE { ?s ?p ?o }]", Report(frozenset({Strategy.ON_CONTENT_CHANGE}))),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o } REPORT PERIODIC 3]", Report(frozenset({Strategy.PERIODIC}), 3)),
        ("[ELEMENTS 1 STEP 2 PARTITION BY :a WHERE { ?s ?p ?o }]", None),
    ],
)
def test_it_reports_on_change_of_the_content_unless_something_else_is_written(
    specification: str, report: Report | None
) -> None:
    assert count_window(specification).report == report


def test_without_a_key_all_is_in_one_partition() -> None:
    assert count_window("[TRIPLES 3 WHERE { ?s ?p ?o }]").partition == Partition()
    assert count_window("[TRIPLES 3]").partition is None


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ("[ELEMENTS 1 WHERE { ?s ?p ?o ¦OPTIONAL { ?s ?q ?x } }]", "OPTIONAL is not evaluated there"),
        ("[ELEMENTS 1 WHERE { { ?s ?p ?o } ¦UNION { ?o ?p ?s } }]", "UNION is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ¦GRAPH ?g { ?s ?p ?o } }]", "GRAPH is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o ¦BIND(1 AS ?x) }]", "BIND is not evaluated there"),
        ("[ELEMENTS 1 WHERE { { ?s ?p ?o } ¦SEQ { ?o ?p ?s } }]", "SEQ is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ¦SELECT * { ?s ?p ?o } }]", "SELECT is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o FILTER(?o < ¦NOW()) }]", "NOW is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o FILTER(¦RAND() < 0.5) }]", "RAND is not evaluated there"),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o FILTER(¦timestamp(?o) > 3) }]", "timestamp is not evaluated there"),
        (
            "[ELEMENTS 1 WHERE { ?s ?p ?o FILTER(¦<urn:x-sparql-streams:timestamp>(?o) > 3) }]",
            "timestamp() is not evaluated in a window's WHERE",
        ),
        (
            "[ELEMENTS 1 WHERE { ?s ?p ?o FILTER EXISTS { ¦STREAM :t [NOW] { ?s ?p ?o } } }]",
            "STREAM is not evaluated there",
        ),
    ],
)
def test_what_is_more_than_a_message_can_tell_is_not_evaluated(specification: str, said: str) -> None:
    before, _, after = specification.partition("¦")
    with pytest.raises(UnsupportedFeature) as raised:
        window(before + after)
    assert said in raised.value.detail
    assert raised.value.column == len("PREFIX : <http://ex/> SELECT * FROM STREAM :s ") + len(before) + 1


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ("[RANGE 5s ¦WHERE { ?s ?p ?o }]", "expected ] before WHERE; only a window that counts has a WHERE"),
        ("[NOW PARTITION BY :a ¦WHERE { ?s ?p ?o }]", "expected ] before WHERE; only a window that counts"),
        ("[ELEMENTS 1 WHERE ¦?s ?p ?o]", "expected {"),
        ("[ELEMENTS 1 WHERE { ?s ?p ¦]", "found ]"),
        ("[ELEMENTS 1 WHERE { ?s ?p ?o } ¦PARTITION BY :a]", "expected T0, REPORT or ]"),
        ("[ELEMENTS 1 PARTITION BY :a ¦HAVING { ?s ?p ?o }]", "expected WHERE, T0, REPORT or ]"),
    ],
)
def test_what_is_no_condition_is_an_error_at_its_place(specification: str, said: str) -> None:
    test_what_is_no_key_is_an_error_at_its_place(specification, said)


def test_two_windows_that_content_decides_cannot_close_by_their_counts() -> None:
    """Of which of them an instant is, an evaluation cannot tell."""
    change, step = ("[ELEMENTS 1 WHERE { ?s ?p ?o }]", "[ELEMENTS 1 STEP 2 WHERE { ?s ?p ?o }]")
    text = "SELECT * FROM STREAM <a> {} FROM STREAM <b> {} WHERE {{ ?s ?p ?o }}"
    parse(text.format(change, change), base="http://base/")
    parse(text.format(step, "[ELEMENTS 1]"), base="http://base/")
    for other, named in ((change, "another window with WHERE"), ("[SESSION 2 PARTITION BY :k]", "a SESSION with PART")):
        with pytest.raises(UnsupportedFeature, match=f"cannot close by its count beside {named}") as raised:
            parse("PREFIX : <http://e/> " + text.format(other, step), base="http://base/")
        assert raised.value.column == len("PREFIX : <http://e/> ") + text.format(other, step).index("<b>") + 1
