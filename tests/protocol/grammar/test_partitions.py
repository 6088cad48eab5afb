"""PARTITION BY: its keys, what it changes, and what is no key."""

from __future__ import annotations

import pytest

from protocol.errors import QuerySyntaxError
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
        ("[ELEMENTS 1 ¦PARTITIONBY SUBJECT]", "expected STEP, PARTITION BY"),
        ("[ELEMENTS 1 PARTITION BY SUBJECT¦, :b]", "expected T0, REPORT or ]"),
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
