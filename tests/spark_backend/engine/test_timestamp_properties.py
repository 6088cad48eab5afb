"""``timestamp(?v)`` of the engine against the oracle's: random streams, windows and patterns."""

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
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
NAMED, DEFAULT, MERGED = "named windows", "default graph", "two streams in the default graph"
PATTERNS = (
    (NAMED, "WINDOW :w { ?s :v ?x }"),
    (NAMED, "WINDOW :w { ?s ?p ?x }"),
    (NAMED, "WINDOW :w { ?s :v ?x . ?s :u ?y }"),
    (NAMED, "WINDOW :w { ?s :v ?x . ?t :v ?x }"),
    (NAMED, "WINDOW :w { ?s :v ?x } WINDOW :o { ?s :u ?y }"),
    (NAMED, "WINDOW :w { ?s :v ?x } OPTIONAL { WINDOW :o { ?s :u ?y } }"),
    (NAMED, "{ WINDOW :w { ?s :v ?x } } UNION { WINDOW :o { ?s :u ?x } }"),
    (NAMED, "{ WINDOW :w { ?s :v ?x } } UNION { WINDOW :o { ?s :v ?x } }"),
    (NAMED, "WINDOW :w { ?s :v ?x } MINUS { WINDOW :o { ?s :u ?x } }"),
    (NAMED, "WINDOW :w { ?s :v ?x } ?s :label ?y"),
    (NAMED, "WINDOW :w { ?s :v ?x } OPTIONAL { ?s :label ?y } OPTIONAL { WINDOW :o { ?s :u ?y } }"),
    (NAMED, "WINDOW :w { ?s :v ?x } BIND(?x AS ?y)"),
    (NAMED, "VALUES ?s { :a :b } WINDOW :w { ?s :v ?x }"),
    (DEFAULT, "?s :v ?x"),
    (DEFAULT, "?s ?p ?x"),
    (DEFAULT, "?s :v ?x . ?s :label ?y"),
    (MERGED, "?s ?p ?x"),
    (MERGED, "?s :v ?x . OPTIONAL { ?s :u ?y }"),
)
TIMES = "(timestamp(?s) AS ?ts) (timestamp(?x) AS ?tx) (timestamp(?y) AS ?ty)"

subjects, predicates = st.sampled_from([":a", ":b", ":c"]), st.sampled_from([":v", ":u"])
triples = st.builds("{} {} {} .".format, subjects, predicates, st.integers(0, 2))
elements = st.lists(
    st.tuples(st.sampled_from("sr"), st.integers(0, 30), st.lists(triples, min_size=1, max_size=3, unique=True)),
    min_size=1,
    max_size=10,
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    lines = ["PREFIX : <http://example.org/>", "PUT /graphs?default", ':a :label 0 . :b :label "B" . :a :v 1 .']
    for name in "sr":
        about = {"iri": f"http://example.org/{name}", "time": "event"}
        about["allowedLateness"] = f"PT0.00{draw(st.integers(0, 9))}S"
        lines += [f"PUT /streams/{name}", json.dumps(about)]
    sent = draw(elements)
    if draw(st.booleans()):
        sent.sort(key=lambda element: element[1])
    for name, time, content in sent:
        lines += [f"POST /streams/{name}?at={time}", " ".join(content)]
    lines += [f"PUT /streams/{name}/watermark\nend" for name in "sr"]
    kind, pattern = draw(st.sampled_from(PATTERNS))

    def spec() -> str:
        return f"[RANGE {draw(st.integers(1, 12))} STEP {draw(st.integers(1, 8))}]"

    clauses = {
        NAMED: f"FROM NAMED WINDOW :w ON :s {spec()}\nFROM NAMED WINDOW :o ON :r {spec()}",
        DEFAULT: f"FROM STREAM :s {spec()}",
        MERGED: f"FROM STREAM :s {spec()}\nFROM STREAM :r {spec()}",
    }[kind]
    operator = draw(st.sampled_from(["", "ISTREAM", "DSTREAM"]))
    limit = f'"1970-01-01T00:00:00.{draw(st.integers(1, 30)):03}Z"^^<{DATE_TIME}>'
    query = draw(
        st.sampled_from(
            [
                f"SELECT {operator} ?s ?x ?y {TIMES}\n{clauses}\nWHERE {{ {pattern} }}",
                f"SELECT {operator} ?s ?x ?y\n{clauses}\nWHERE {{ {pattern} FILTER(timestamp(?x) > {limit}) }}",
                f"SELECT {operator} ?s (MAX(timestamp(?x)) AS ?time)\n{clauses}\nWHERE {{ {pattern} }} GROUP BY ?s",
                f"SELECT {operator} DISTINCT ?s (timestamp(?s) AS ?time)\n{clauses}\nWHERE {{ {pattern} }}",
            ]
        )
    )
    script = read_script("\n".join(lines), "generated", lambda name: "")
    return Case("generated", "timestamp", PREFIX + query, "generated.rq", tuple(script), (), Path("generated"), None)


def check(case: Case) -> None:
    with played(case) as one:
        wrong = difference(expected_of(case), one.told(), ordered=False)
    assert wrong is None, f"{case.query}\n{wrong}"


RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@settings(RELAXED, max_examples=12)
@given(cases())
def test_times_are_those_of_the_oracle(case: Case) -> None:
    check(case)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(cases())
def test_times_are_those_of_the_oracle_in_many_cases(case: Case) -> None:
    check(case)
