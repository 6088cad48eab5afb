"""Facts of the engine against the oracle's: random streams, definitions and queries that read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
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
    return case_of(query, [*lines, *draw(requests())])


@st.composite
def requests(draw: st.DrawFn) -> list[str]:
    """The elements, in any order, and the end of their stream."""
    sent = draw(elements)
    if draw(st.booleans()):
        sent.sort(key=lambda element: element[0])
    posted = [line for time, content in sent for line in (f"POST /streams/s?at={time}", " ".join(content))]
    return [*posted, "PUT /streams/s/watermark", "end"]


WINDOWS = (
    "[RANGE {width} STEP {step}]",
    "[RANGE {width} STEP {step} REPORT ON_WINDOW_CLOSE]",
    "[RANGE {width} STEP {step} T0 {origin}]",
    "[LANDMARK {origin} STEP {step}]",
    "[ELEMENTS {width}]",
    "[ELEMENTS {width} WHERE {{ ?s :x ?o }} REPORT NON_EMPTY_CONTENT]",
    "[SESSION {width} PARTITION BY SUBJECT]",
)


@st.composite
def ended_cases(draw: st.DrawFn) -> Case:
    """Periodically, perhaps beside a window, perhaps from the beginning on: streams that end, each where it does."""
    lines, streams = ["PREFIX : <http://example.org/>"], ["s", "r"][: draw(st.integers(1, 2))]
    for name in streams:
        lateness = f"PT0.00{draw(st.integers(0, 9))}S"
        about = {"iri": f"http://example.org/{name}", "time": "event", "allowedLateness": lateness}
        lines += [f"PUT /streams/{name}", json.dumps(about)]
    of_any = st.builds("FROM STREAM :{}".format, st.sampled_from(streams))
    definitions = "\n".join(
        f"CONSTRUCT FACT {name} {draw(of_any)} {{ {draw(st.sampled_from(TEMPLATES))} }} "
        f"(UNION (SINCE {draw(st.sampled_from(SINCES))}) (TILL {draw(st.sampled_from(TILLS))}))"
        for name in ("facts", "more")[: draw(st.integers(1, 2))]
    )
    select = f"SELECT {draw(st.sampled_from(['', 'ISTREAM ', 'DSTREAM ']))}?s ?p ?o"
    reader = f"{select} {{ CURRENT {{ ?s ?p ?o }} }}"
    if draw(st.booleans()):
        sizes = {name: draw(st.integers(1, 6)) for name in ("width", "step", "origin")}
        window = f"ON :{draw(st.sampled_from(streams))} {draw(st.sampled_from(WINDOWS)).format(**sizes)}"
        reader = (
            f"{select} FROM NAMED WINDOW :w {window} "
            "{ { CURRENT { ?s ?p ?o } } UNION { WINDOW :w { ?s ?p ?o } } }"
        )  # fmt: skip
    query = f"{PREFIX}REGISTER QUERY q COMPUTED EVERY {draw(st.integers(1, 7))} AS {definitions}\n{reader}"
    live = draw(st.booleans())
    lines += ["LISTEN"] if live else []
    going_on = dict.fromkeys(streams)
    content = st.lists(triples | st.sampled_from([":x :y :z .", ":p :x :q ."]), max_size=3, unique=True)
    for time in draw(st.lists(st.integers(1, 40), min_size=1, max_size=12)):
        if not going_on:
            break
        name = draw(st.sampled_from(list(going_on)))
        match draw(st.sampled_from(["element"] * 9 + ["watermark", "end"])):
            case "element":
                lines += [f"POST /streams/{name}?at={time}", " ".join(draw(content)) or "# nothing"]
            case "watermark":
                lines += [f"PUT /streams/{name}/watermark", str(time)]
            case "end":
                lines += [f"PUT /streams/{name}/watermark", "end"]
                del going_on[name]
        lines += ["AWAIT 0"] if live and draw(st.booleans()) else []
    for name in going_on:
        lines += [f"PUT /streams/{name}/watermark", "end"]
    return case_of(query, lines)


def case_of(query: str, lines: Sequence[str]) -> Case:
    script = read_script("\n".join(lines), "generated", lambda name: "")
    return Case("generated", "facts", query, "generated.rq", tuple(script), (), Path("generated"), None)


@st.composite
def counting_cases(draw: st.DrawFn) -> tuple[Case, str]:
    """A case that counts in the words of the standard, and its query in those of TEF-SPARQL."""
    about = {"iri": "http://example.org/s", "time": "event", "allowedLateness": f"PT0.00{draw(st.integers(0, 9))}S"}
    lines = ["PREFIX : <http://example.org/>", "PUT /streams/s", json.dumps(about)]
    template, since, till = (draw(st.sampled_from(some)) for some in ((TEMPLATES[0], TEMPLATES[2]), SINCES, TILLS))
    definition = f"CONSTRUCT FACT facts {{ {template} }} (UNION (SINCE {since}) (TILL {till}))"
    pattern = draw(st.sampled_from(["?u :in ?r", "?u :in ?r . ?v :in ?r"]))
    key, counted = draw(st.permutations(["?u", "?r"]))
    distinct, operator = draw(st.sampled_from(["", "DISTINCT "])), draw(st.sampled_from(["", "ISTREAM ", "DSTREAM "]))
    period = draw(st.integers(1, 6))
    standard = (
        f"{PREFIX}REGISTER QUERY q COMPUTED EVERY {period} AS {definition} SELECT {operator}({key} AS ?K) "
        f"(COUNT({distinct}{counted}) AS ?N) {{ CURRENT {{ {pattern} }} }} GROUP BY {key}"
    )
    tef = (
        f"{PREFIX}REGISTER QUERY q AS {definition} SELECT {operator}{key} AS K, {counted} AS N "
        f"(AGGREGATE {key}, COUNT {distinct}{counted} WHERE (CURRENT {pattern}) GROUP BY {key} EVERY {period})"
    )
    return case_of(standard, [*lines, *draw(requests())]), tef


def check(case: Case, asked: str | None = None) -> None:
    """Play the case, with the query ``asked`` in place of its own if it is given."""
    with played(case if asked is None else replace(case, query=asked)) as one:
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


@settings(RELAXED, max_examples=10)
@given(counting_cases())
def test_facts_are_counted_as_by_the_oracle(counting: tuple[Case, str]) -> None:
    check(*counting)


@pytest.mark.long
@settings(RELAXED, max_examples=500)
@given(counting_cases())
def test_facts_are_counted_as_by_the_oracle_in_many_cases(counting: tuple[Case, str]) -> None:
    check(*counting)


@settings(RELAXED, max_examples=15)
@given(ended_cases())
def test_after_the_end_facts_are_asked_for_as_by_the_oracle(case: Case) -> None:
    check(case)


@pytest.mark.long
@settings(RELAXED, max_examples=2000)
@given(ended_cases())
def test_after_the_end_facts_are_asked_for_as_by_the_oracle_in_many_cases(case: Case) -> None:
    check(case)
