from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest

from conformance.manifest import Test
from conformance.rsp.case import ROOT, Refusal, case_of, select_cases
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from conformance.rsp.script import Listen, ScriptRequest
from conformance.rsp.table import README, table, written_into

TESTS = select_cases()
FEATURES = {name: list(tests) for name, tests in groupby(TESTS, key=lambda test: test.directory)}


@pytest.mark.parametrize("tests", FEATURES.values(), ids=FEATURES)
def test_what_is_expected_is_what_the_oracle_says(tests: list[Test]) -> None:
    for test in tests:
        case = case_of(test)
        if not isinstance(case.expected, Refusal):
            assert difference(expected_of(case), case.expected, ordered=case.ordered) is None, test.iri


def test_there_are_at_least_150_cases_with_names_of_their_own() -> None:
    assert len(TESTS) >= 150
    assert max(Counter(test.iri for test in TESTS).values()) == 1


def test_the_table_of_features_is_current() -> None:
    text = README.read_text("utf-8")
    assert written_into(text, table(TESTS)) == text


def test_a_case_has_at_most_a_dozen_requests_that_append() -> None:
    for test in TESTS:
        steps = case_of(test).script
        appends = [step for step in steps if isinstance(step, ScriptRequest) and step.target.startswith("/streams/")]
        assert sum(step.method == "POST" for step in appends) <= 12, test.iri
        assert sum(isinstance(step, Listen) for step in steps) == 1, test.iri


def test_at_least_thirty_cases_show_their_working() -> None:
    assert sum(case_of(test).comment is not None for test in TESTS) >= 30


def test_every_file_belongs_to_a_case() -> None:
    used = {ROOT / "manifest.ttl"}
    for test in TESTS:
        directory = test.suite.path(test.iri.partition("#")[0]).parent
        case = case_of(test)
        action = [quad.object.value for quad in test.description.store if quad.predicate.value.endswith("#requests")]
        used |= {directory / "manifest.ttl", directory / case.query_file, case.result}
        used |= {test.suite.path(iri) for iri in action}
    assert {path for path in ROOT.rglob("*") if path.is_file()} == used
