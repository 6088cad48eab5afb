"""Facts of the engine against the oracle's: random streams, definitions and queries that read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.rsp.case import Case
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from conformance.rsp.script import read_script
from tests.spark_backend.model.test_rsp_cases import played

PREFIX = "PREFIX : <http://example.org/>\n"
TEMPLATES = ("?u :in ?r", "?r :has :somebody", "?u :in ?r . ?r :of ?u")
SINCES = (
    "?u :enter ?r",
    "{ ?u :enter ?r }",
    "{ ?u :enter ?r . ?r :open 1 }",
    "{ ?u ?how ?r FILTER(?how = :enter) }",
)
TILLS = ("?u :leave ?r", "?u :leave ?x", "{ ?r :open 0 }", ":all :leave :now", "{ ?u :leave ?r . ?r :open 0 }")
READERS = (
    "SELECT ?u ?r WHERE {{ CURRENT {name} {{ ?u :in ?r }} }}",
    "SELECT ?s ?o (getSTARTTIME() AS ?begun) WHERE {{ CURRENT {name} {{ ?s ?p ?o }} }}",
    "SELECT ?r (COUNT(?u) AS ?n) WHERE {{ CURRENT {name} {{ ?u :in ?r }} }} GROUP BY ?r",
    "SELECT ?u ?r ?label WHERE {{ CURRENT {name} {{ ?u :in ?r }} ?u :label ?label }}",
    "SELECT ?u ?v (getSTARTTIME() AS ?t) WHERE {{ CURRENT {name} {{ ?u :in ?r . ?v :in ?r FILTER(?u != ?v) }} }}",
    "ASK {{ CURRENT {name} {{ ?u :in ?r }} }}",
    "CONSTRUCT {{ ?o :was ?s }} WHERE {{ CURRENT {name} {{ ?s ?p ?o }} }}",
    "SELECT ISTREAM ?s ?o WHERE {{ CURRENT {name} {{ ?s ?p ?o }} }}",
    "SELECT DSTREAM ?s ?o WHERE {{ CURRENT {name} {{ ?s ?p ?o }} }}",
    "SELECT ?s ?x {windows} {{ CURRENT {name} {{ ?s :in ?o }} WINDOW :w {{ ?s ?y ?x }} }}",
    "SELECT ?s ?o {windows} {{ CURRENT {name} {{ ?s ?p ?o }} MINUS {{ WINDOW :w {{ ?s :x ?z }} }} }}",
)

users, rooms = st.sampled_from([":a", ":b"]), st.sampled_from([":A", ":B"])
triples = st.one_of(
    st.builds("{} {} {} .".format, users, st.sampled_from([":enter", ":leave"]), rooms),
    st.builds("{} {} {} .".format, users, st.sampled_from([":enter", ":leave"]), rooms),
    st.builds("{} :open {} .".format, rooms, st.integers(0, 1)),
    st.sampled_from([":all :leave :now .", ":x :y :z ."]),
)
elements = st.lists(
    st.tuples(st.integers(1, 20), st.lists(triples, min_size=1, max_size=3, unique=True)), min_size=1, max_size=12
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    lines = ["PREFIX : <http://example.org/>", "PUT /graphs?default", ":a :label 0 . :b :label 1 ."]
    about = {"iri": "http://example.org/s", "time": "event", "allowedLateness": f"PT0.00{draw(st.integers(0, 9))}S"}
    lines += ["PUT /streams/s", json.dumps(about)]
    every = draw(st.sampled_from(["", "", f" COMPUTED EVERY {draw(st.integers(1, 6))}"]))
    definitions = []
    for name in ("facts", "more")[: draw(st.integers(1, 2))]:
        stream = draw(st.sampled_from(["", "FROM STREAM :s "]))
        template = draw(st.sampled_from(TEMPLATES))
        since, till = draw(st.sampled_from(SINCES)), draw(st.sampled_from(TILLS))
        definitions.append(f"CONSTRUCT FACT {name} {stream}{{ {template} }} (UNION (SINCE {since}) (TILL {till}))")
    windows = f"FROM NAMED WINDOW :w ON :s [RANGE {draw(st.integers(1, 9))} STEP {draw(st.integers(1, 6))}]"
    reader = draw(st.sampled_from(READERS)).format(name=draw(st.sampled_from(["", "facts"])), windows=windows)
    kind = draw(st.sampled_from(["alone", "one text", "registered"]))
    query = PREFIX
    if kind == "alone":
        query += f"REGISTER FACT facts{every} AS {definitions[0]}"
    else:
        query += f"REGISTER QUERY q{every} AS "
        if kind == "one text":
            query += "\n".join(definitions) + "\n"
        query += reader
    if kind == "registered":
        for number, definition in enumerate(definitions):
            lines += [f"PUT /queries/d{number}", definition]
    sent = draw(elements)
    if draw(st.booleans()):
        sent.sort(key=lambda element: element[0])
    for time, content in sent:
        lines += [f"POST /streams/s?at={time}", " ".join(content)]
    lines += ["PUT /streams/s/watermark", "end"]
    script = read_script("\n".join(lines), "generated", lambda name: "")
    return Case("generated", "facts", query, "generated.rq", tuple(script), (), Path("generated"), None)


def check(case: Case) -> None:
    with played(case) as one:
        wrong = difference(expected_of(case), one.told(), ordered=False)
        again = difference(expected_of(case), one.replayed(), ordered=False)
    told = "\n".join(str(step) for step in case.script)
    assert wrong is None, f"{case.query}\n{told}\n{wrong}"
    assert again is None, f"as a replay: {case.query}\n{told}\n{again}"


RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@settings(RELAXED, max_examples=15)
@given(cases())
def test_facts_are_those_of_the_oracle(case: Case) -> None:
    check(case)


@pytest.mark.long
@settings(RELAXED, max_examples=3000)
@given(cases())
def test_facts_are_those_of_the_oracle_in_many_cases(case: Case) -> None:
    check(case)
