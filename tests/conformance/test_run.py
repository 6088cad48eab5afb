from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyoxigraph as ox
import pytest

from conformance import run as running
from conformance.answers.cases import QueryCase
from conformance.answers.comparison import QueryResult, Solutions
from conformance.engines.baseline import OxigraphEngine
from conformance.known import FILE, THROUGH_WINDOWS, Judgement, Known, Owner, judge, read_known
from conformance.manifest import ManifestError, Suite, Test
from conformance.outcome import Outcome, Verdict
from conformance.report import lines

MANIFEST = """
@prefix : <http://ex/tests#> .
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix ut: <http://www.w3.org/2009/sparql/tests/test-update#> .
<> a mf:Manifest ; mf:entries ( :select :update :bad :unknown ) .
:select a mf:QueryEvaluationTest ; mf:name "select" ;
    mf:action [ qt:query <q.rq> ; qt:data <data.ttl> ; qt:graphData <named.ttl> ] ; mf:result <q.srj> .
:update a mf:UpdateEvaluationTest ; mf:name "update" ;
    mf:action [ ut:request <u.ru> ; ut:data <data.ttl> ] ; mf:result [ ut:data <named.ttl> ] .
:bad a mf:NegativeSyntaxTest11 ; mf:name "bad" ; mf:action <bad.rq> .
:unknown a mf:SomethingElse ; mf:name "unknown" ; mf:action <bad.rq> .
"""
FILES = {
    "manifest.ttl": "@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> . "
    "<> mf:include ( <one/manifest.ttl> ) .",
    "one/manifest.ttl": MANIFEST,
    "one/q.rq": "SELECT ?n { <s> <p> ?o GRAPH <named.ttl> { <s> <p> ?n } }",
    "one/data.ttl": "<s> <p> 1 .",
    "one/named.ttl": "<s> <p> 2 .",
    "one/q.srj": '{"head":{"vars":["n"]},"results":{"bindings":[{"n":{"type":"literal","value":"2",'
    '"datatype":"http://www.w3.org/2001/XMLSchema#integer"}}]}}',
    "one/u.ru": "DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } WHERE { ?s ?p 1 }",
    "one/bad.rq": "SELECT {",
}


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Test]:
    for name, text in FILES.items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(running, "MANIFESTS", {"mine": ("mine/manifest.ttl",)})
    return running.select(tmp_path, [])


def by_name(tests: list[Test], name: str) -> Test:
    return next(test for test in tests if test.name == name)


def test_included_manifests_are_read_in_order_with_their_directories(tests: list[Test]) -> None:
    assert [test.name for test in tests] == ["select", "update", "bad", "unknown"]
    assert {test.directory for test in tests} == {"mine/one"}


def test_tests_of_each_kind_pass_and_an_unknown_kind_fails(tests: list[Test]) -> None:
    judged = list(running.run(tests, OxigraphEngine(), {}))
    verdicts = {one.outcome.test.name: one.outcome.verdict for one in judged}
    assert verdicts == {
        "select": Verdict.STRICT, "update": Verdict.STRICT, "bad": Verdict.STRICT, "unknown": Verdict.FAILED,
    }  # fmt: skip
    assert [one.bad for one in judged] == [False, False, False, True]
    (line, total) = lines(judged)
    assert (line.directory, line.strictly, line.failed, line.total) == ("mine/one", 3, 1, 4)
    assert (total.directory, total.passed) == ("mine", 3)


class WrongEngine(OxigraphEngine):
    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        right = super().answers(case, preferred)["store"]
        assert isinstance(right, Solutions)
        return {"store": right, "parameters": Solutions(right.variables, ({"n": ox.Literal("2")},))}


def test_a_wrong_answer_in_one_of_the_ways_fails_the_test_and_names_the_way(tests: list[Test]) -> None:
    (judged,) = running.run([by_name(tests, "select")], WrongEngine(), {})
    assert judged.outcome.verdict is Verdict.FAILED
    assert judged.outcome.error.startswith("parameters: expected 1 solutions")


@pytest.mark.parametrize(
    ("known", "verdict", "error", "judgement"),
    [
        (None, Verdict.STRICT, "", Judgement.AS_EXPECTED),
        (None, Verdict.BY_VALUE, "", Judgement.NEW_FAILURE),
        (None, Verdict.FAILED, "boom", Judgement.NEW_FAILURE),
        (Verdict.FAILED, Verdict.FAILED, "it went boom", Judgement.KNOWN),
        (Verdict.FAILED, Verdict.FAILED, "crash", Judgement.OTHER_FAILURE),
        (Verdict.FAILED, Verdict.STRICT, "", Judgement.UNEXPECTED_PASS),
        (Verdict.FAILED, Verdict.BY_VALUE, "", Judgement.UNEXPECTED_PASS),
        (Verdict.BY_VALUE, Verdict.BY_VALUE, "", Judgement.AS_EXPECTED),
        (Verdict.BY_VALUE, Verdict.FAILED, "boom", Judgement.NEW_FAILURE),
        (Verdict.BY_VALUE, Verdict.STRICT, "", Judgement.UNEXPECTED_PASS),
    ],
)
def test_an_outcome_is_judged_by_what_is_known(
    tests: list[Test], known: Verdict | None, verdict: Verdict, error: str, judgement: Judgement
) -> None:
    test = tests[0]
    entries = {} if known is None else {test.iri: Known(test.iri, known, Owner.UPSTREAM, "because", "boom")}
    assert judge(Outcome(test, verdict, error), entries) is judgement


def test_the_files_of_known_failures_are_well_formed_and_name_a_section_for_each() -> None:
    for path in (FILE, THROUGH_WINDOWS):
        known = read_known(path)
        assert known
        assert all("section" in entry.reason for entry in known.values())


UPSTREAM = """
[unmended]
encoding = "it is encoded so"
[[known]]
verdict = "passes by value"
owner = "upstream"
unmended = "encoding"
reason = "as it is"
[known.tests]
"http://ex/t" = "of 01: oxigraph-0.5.13/src/storage/numeric_encoder.rs:870"
"""


def test_what_is_upstream_says_of_each_test_which_line_causes_it_and_why_it_is_not_mended(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(UPSTREAM)
    entry = read_known(path)["http://ex/t"]
    assert entry.reason == "of 01: oxigraph-0.5.13/src/storage/numeric_encoder.rs:870 as it is it is encoded so"
    for text, said in (
        (UPSTREAM.replace(":870", ""), "does not say of http://ex/t which line"),
        (UPSTREAM.replace('unmended = "encoding"', ""), "what is upstream"),
        (UPSTREAM.replace('unmended = "encoding"', 'unmended = "other"'), "what is upstream"),
        (UPSTREAM.replace('"upstream"', '"suite"'), "what is upstream, and nothing else"),
        (UPSTREAM[: UPSTREAM.index("[known.tests]")], "has no tests"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=said):
            read_known(path)


def test_a_failure_without_its_error_is_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[known]]\ntests = ["http://ex/t"]\nverdict = "fails"\nowner = "suite"\nreason = "so"\n')
    with pytest.raises(ValueError, match="which error"):
        read_known(path)


def test_a_suite_that_is_not_there_and_a_file_outside_of_it_are_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no suite 'sparql9'"):
        running.select(tmp_path, ["sparql9"])
    with pytest.raises(ManifestError, match="not a file of the suite"):
        Suite(tmp_path).path("https://w3c.github.io/rdf-tests/sparql/../../etc/passwd")
