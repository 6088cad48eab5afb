"""Event patterns of the engine against the oracle's: random streams (repeated, late, of one time) and patterns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.rsp.case import Case
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from conformance.rsp.script import read_script
from tests.spark_backend.model.test_rsp_cases import played

PREFIX = "PREFIX : <http://example.org/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
_LABELLED = "{ ?x :p _:b . ?z :q _:b }"
GROUPS = (
    "{ ?x :p ?y }",
    "{ ?x :q ?y }",
    "{ ?x :q ?z }",
    "{ ?z :p ?x }",
    "{ ?x ?r ?y }",
    "{ :a :p ?y }",
    "{ ?z :p ?y . ?z :q ?x }",
    _LABELLED,
    "{ ?x :p ?y FILTER(?y != :a) }",
    '{ ?x :q ?y . ?z :p ?y FILTER(getDURATION() < "PT0.004S"^^xsd:duration) }',
    "{ ?x :p ?y BIND(getENDTIME() AS ?e) }",
)
OPERATORS = ("SEQ", "AND", "OR", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL")

_terms = st.sampled_from([":a", ":b"])
_triples = st.builds("{} {} {} .".format, _terms, st.sampled_from([":p", ":q"]), _terms)
elements = st.lists(st.tuples(st.integers(1, 14), st.lists(_triples, min_size=1, max_size=2)), min_size=1, max_size=8)
_groups = st.sampled_from(GROUPS)
_operators = st.sampled_from(OPERATORS)
_operations = st.builds("{} {} {}".format, _groups, _operators, _groups)
_patterns = st.one_of(
    _operations,
    _operations,
    st.builds("{} {} {} {} {}".format, _groups, _operators, _groups, _operators, _groups),
    st.builds("{{ {} }} {} {}".format, _operations, _operators, _groups),
    st.builds("{} {} {{ ?x :p ?v . {{ {} }} }}".format, _groups, _operators, _operations),
)
windows = st.sampled_from(
    [
        "",
        "[RANGE 5]",
        "[RANGE 9 STEP 3]",
        "[RANGE 6 REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT]",
        "[RANGE 4 SLIDE 9]",
        "[RANGE 8 STEP 2 REPORT PERIODIC 5]",
        "[NOW]",
        "[LANDMARK 3]",
        "[RANGE 7 T0 2]",
    ]
)
SELECTS = (
    "SELECT OPERATOR ?x ?y ?z WHERE { STREAM :s WINDOW PATTERN }",
    "SELECT OPERATOR ?x (getSTARTTIME() AS ?t) (getDURATION() AS ?d) WHERE { STREAM :s WINDOW PATTERN }",
    "SELECT OPERATOR DISTINCT ?x ?y WHERE { STREAM :s WINDOW PATTERN }",
    "SELECT OPERATOR * WHERE { STREAM :s WINDOW { PATTERN FILTER(getDURATION() > 'PT0.002S'^^xsd:duration) } }",
    "SELECT OPERATOR ?y (COUNT(*) AS ?n) (MAX(getENDTIME()) AS ?t) WHERE { STREAM :s WINDOW PATTERN } GROUP BY ?y",
    "SELECT OPERATOR ?x ?w WHERE { STREAM :s WINDOW PATTERN ?x :static ?w }",
    "SELECT OPERATOR ?x ?y WHERE { STREAM :s WINDOW PATTERN BIND(?x AS ?k) FILTER(?x != ?z) }",
    "CONSTRUCT OPERATOR { ?x :was ?y } WHERE { STREAM :s WINDOW PATTERN }",
    "ASK WHERE { STREAM :s WINDOW PATTERN }",
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    operator = draw(st.sampled_from(["", "", "ISTREAM", "DSTREAM", "RSTREAM"]))
    query = draw(st.sampled_from(SELECTS)).replace("OPERATOR", operator)
    query = PREFIX + query.replace("WINDOW", draw(windows)).replace("PATTERN", draw(_patterns))
    # A label belongs to one group.
    for number in range(query.count(_LABELLED)):
        query = query.replace(_LABELLED, _LABELLED.replace("_:b", f"_:b{number}"), 1)
    return query


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sent = draw(elements)
    if draw(st.booleans()):
        sent.sort(key=lambda element: element[0])
    requests = [f"POST /streams/s?at={time}\n{' '.join(dict.fromkeys(content))}" for time, content in sent]
    return case_of(draw(queries()), draw(st.integers(0, 9)), requests)


@st.composite
def same_cases(draw: st.DrawFn) -> tuple[Case, Case]:
    """The same elements one by one and in one request, in any order within the allowed lateness."""
    query, sent = draw(queries()), draw(elements)
    one_by_one = [f"POST /streams/s?at={time}\n{' '.join(dict.fromkeys(content))}" for time, content in sent]
    graphs = [
        f":g{number} <http://www.w3.org/ns/prov#generatedAtTime> {time} . :g{number} {{ {' '.join(content)} }}"
        for number, (time, content) in enumerate(draw(st.permutations(sent)))
    ]
    together = ["\n".join(["POST /streams/s", "Content-Type: application/trig", "", *graphs])]
    return case_of(query, 20, one_by_one), case_of(query, 20, together)


def case_of(query: str, lateness: int, requests: Sequence[str], schema: Sequence[str] = ()) -> Case:
    about = {"iri": "http://example.org/s", "time": "event", "allowedLateness": f"PT0.0{lateness:02}S"}
    stored = [":a :static 1 . :a :static 2 . :b :static 1 .", *schema]
    lines = ["PREFIX : <http://example.org/>", "PUT /graphs?default", " ".join(stored)]
    lines += ["PUT /streams/s", json.dumps(about), *requests, "PUT /streams/s/watermark\nend"]
    script = read_script("\n".join(lines), "generated", lambda name: "")
    return Case("generated", "events", query, "generated.rq", tuple(script), (), Path("generated"), None)


def check(case: Case) -> None:
    with played(case) as one:
        wrong = difference(expected_of(case), one.told(), ordered=False)
        assert wrong is None, f"{case.query}\n{wrong}"
        assert one.replayed() == one.told(), case.query


RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@settings(RELAXED, max_examples=12)
@given(cases())
def test_event_patterns_are_answered_as_by_definition(case: Case) -> None:
    check(case)


@settings(RELAXED, max_examples=5)
@given(same_cases())
def test_the_sameelements_in_any_batching_and_order_give_the_same_answers(both: tuple[Case, Case]) -> None:
    one, other = both
    with played(one) as first, played(other) as second:
        assert first.told() == second.told()


@pytest.mark.long
@settings(RELAXED, max_examples=3000)
@given(cases())
def test_event_patterns_are_answered_as_by_definition_in_many_cases(case: Case) -> None:
    check(case)


@pytest.mark.long
@settings(RELAXED, max_examples=500)
@given(same_cases())
def test_manyelements_in_any_batching_and_order_give_the_same_answers(both: tuple[Case, Case]) -> None:
    one, other = both
    with played(one) as first, played(other) as second:
        assert first.told() == second.told()
